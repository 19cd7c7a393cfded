package contracts

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// TestAdapters checks which input tensors name a LoRA adapter in the request to a model, depending
// on the inputs that the model declares.
func TestAdapters(t *testing.T) {
	weights := &inference.LoRAWeights{Rows: 2, Width: 3, Columns: 3, Weights: make([]byte, 12), Config: make([]byte, 24)}
	wide := &inference.LoRAWeights{Rows: 2, Width: 3, Columns: 4, Weights: make([]byte, 12), Config: make([]byte, 32)}
	text := tensorsOf(0, false, []string{"text_input STRING 1", "lora_name? STRING 1"}, "text_output")
	tests := []struct {
		name    string
		kind    inference.Backend
		config  *kserve.ModelConfig
		weights *inference.LoRAWeights
		form    inference.LoRAForm
		want    map[string]string // datatype, shape and length of each expected input, keyed by its name
		err     string
	}{
		{"with weights", TensorRTLLM{}, ensembleConfig(), weights, inference.LoRAByID, map[string]string{
			"lora_task_id": "UINT64 [1 1] 8", "lora_weights": "FP16 [1 2 3] 12", "lora_config": "INT32 [1 2 3] 24",
		}, ""},
		{"the number alone", TensorRTLLM{}, ensembleConfig(), nil, inference.LoRAByID, map[string]string{"lora_task_id": "UINT64 [1 1] 8"}, ""},
		{"without a batch", Python{}, tensorsOf(0, true, []string{"text_input STRING 1", "lora_task_id? UINT64 1", "lora_weights? FP16 -1 -1", "lora_config? INT32 -1 4"}, "text_output"), wide, inference.LoRAByID, map[string]string{
			"lora_task_id": "UINT64 [1] 8", "lora_weights": "FP16 [2 3] 12", "lora_config": "INT32 [2 4] 32",
		}, ""},
		{"weights of another shape", TensorRTLLM{}, ensembleConfig(), wide, inference.LoRAByID, nil, "don't have the shape and the datatype that the model `m` declares for its input lora_config"},
		{"weights of another type", TensorRTLLM{}, ensembleConfig("-lora_weights", "lora_weights? FP32 -1 -1"), weights, inference.LoRAByID, nil, "lora_weights"},
		{"of the LLM API", LLMAPI{}, llmapiConfig(), nil, inference.LoRAByPath, map[string]string{
			"lora_id": "UINT64 [1] 8", "lora_name": "BYTES [1] 8", "lora_path": "BYTES [1] 10",
		}, ""},
		{"by its name", Python{}, text, nil, inference.LoRAByName, map[string]string{"lora_name": "BYTES [1] 8"}, ""},
		{"no inputs for weights", TensorRTLLM{}, ensembleConfig("-lora_weights"), nil, inference.LoRANone, nil, "declares no inputs for them"},
		{"no path", LLMAPI{}, llmapiConfig("-lora_name"), nil, inference.LoRANone, nil, "declares no inputs for them"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if form := tt.kind.Extras(tt.config).LoRA; form != tt.form {
				t.Errorf("form %d", form)
			}
			job := &inference.Job{Prompt: "p", MaxTokens: 1, LoRA: &inference.LoRA{Name: "doll", ID: 7, Path: "/loras", Weights: tt.weights}}
			infer, err := tt.kind.Encode(&inference.Target{Name: "m", Config: tt.config}, &inference.Request{}, job)
			if (err == nil) != (tt.err == "") || err != nil && (inference.AsError(err).Param != "model" || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("got %v", err)
			}
			got := map[string]string{}
			for i, in := range infer.GetInputs() {
				if strings.HasPrefix(in.GetName(), "lora_") {
					got[in.GetName()] = fmt.Sprint(in.GetDatatype(), " ", in.GetShape(), " ", len(infer.GetRawInputContents()[i]))
				}
				if in.GetName() == inLoRATask && infer.GetRawInputContents()[i][0] != 7 {
					t.Errorf("id %v", infer.GetRawInputContents()[i])
				}
			}
			if err == nil && !maps.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTensorRTExplainsAdapters(t *testing.T) {
	req := &inference.Request{Model: "m:doll"}
	for _, tt := range []struct {
		text, message string
		code          inference.Code
		missing       bool
	}{
		{"Executor failed process requestId 3 due to the following error: Encountered an error when fetching new request: LoRA task 42 not found in cache. Please send LoRA weights with request", "the model `m:doll` does not exist: its engine has no such LoRA adapter", inference.CodeNotFound, true},
		{"Cannot process new request: [TensorRT-LLM][ERROR] Assertion failed: LoRA task 0 not found in cache. Please send LoRA weights with request (/home/jenkins/llm/cpp/peftCacheManager.cpp:182)", "no such LoRA adapter", inference.CodeNotFound, true},
		{"PEFT Cache is full. Could not store taskId=42", "the engine of the model `m:doll` has no room for another LoRA adapter now: try again", inference.CodeUnavailable, false},
		{"lora_path does not exist on the Triton server's filesystem: /srv/loras/doll", "its engine can't find the folder of this LoRA adapter", inference.CodeNotFound, false},
		{"Error generating request: lora_path (/srv/loras/doll) does not exist.", "can't find the folder of this LoRA adapter", inference.CodeNotFound, false},
	} {
		for _, b := range []inference.Backend{TensorRTLLM{}, LLMAPI{}, Python{}} {
			got := b.Explain(req, &inference.Error{Code: inference.CodeInternal, Message: tt.text})
			if got.Code != tt.code || got.Param != "model" || !strings.Contains(got.Message, tt.message) || errors.Is(got, inference.ErrNoLoRA) != tt.missing || strings.Contains(got.Error(), "/srv") {
				t.Errorf("%s: %s: got %+v", b.Name(), tt.text, got)
			}
		}
	}
}
