package kserve_test

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve"
)

// TestEncode reads what was written by hand as protobuf's own code does.
func TestEncode(t *testing.T) {
	outputs := []inference.Output{
		{Name: "a", Type: "FP32", Shape: []int64{2, 1}, Raw: floats(1, 2)},
		{Name: "scalar", Type: "BOOL", Raw: []byte{1}},
		{Name: "shared", Type: "INT8", Shape: []int64{300}, Shared: &inference.SharedRegion{Name: "r"}},
	}
	want := &api.ModelInferResponse{
		ModelName: "m", ModelVersion: "3", Id: "i", Parameters: params{"p": text("x")},
		Outputs: []*api.ModelInferResponse_InferOutputTensor{
			{Name: "a", Datatype: "FP32", Shape: []int64{2, 1}}, {Name: "scalar", Datatype: "BOOL"}, {Name: "shared", Datatype: "INT8", Shape: []int64{300}},
		},
		RawOutputContents: [][]byte{floats(1, 2), {1}, {}},
	}
	req := &api.ModelInferRequest{ModelName: "m", ModelVersion: "2", Id: "i"}
	response := &inference.Response{Version: "3", Parameters: params{"p": text("x")}, Outputs: outputs}
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
		ModelName: "m", ModelVersion: "2", Id: "i", Parameters: params{"triton_final_response": truth(true)},
	}}
	if err := proto.Unmarshal(encoded.Materialize(), end); err != nil || !proto.Equal(end, last) {
		t.Errorf("got %v, %v\nwant %v", end, err, last)
	}
	encoded.Free()
}

// BenchmarkStream asks what a request in a stream costs through the frontend and an engine of this
// process that gives the request's tensor back, by size of the tensor: time and
// memory of client and server together. `make bench-go` runs it; compare two runs
// with benchstat.
func BenchmarkStream(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%d KiB", size>>10), func(b *testing.B) {
			engine := shouting()
			client := api.NewGRPCInferenceServiceClient(dial(b, serveNative(b, open(), engine)))
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

// BenchmarkEncode asks what the encoding of a response costs: one copy of its
// tensors, and no memory but the pooled buffer's.
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

// BenchmarkDecode asks what it costs to learn of a request what Trident must know,
// and to decode it for an engine of this process.
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

// inBuffers cuts a message as grpc-go receives it, in frames of 16 KiB.
func inBuffers(encoded []byte) (buffers mem.BufferSlice) {
	for frame := range slices.Chunk(encoded, 16<<10) {
		buffers = append(buffers, mem.SliceBuffer(frame))
	}
	return buffers
}
