package contracts

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// scoring adds the tensors for the logits of a prompt to a configuration.
func scoring(config *kserve.ModelConfig) *kserve.ModelConfig {
	config.Input = append(config.Input, &kserve.ModelInput{Name: "return_context_logits", DataType: kserve.DataType_TYPE_BOOL, Dims: []int64{1}, Optional: true})
	config.Output = append(config.Output, &kserve.ModelOutput{Name: "context_logits"})
	return config
}

// TestEncodeScore checks the request for the logits of a prompt: one response that generates one token, with the
// output of the logits alone.
func TestEncodeScore(t *testing.T) {
	ensemble := map[string]string{
		"text_input": `BYTES[1 1]"p"`, "max_tokens": "INT32[1 1]1", "top_k": "INT32[1 1]1", "stream": "BOOL[1 1]false",
		"exclude_input_in_output": "BOOL[1 1]true", "return_context_logits": "BOOL[1 1]true",
	}
	adapted := maps.Clone(ensemble)
	adapted["lora_task_id"] = "UINT64[1 1]7"
	for _, tt := range []struct {
		name   string
		kind   inference.Scorer
		config *kserve.ModelConfig
		lora   *inference.LoRA
		want   map[string]string
	}{
		{"ensemble", TensorRTLLM{}, scoring(ensembleConfig()), nil, ensemble},
		{"ensemble with an adapter", TensorRTLLM{}, scoring(ensembleConfig()), &inference.LoRA{Name: "doll", ID: 7}, adapted},
		{
			"python",
			Python{},
			scoring(tensorsOf(0, true, []string{"text_input STRING 1", "max_tokens INT32 1", "top_k? INT32 1", "temperature FP32 1"}, "text_output")),
			nil,
			map[string]string{"text_input": `BYTES[1]"p"`, "max_tokens": "INT32[1]1", "temperature": "FP32[1]1", "return_context_logits": "BOOL[1]true"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := &inference.Request{Model: "m", Stream: true, Sampling: inference.Sampling{PromptLogprobs: new(2), Temperature: new(0.5)}}
			got, err := tt.kind.EncodeScore(&inference.Target{Name: "m", Config: tt.config}, req, &inference.Job{Prompt: "p", MaxTokens: 9, LoRA: tt.lora})
			if err != nil {
				t.Fatal(err)
			}
			if inputs := inputsOf(t, got); !maps.Equal(inputs, tt.want) {
				t.Errorf("got  %v\nwant %v", inputs, tt.want)
			}
			if outs := got.GetOutputs(); len(outs) != 1 || outs[0].GetName() != "context_logits" || got.GetModelName() != "m" {
				t.Errorf("the outputs %v of the model %q are requested", outs, got.GetModelName())
			}
		})
	}
}

// TestEncodeScoreRefuses checks that the error names the request field that needs the logits of a prompt.
func TestEncodeScoreRefuses(t *testing.T) {
	const undeclared = " is not supported by the model `m`: it does not declare the input return_context_logits and the output context_logits"
	prompt := inference.Sampling{PromptLogprobs: new(0)}
	noOutput := scoring(ensembleConfig())
	noOutput.Output = ensembleConfig().GetOutput()
	prioritized := scoring(ensembleConfig())
	prioritized.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{PriorityLevels: 3}}
	for _, tt := range []struct {
		name           string
		kind           inference.Scorer
		config         *kserve.ModelConfig
		req            inference.Request
		param, message string
	}{
		{"no input", TensorRTLLM{}, ensembleConfig(), inference.Request{Sampling: prompt}, "prompt_logprobs", "prompt_logprobs" + undeclared},
		{"no output", TensorRTLLM{}, noOutput, inference.Request{Sampling: prompt}, "prompt_logprobs", "prompt_logprobs" + undeclared},
		{"no tensors of a Python model", Python{}, tensorsOf(0, true, []string{"text_input STRING 1"}, "text_output"), inference.Request{Echo: true, Sampling: inference.Sampling{Logprobs: new(1)}}, "echo", "echo together with logprobs" + undeclared},
		{"a priority above the levels", TensorRTLLM{}, prioritized, inference.Request{Sampling: prompt, Priority: new(4)}, "priority", "priority must be from 1 to 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Model = "m"
			_, err := tt.kind.EncodeScore(&inference.Target{Name: "m", Config: tt.config}, &tt.req, &inference.Job{Prompt: "p"})
			if e := inference.AsError(err); err == nil || e.Code != inference.CodeInvalid || e.Param != tt.param || e.Message != tt.message {
				t.Errorf("got %v\nwant %s: %s", err, tt.param, tt.message)
			}
		})
	}
}

// TestDecodeScore checks the logits of a response in each datatype, and the errors of malformed tensors.
func TestDecodeScore(t *testing.T) {
	logits := func(datatype string, size int, shape ...int64) inference.Output {
		out := output("context_logits", datatype, []byte("0123456789abcdefghijklmn")[:size])
		out.Shape = shape
		return out
	}
	for _, tt := range []struct {
		name          string
		out           inference.Output
		rows, columns int // 0 if the response has no logits
		err           string
	}{
		{"FP32", logits("FP32", 24, 2, 3), 2, 3, ""},
		{"FP16", logits("FP16", 24, 4, 3), 4, 3, ""},
		{"BF16", logits("BF16", 12, 2, 3), 2, 3, ""},
		{"a batch of one", logits("FP32", 24, 1, 2, 3), 2, 3, ""},
		{"a batch of one beam", logits("FP32", 24, 1, 1, 3, 2), 3, 2, ""},
		{"other outputs alone", texts("text_output", "a"), 0, 0, ""},
		{"integers", logits("INT32", 24, 2, 3), 0, 0, "the output tensor has datatype INT32 instead of FP32, FP16 or BF16"},
		{"no rows", logits("FP32", 24, 6), 0, 0, "24 bytes of FP32 have the shape [6]"},
		{"no shape", logits("FP32", 24), 0, 0, "24 bytes of FP32 have the shape []"},
		{"a tensor that is cut", logits("FP32", 20, 2, 3), 0, 0, "20 bytes of FP32 have the shape [2 3]"},
		{"an element that is cut", logits("FP16", 13, 2, 3), 0, 0, "13 bytes of FP16 have the shape [2 3]"},
		{"a tensor that is too long", logits("FP32", 24, 1, 3), 0, 0, "24 bytes of FP32 have the shape [1 3]"},
		{"several prompts", logits("FP32", 24, 2, 1, 3), 0, 0, "24 bytes of FP32 have the shape [2 1 3]"},
		{"no columns", logits("FP32", 0, 2, 0), 0, 0, "0 bytes of FP32 have the shape [2 0]"},
		{"dimensions below 0", logits("FP32", 24, -2, -3), 0, 0, "24 bytes of FP32 have the shape [-2 -3]"},
		{"dimensions whose product overflows", logits("FP32", 0, 1<<32, 1<<32), 0, 0, "0 bytes of FP32 have the shape [4294967296 4294967296]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := &inference.Response{Outputs: []inference.Output{texts("text_output", "x"), tt.out}}
			for _, kind := range []inference.Scorer{TensorRTLLM{}, Python{}} {
				got, err := kind.DecodeScore(&inference.Target{Name: "m"}, resp)
				switch {
				case tt.err != "":
					if want := "model m: output context_logits: " + tt.err; err == nil || err.Error() != want || got != nil {
						t.Errorf("%T: got %+v, %v, want %s", kind, got, err, want)
					}
				case tt.rows == 0:
					if got != nil || err != nil {
						t.Errorf("%T: got %+v, %v, want nothing", kind, got, err)
					}
				case err != nil || got.Type != tt.out.Type || got.Rows != tt.rows || got.Columns != tt.columns || !bytes.Equal(got.Raw, tt.out.Raw):
					t.Errorf("%T: got %+v, %v, want %d rows of %d columns", kind, got, err, tt.rows, tt.columns)
				}
			}
		})
	}
}

// TestExplainScore checks the error of an engine that was built without the logits of prompts.
func TestExplainScore(t *testing.T) {
	const text = "Error: return_context_logits is true but gather_context_logits is not enabled in the engine"
	scored := &inference.Request{Model: "m", Echo: true, Sampling: inference.Sampling{Logprobs: new(1)}}
	got := TensorRTLLM{}.Explain(scored, &inference.Error{Code: inference.CodeInternal, Message: text})
	if got.Code != inference.CodeInvalid || got.Reason != inference.ReasonUnsupported || got.Param != "echo" || !strings.HasSuffix(got.Message, "its engine returns no logits of prompts: build it with gather_context_logits") {
		t.Errorf("got %+v", got)
	}
	other := &inference.Error{Code: inference.CodeInternal, Message: text}
	if got := (TensorRTLLM{}).Explain(&inference.Request{Model: "m"}, other); got != other {
		t.Errorf("for a request that needs no logits, the error became %+v", got)
	}
}
