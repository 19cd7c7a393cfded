package main

import (
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// TestLeanCodec checks that the bench's own decoder of ModelStreamInferResponse reads the same
// values as the generated code.
func TestLeanCodec(t *testing.T) {
	output := func(name string) *kserve.ModelInferResponse_InferOutputTensor {
		return &kserve.ModelInferResponse_InferOutputTensor{Name: name, Datatype: "BYTES", Shape: []int64{1}}
	}
	tests := []struct {
		name          string
		message       *kserve.ModelStreamInferResponse
		text, failure string
	}{
		{"text", &kserve.ModelStreamInferResponse{InferResponse: &kserve.ModelInferResponse{
			Id: "x", ModelName: "m", Outputs: []*kserve.ModelInferResponse_InferOutputTensor{output("finish_reason"), output("text_output")},
			RawOutputContents: [][]byte{[]byte("\x04\x00\x00\x00None"), []byte("\x03\x00\x00\x00 hi")},
		}}, " hi", ""},
		{"empty final", &kserve.ModelStreamInferResponse{InferResponse: &kserve.ModelInferResponse{
			Parameters: map[string]*kserve.InferParameter{"triton_final_response": {ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: true}}},
		}}, "", ""},
		{"error", &kserve.ModelStreamInferResponse{ErrorMessage: "no such model"}, "", "no such model"},
	}
	var got reply
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wire, err := proto.Marshal(tt.message)
			if err != nil {
				t.Fatal(err)
			}
			half := len(wire) / 2
			data := mem.BufferSlice{mem.SliceBuffer(wire[:half]), mem.SliceBuffer(wire[half:])}
			if err := (leanCodec{}).Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if string(got.text) != tt.text || got.failure != tt.failure {
				t.Errorf("text %q, failure %q", got.text, got.failure)
			}
		})
	}
	if err := (leanCodec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer("\xff")}, &got); err == nil {
		t.Error("half a tag was taken")
	}
}

// TestRequest checks that the bare client sends the same request as Trident,
// plus the request for the final flag.
func TestRequest(t *testing.T) {
	req, names := decodedRequest(t, &job{Model: "m", Tokens: 7})
	if req.GetModelName() != "m" || names != "text_input stream sampling_parameters exclude_input_in_output return_finish_reason return_num_input_tokens return_num_output_tokens " ||
		len(req.GetRawInputContents()) != len(req.GetInputs()) || string(req.GetRawInputContents()[2][4:]) != `{"max_tokens":7}` ||
		!req.GetParameters()["triton_enable_empty_final_response"].GetBoolParam() {
		t.Errorf("got %v", req)
	}
	// The client that requests the text alone sends only what the model needs for it.
	req, names = decodedRequest(t, &job{Model: "m", Tokens: 7, TextAlone: true})
	if names != "text_input stream sampling_parameters " || len(req.GetRawInputContents()) != 3 || len(req.GetParameters()) > 0 {
		t.Errorf("got %v", req)
	}
	req, names = decodedRequest(t, &job{Model: "m", Tokens: 7, TextAlone: true, Ensemble: true})
	if names != "text_input stream max_tokens " || string(req.GetRawInputContents()[2]) != "\x07\x00\x00\x00" || len(req.GetInputs()[0].GetShape()) != 2 ||
		len(req.GetOutputs()) != 1 || req.GetOutputs()[0].GetName() != "text_output" {
		t.Errorf("got %v", req)
	}
}

// decodedRequest returns the bare client's request and the names of its inputs.
func decodedRequest(t *testing.T, j *job) (req *kserve.ModelInferRequest, names string) {
	t.Helper()
	wire, err := encodeRequest(j)
	if err != nil {
		t.Fatal(err)
	}
	req = &kserve.ModelInferRequest{}
	if err := proto.Unmarshal(wire, req); err != nil {
		t.Fatal(err)
	}
	for _, in := range req.GetInputs() {
		names += in.GetName() + " "
	}
	return req, names
}
