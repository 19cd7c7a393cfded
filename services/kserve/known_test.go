package kserve_test

import (
	"bytes"
	"slices"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve"
)

// generated encodes a response of a stream by the generated code.
func generated(t *testing.T, req *api.ModelInferRequest, resp *inference.Response) []byte {
	t.Helper()
	message := &api.ModelInferResponse{
		ModelName: req.GetModelName(), ModelVersion: resp.Version, Id: req.GetId(),
		Parameters: inferencetest.Params{"triton_final_response": inferencetest.Bool(false)},
	}
	if resp.Version == "" {
		message.ModelVersion = req.GetModelVersion()
	}
	for _, out := range resp.Outputs {
		message.Outputs = append(message.Outputs, &api.ModelInferResponse_InferOutputTensor{Name: out.Name, Datatype: out.Type, Shape: out.Shape})
		message.RawOutputContents = append(message.RawOutputContents, slices.Concat([]byte{}, out.Raw))
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&api.ModelStreamInferResponse{InferResponse: message})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestKnownHead checks that responses of a stream have the bytes of generated code, whether the
// previous one had the same tensors or others.
func TestKnownHead(t *testing.T) {
	req := &api.ModelInferRequest{ModelName: "model", ModelVersion: "2", Id: "id"}
	shape := []int64{1, 300}
	text := func(raw string) inference.Output {
		return inference.Output{Name: "text_output", Type: "BYTES", Shape: []int64{1}, Raw: []byte(raw)}
	}
	count := inference.Output{Name: "num_output_tokens", Type: "UINT32", Shape: shape, Raw: []byte{1, 0, 0, 0}}
	responses := []*inference.Response{
		{Version: "1", Outputs: []inference.Output{text("a")}},
		{Version: "1", Outputs: []inference.Output{text("")}},
		{Version: "1", Outputs: []inference.Output{text("longer"), count}},
		{Version: "1", Outputs: []inference.Output{count, text("other order")}},
		{Version: "3", Outputs: []inference.Output{count, text("other version")}},
		{Outputs: []inference.Output{text("no version")}},
		{Outputs: []inference.Output{{Name: "text_output", Type: "UINT8", Shape: []int64{1}, Raw: []byte("x")}}},
		{Outputs: []inference.Output{{Name: "text_output", Type: "UINT8", Raw: []byte("x")}}},
		{Outputs: []inference.Output{{Name: "text_output", Type: "UINT8", Shape: []int64{0}}}},
		{Version: "1"},
		{Version: "1", Outputs: []inference.Output{text(string(bytes.Repeat([]byte("y"), 5000)))}},
		{Version: "1", Outputs: []inference.Output{count}},
		{Version: "1", Outputs: []inference.Output{count}},
	}
	encoder := kserve.NewStreamEncoder(req)
	for i, resp := range responses {
		if i == len(responses)-1 {
			shape[1] = 2 // an engine's memory may have other content for the next response
		}
		if got, want := encoder.Encode(resp), generated(t, req, resp); !bytes.Equal(got, want) {
			t.Errorf("response %d: %q, want %q", i, got, want)
		}
	}
	for name, resp := range map[string]*inference.Response{
		"final":      {Version: "1", Outputs: []inference.Output{count}, Final: true},
		"parameters": {Version: "1", Outputs: []inference.Output{count}, Parameters: inferencetest.Params{"p": inferencetest.String("x")}},
		"error":      {Version: "1", Err: &inference.Error{}},
		"large":      {Version: "1", Outputs: []inference.Output{{Name: "o", Type: "UINT8", Shape: []int64{9000}, Raw: make([]byte, 9000)}}},
	} {
		if got := encoder.Encode(resp); got != nil {
			t.Errorf("%s: encoded by the head of another response as %q", name, got)
		}
	}
}

func valid(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) })
}

// FuzzKnownHead checks the bytes of two responses, one after the other, against generated code.
func FuzzKnownHead(f *testing.F) {
	f.Add("1", "text_output", "BYTES", int64(1), []byte("token"), "text_output", int64(1), []byte("next"))
	f.Add("", "a", "", int64(-1), []byte{}, "", int64(300), make([]byte, 200))
	f.Fuzz(func(t *testing.T, version, name, kind string, dim int64, raw []byte, nextName string, nextDim int64, next []byte) {
		req := &api.ModelInferRequest{ModelName: "model", Id: "id"}
		encoder := kserve.NewStreamEncoder(req)
		if !valid(version, name, kind, nextName) {
			t.Skip("protobuf's strings are UTF-8")
		}
		for _, resp := range []*inference.Response{
			{Version: version, Outputs: []inference.Output{{Name: name, Type: kind, Shape: []int64{dim}, Raw: raw}}},
			{Version: version, Outputs: []inference.Output{{Name: nextName, Type: kind, Shape: []int64{nextDim}, Raw: next}}},
		} {
			if got := encoder.Encode(resp); got != nil && !bytes.Equal(got, generated(t, req, resp)) {
				t.Errorf("%q, want %q", got, generated(t, req, resp))
			}
		}
	})
}

// BenchmarkToken measures the encoding of a token's response whose head is known.
func BenchmarkToken(b *testing.B) {
	response := &inference.Response{Version: "1", Outputs: []inference.Output{
		{Name: "text_output", Type: "BYTES", Shape: []int64{1}, Raw: []byte("\x06\x00\x00\x00 hello")},
		{Name: "num_output_tokens", Type: "UINT32", Shape: []int64{1}, Raw: []byte{1, 0, 0, 0}},
	}}
	req := &api.ModelInferRequest{ModelName: "model", Id: "request"}
	b.Run("known", func(b *testing.B) {
		encoder := kserve.NewStreamEncoder(req)
		b.ReportAllocs()
		for b.Loop() {
			encoder.Join(response)
		}
	})
	b.Run("new", func(b *testing.B) {
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
