package kserve_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// TestEncode checks that protobuf's own code decodes the responses which the hand-written code
// encodes.
func TestEncode(t *testing.T) {
	outputs := []inference.Output{
		{Name: "a", Type: "FP32", Shape: []int64{2, 1}, Raw: kservetest.Floats(1, 2)},
		{Name: "scalar", Type: "BOOL", Raw: []byte{1}},
		{Name: "shared", Type: "INT8", Shape: []int64{300}, Shared: &inference.SharedRegion{Name: "r"}},
	}
	want := &api.ModelInferResponse{
		ModelName: "m", ModelVersion: "3", Id: "i", Parameters: inferencetest.Params{"p": inferencetest.String("x")},
		Outputs: []*api.ModelInferResponse_InferOutputTensor{
			{Name: "a", Datatype: "FP32", Shape: []int64{2, 1}}, {Name: "scalar", Datatype: "BOOL"}, {Name: "shared", Datatype: "INT8", Shape: []int64{300}},
		},
		RawOutputContents: [][]byte{kservetest.Floats(1, 2), {1}, {}},
	}
	req := &api.ModelInferRequest{ModelName: "m", ModelVersion: "2", Id: "i"}
	response := &inference.Response{Version: "3", Parameters: inferencetest.Params{"p": inferencetest.String("x")}, Outputs: outputs}
	encoded, err := kserve.EncodeInfer(req, response)
	if err != nil {
		t.Fatal(err)
	}
	got := &api.ModelInferResponse{}
	if err := proto.Unmarshal(encoded.Materialize(), got); err != nil || !proto.Equal(got, want) {
		t.Errorf("got %v, %v\nwant %v", got, err, want)
	}
	encoded.Free()
	if encoded, err = kserve.EncodeStream(req, &inference.Response{Final: true}); err != nil {
		t.Fatal(err)
	}
	end := &api.ModelStreamInferResponse{}
	last := &api.ModelStreamInferResponse{InferResponse: &api.ModelInferResponse{
		ModelName: "m", ModelVersion: "2", Id: "i", Parameters: inferencetest.Params{"triton_final_response": inferencetest.Bool(true)},
	}}
	if err := proto.Unmarshal(encoded.Materialize(), end); err != nil || !proto.Equal(end, last) {
		t.Errorf("got %v, %v\nwant %v", end, err, last)
	}
	encoded.Free()
}

// TestEncodeTaken tests that tensors that their owner hands over are sent from its memory, between
// the copied ones, and are freed once each.
func TestEncodeTaken(t *testing.T) {
	raws := [][]byte{bytes.Repeat([]byte("a"), 100<<10), []byte("small"), bytes.Repeat([]byte("c"), 64<<10), {}, bytes.Repeat([]byte("e"), 70<<10)}
	req := &api.ModelInferRequest{ModelName: "m", Id: "i"}
	for _, last := range []int{len(raws), len(raws) - 1} { // the last tensor is one that the owner hands over, or one that it doesn't
		want := &api.ModelInferResponse{ModelName: "m", Id: "i", RawOutputContents: raws[:last]}
		owner := &owner{}
		response := &inference.Response{Owner: owner, Final: true}
		for i, raw := range raws[:last] {
			name := fmt.Sprint("out", i)
			want.Outputs = append(want.Outputs, &api.ModelInferResponse_InferOutputTensor{Name: name, Datatype: "UINT8", Shape: []int64{int64(len(raw))}})
			response.Outputs = append(response.Outputs, inference.Output{Name: name, Type: "UINT8", Shape: []int64{int64(len(raw))}, Raw: raw})
		}
		owner.outputs = response.Outputs
		encoded, err := kserve.EncodeInfer(req, response)
		if err != nil {
			t.Fatal(err)
		}
		got := &api.ModelInferResponse{}
		if err := proto.Unmarshal(encoded.Materialize(), got); err != nil || !proto.Equal(got, want) {
			t.Errorf("%d outputs: got %d, %v", last, len(got.GetOutputs()), err)
		}
		shared := 0
		for _, piece := range encoded {
			if slices.ContainsFunc(raws, func(raw []byte) bool {
				return len(raw) > 0 && unsafe.SliceData(raw) == unsafe.SliceData(piece.ReadOnlyData())
			}) {
				shared++
			}
		}
		encoded.Free()
		if shared != owner.taken || owner.freed != owner.taken || owner.taken < 2 {
			t.Errorf("%d outputs: %d taken, %d sent from where they lay, %d freed", last, owner.taken, shared, owner.freed)
		}
		stream, err := kserve.EncodeStream(req, response)
		if err != nil {
			t.Fatal(err)
		}
		answer := &api.ModelStreamInferResponse{}
		want.Parameters = inferencetest.Params{"triton_final_response": inferencetest.Bool(true)}
		if err := proto.Unmarshal(stream.Materialize(), answer); err != nil || !proto.Equal(answer.GetInferResponse(), want) {
			t.Errorf("%d outputs in a stream: %v", last, err)
		}
		stream.Free()
		if owner.freed != owner.taken {
			t.Errorf("%d outputs in a stream: %d taken, %d freed", last, owner.taken, owner.freed)
		}
	}
}

// owner hands over outputs of at least 64 KiB.
type owner struct {
	outputs      []inference.Output
	taken, freed int
}

func (o *owner) Take(output int) mem.Buffer {
	if len(o.outputs[output].Raw) < 64<<10 {
		return nil
	}
	o.taken++
	return mem.NewBuffer(&o.outputs[output].Raw, o)
}

func (*owner) Get(int) *[]byte { panic("not asked") }

func (o *owner) Put(*[]byte) { o.freed++ }

// BenchmarkStream measures a request in a stream, through the frontend and an in-process engine
// that echoes the request's tensor, by size of the tensor. Time and memory include client and
// server. `make bench-go` runs it; compare two runs with benchstat.
func BenchmarkStream(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%d KiB", size>>10), func(b *testing.B) {
			engine := kservetest.StreamEngine()
			client := api.NewGRPCInferenceServiceClient(dial(b, serveNative(b, kservetest.Open(), engine)))
			stream, err := client.ModelStreamInfer(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			req := tensor("m", "IN", "UINT8", []int64{int64(size)}, make([]byte, size))
			b.SetBytes(int64(2 * size))
			b.ReportAllocs()
			for b.Loop() {
				if err := stream.Send(req); err != nil {
					b.Fatal(err)
				}
				if _, err := stream.Recv(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncode measures the encoding of a ModelInferResponse. It should copy the tensors once
// and use only pooled memory.
func BenchmarkEncode(b *testing.B) {
	for _, size := range []int{4, 1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%d B", size), func(b *testing.B) {
			req := &api.ModelInferRequest{ModelName: "model", Id: "request"}
			response := &inference.Response{Version: "1", Outputs: []inference.Output{{Name: "out", Type: "UINT8", Shape: []int64{int64(size)}, Raw: make([]byte, size)}}}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				encoded, err := kserve.EncodeStream(req, response)
				if err != nil {
					b.Fatal(err)
				}
				encoded.Free()
			}
		})
	}
}

// BenchmarkDecode measures reading the parts of a request that Trident needs, and decoding it for
// an in-process engine.
func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		encoded, err := proto.Marshal(tensor("m", "IN", "UINT8", []int64{int64(size)}, make([]byte, size)))
		if err != nil {
			b.Fatal(err)
		}
		for name, whole := range map[string]bool{"head": false, "all": true} {
			b.Run(fmt.Sprintf("%s of %d KiB", name, size>>10), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					req, err := inference.NewInferRequest(inBuffers(encoded))
					if err == nil && whole {
						_, err = req.Request()
					}
					if err != nil {
						b.Fatal(err)
					}
					req.Free()
				}
			})
		}
	}
}

// inBuffers splits a message as grpc-go receives it, into frames of 16 KiB.
func inBuffers(encoded []byte) (buffers mem.BufferSlice) {
	for frame := range slices.Chunk(encoded, 16<<10) {
		buffers = append(buffers, mem.SliceBuffer(frame))
	}
	return buffers
}

// TestPool checks that the pool returns a buffer of the requested length, whatever buffers were put
// into it before.
func TestPool(t *testing.T) {
	pool := kserve.NewBufferPool()
	for _, length := range []int{0, 1, 1023, 1024, 1025, 1 << 20, 1<<20 + 60, 1<<20 + 10, 3, 0} {
		b := pool.Get(length)
		if len(*b) != length {
			t.Errorf("%d bytes instead of %d", len(*b), length)
		}
		*b = (*b)[:length/2] // the user of the buffer shortened it, as for a shorter response
		pool.Put(b)
	}
}
