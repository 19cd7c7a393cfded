package inference_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/test/cputime"
)

func sampleRequest() *kserve.ModelInferRequest {
	return &kserve.ModelInferRequest{
		ModelName: "m", ModelVersion: "1", Id: "ä",
		Parameters:       map[string]*kserve.InferParameter{"sequence_id": {ParameterChoice: &kserve.InferParameter_Int64Param{Int64Param: 7}}},
		Inputs:           []*kserve.ModelInferRequest_InferInputTensor{{Name: "a", Datatype: "UINT8", Shape: []int64{300}}, {Name: "b", Datatype: "BYTES", Shape: []int64{0}}},
		Outputs:          []*kserve.ModelInferRequest_InferRequestedOutputTensor{{Name: "o"}},
		RawInputContents: [][]byte{bytes.Repeat([]byte("0123456789"), 30), {}},
	}
}

// TestInferRequest checks that a request is decoded correctly wherever the boundaries of its buffers
// are, and that unknown fields are accepted.
func TestInferRequest(t *testing.T) {
	want := sampleRequest()
	encoded, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	encoded = protowire.AppendTag(encoded, 99, protowire.Fixed32Type) // a field of a later protocol version
	encoded = protowire.AppendFixed32(encoded, 1)
	head := &kserve.ModelInferRequest{ModelName: want.GetModelName(), ModelVersion: want.GetModelVersion(), Id: want.GetId(), Parameters: want.GetParameters()}
	for i := range encoded {
		j := min(i+3, len(encoded))
		req, err := inference.NewInferRequest(mem.BufferSlice{mem.SliceBuffer(encoded[:i]), mem.SliceBuffer(encoded[i:j]), mem.SliceBuffer(encoded[j:])})
		if err != nil {
			t.Fatalf("cut at %d: %v", i, err)
		}
		if !proto.Equal(req.Head(), head) {
			t.Errorf("cut at %d: head %v", i, req.Head())
		}
		checkSplit(t, req, want)
		if got, err := req.Request(); err != nil || !proto.Equal(got, want) {
			t.Errorf("cut at %d: got %v, %v", i, got, err)
		}
		req.Free()
	}
}

// checkSplit checks that Split returns the raw contents separately and the other fields
// unchanged.
func checkSplit(t *testing.T, req *inference.InferRequest, want *kserve.ModelInferRequest) {
	t.Helper()
	got, contents, err := req.Split()
	if err != nil {
		t.Fatal(err)
	}
	for i, content := range contents {
		if len(got.GetRawInputContents()[i]) > 0 || content.Len() != len(want.GetRawInputContents()[i]) {
			t.Errorf("content %d has %d bytes, and %d in the request", i, content.Len(), len(got.GetRawInputContents()[i]))
		}
		got.RawInputContents[i] = slices.Concat(content...)
	}
	if !proto.Equal(got, want) {
		t.Errorf("apart: %v", got)
	}
}

// TestSplitDecoded checks the split of a request that exists only as a decoded message, without an
// encoded form.
func TestSplitDecoded(t *testing.T) {
	want := sampleRequest()
	got, contents, err := inference.InferRequestOf(want).Split()
	if err != nil || got != want || len(contents) != 2 || !bytes.Equal(slices.Concat(contents[0]...), want.GetRawInputContents()[0]) || contents[1].Len() != 0 {
		t.Errorf("got %v, %v, %v", got, contents, err)
	}
}

// TestAddParameters checks that added parameters override earlier ones, both in the message and
// in the encoded bytes.
func TestAddParameters(t *testing.T) {
	for _, own := range []map[string]*kserve.InferParameter{nil, sampleRequest().GetParameters()} {
		sample, want := sampleRequest(), sampleRequest()
		sample.Parameters = own
		want.Parameters = map[string]*kserve.InferParameter{"sequence_id": inferencetest.String("a"), "b": inferencetest.String("")}
		req := inferencetest.EncodedRequest(t, sample)
		for _, m := range []*inference.InferRequest{req, inference.InferRequestOf(sample)} {
			if _, err := m.Request(); err != nil { // so that AddParameters must drop the decoded request
				t.Fatal(err)
			}
			if err := errors.Join(m.AddParameters(nil), m.AddParameters(want.GetParameters())); err != nil {
				t.Fatal(err)
			}
			got, err := m.Request()
			if err != nil || !proto.Equal(got, want) || !maps.EqualFunc(m.Head().GetParameters(), want.GetParameters(), func(a, b *kserve.InferParameter) bool { return proto.Equal(a, b) }) {
				t.Errorf("got %v and %v, %v", got, m.Head(), err)
			}
		}
		passed := &kserve.ModelInferRequest{}
		if err := proto.Unmarshal(req.Encoded().Materialize(), passed); err != nil || !proto.Equal(passed, want) {
			t.Errorf("passed on %v, %v", passed, err)
		}
		req.Free()
	}
}

// FuzzInferRequest compares the decoder with protobuf's own code on arbitrary bytes: both must
// accept or refuse the same input, with the same result. Groups are the exception: no version of
// KServe v2 has had groups, and this decoder refuses groups.
func FuzzInferRequest(f *testing.F) {
	encoded, err := proto.Marshal(sampleRequest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded, 3)
	f.Add(encoded[:40], 20)
	f.Add([]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f, 1}, 1) // the field claims a size of 4 GiB
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 4)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		cut = min(max(cut, 0), len(b))
		want := &kserve.ModelInferRequest{}
		wrong := proto.Unmarshal(b, want)
		req, err := inference.NewInferRequest(mem.BufferSlice{mem.SliceBuffer(b[:cut]), mem.SliceBuffer(b[cut:])})
		var got *kserve.ModelInferRequest
		if err == nil {
			defer req.Free()
			got, err = req.Request()
		}
		if err != nil {
			if wrong == nil && !hasGroup(b) {
				t.Errorf("refused %v, which protobuf takes: %v", want, err)
			}
			return
		}
		if wrong != nil {
			t.Fatalf("took %v, which protobuf refuses: %v", got, wrong)
		}
		if !equalKnown(got, want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
		more := map[string]*kserve.InferParameter{"added": {ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: true}}}
		if err := req.AddParameters(more); err != nil {
			t.Fatal(err)
		}
		passed := &kserve.ModelInferRequest{}
		if err := proto.Unmarshal(req.Encoded().Materialize(), passed); err != nil {
			t.Fatal(err)
		}
		if got, err := req.Request(); err != nil || !equalKnown(got, passed) {
			t.Errorf("with a parameter more: got %v\npassed on %v, %v", got, passed, err)
		}
	})
}

// hasGroup reports whether a message that protobuf accepts contains a group.
func hasGroup(b []byte) bool {
	for len(b) > 0 {
		_, wire, n := protowire.ConsumeField(b)
		if n < 0 || wire == protowire.StartGroupType {
			return true
		}
		b = b[n:]
	}
	return false
}

// TestManyPieces checks that the CPU time of decoding stays small for a request that arrived byte by
// byte and consists of 50,000 fields.
func TestManyPieces(t *testing.T) {
	const size = 100 << 10
	names := bytes.Repeat([]byte{0x0a, 0}, size/2) // the message repeats the field model_name with an empty value
	pieces := make(mem.BufferSlice, size)
	for i := range pieces {
		pieces[i] = mem.SliceBuffer(names[i : i+1])
	}
	const most = 2 * time.Second
	took := cputime.Of(t, func() {
		m, err := inference.NewInferRequest(pieces)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := m.Split(); err != nil {
			t.Fatal(err)
		}
		m.Free()
	})
	if took > most {
		t.Errorf("%d fields in as many pieces took %s", size/2, took)
	}
}

func equalKnown(a, b *kserve.ModelInferRequest) bool {
	known := func(m *kserve.ModelInferRequest) []byte {
		out, err := (proto.MarshalOptions{Deterministic: true}).Marshal(m)
		if err != nil {
			return nil
		}
		clean := &kserve.ModelInferRequest{}
		if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(out, clean) != nil {
			return nil
		}
		out, _ = (proto.MarshalOptions{Deterministic: true}).Marshal(clean)
		return out
	}
	return bytes.Equal(known(a), known(b))
}

// TestInferRequestBudgets checks that the tensors and parameters of an encoded ModelInferRequest
// are counted before they are decoded.
func TestInferRequestBudgets(t *testing.T) {
	field := func(number protowire.Number, n int, value []byte) []byte {
		var b []byte
		for range n {
			b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), value)
		}
		return b
	}
	shape := func(n int) []byte {
		dims := bytes.Repeat([]byte{1}, n)
		return field(5, 1, protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), dims))
	}
	for _, test := range []struct {
		name    string
		encoded []byte
		want    string
	}{
		{"parameters", field(4, budget.Keys+1, nil), "parameters holds more than 4096 elements: send fewer"},
		{"inputs", field(5, budget.Tensors+1, nil), "inputs holds more than 16384 elements: send fewer"},
		{"outputs", field(6, budget.Tensors+1, nil), "outputs holds more than 16384 elements: send fewer"},
		{"contents", field(7, budget.Tensors+1, nil), "raw_input_contents holds more than 16384 elements: send fewer"},
		{"a shape", shape(budget.Dimensions + 1), "shape holds more than 256 elements: send fewer"},
		{"parameters of an input", field(5, 1, field(4, budget.Keys+1, nil)), "parameters holds more than 4096 keys: send fewer"},
		{"parameters of an output", field(6, 1, field(2, budget.Keys+1, nil)), "parameters holds more than 4096 keys: send fewer"},
		{"unknown fields", field(8, budget.UnknownFields+1, nil), "the message holds more than 4096 unknown fields: send fewer"},
		{"unknown fields of another form", bytes.Repeat([]byte{1 << 3, 1}, budget.UnknownFields+1), "the message holds more than 4096 unknown fields: send fewer"},
		{"an unpacked shape", field(5, 1, bytes.Repeat([]byte{3 << 3, 1}, budget.Dimensions+1)), "shape holds more than 256 elements: send fewer"},
		{"texts", field(5, 1, field(5, 1, field(8, budget.Strings+1, nil))), "contents.bytes_contents holds more than 1048576 elements: send fewer"},
		{"all at the limit", slices.Concat(field(5, budget.Tensors, nil), field(6, budget.Tensors, nil), field(7, budget.Tensors, nil)), ""},
		{"a shape at the limit", shape(budget.Dimensions), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			req, err := inference.NewInferRequest(mem.BufferSlice{mem.SliceBuffer(test.encoded[:1]), mem.SliceBuffer(test.encoded[1:])})
			if err == nil && test.want == "" { // a request with a wanted error must be refused by NewInferRequest
				_, _, err = req.Split()
			}
			if (err == nil) != (test.want == "") {
				t.Fatal(err)
			}
			if e := inference.AsError(err); test.want != "" && (e.Code != inference.CodeInvalid || e.Message != test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
