package contracts

import (
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// TestRequestedOutputs checks which outputs each contract requests: those that its decoder reads, of
// those that the model declares.
func TestRequestedOutputs(t *testing.T) {
	declaring := func(config *kserve.ModelConfig, outputs ...string) *kserve.ModelConfig {
		for _, name := range outputs {
			config.Output = append(config.Output, &kserve.ModelOutput{Name: name})
		}
		return config
	}
	ensemble := func(change ...string) *kserve.ModelConfig {
		return declaring(ensembleConfig(change...), "cum_log_probs", "batch_index", "sequence_index", "kv_cache_reused_blocks")
	}
	for _, tt := range []struct {
		name    string
		backend inference.Backend
		config  *kserve.ModelConfig
		known   int // number of the prompt's tokens, 0 if unknown
		top     *int
		want    string
	}{
		{"ensemble", TensorRTLLM{}, ensemble(), 0, nil, "text_output num_output_tokens num_input_tokens"},
		{"ensemble, known prompt", TensorRTLLM{}, ensemble(), 9, nil, "text_output num_output_tokens"},
		{"ensemble, log probabilities", TensorRTLLM{}, ensemble(), 9, new(0), "text_output num_output_tokens output_log_probs"},
		{"a number of texts of its own", TensorRTLLM{}, ensemble("-num_return_sequences", "-beam_width"), 9, nil, "text_output num_output_tokens sequence_index"},
		{"a beam width", TensorRTLLM{}, ensemble("-num_return_sequences"), 9, nil, "text_output num_output_tokens"},
		{"llmapi", LLMAPI{}, declaring(llmapiConfig(), "stop_reason", "cumulative_logprob"), 0, nil, "text_output finish_reason"},
		{"python", Python{}, tensorsOf(0, false, []string{"text_input STRING 1"}, "text_output", "score"), 0, nil, "text_output"},
		{"vllm", VLLM{}, vllmConfig(), 0, nil, ""}, // its flags select the outputs
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := &inference.Request{Task: inference.TaskGenerate, Stream: true, Sampling: inference.Sampling{Logprobs: tt.top}}
			got, err := tt.backend.Encode(&inference.Target{Name: "m", Config: tt.config}, req, &inference.Job{Prompt: "Hi", MaxTokens: 5, PromptTokens: tt.known})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, out := range got.GetOutputs() {
				names = append(names, out.GetName())
			}
			if list := strings.Join(names, " "); list != tt.want {
				t.Errorf("got %q, want %q", list, tt.want)
			}
		})
	}
}

// TestKnownPrompt checks that the engine isn't asked for a number of tokens that is known.
func TestKnownPrompt(t *testing.T) {
	for _, tt := range []struct {
		backend inference.Backend
		config  *kserve.ModelConfig
	}{{VLLM{}, vllmConfig()}, {TensorRTLLM{}, ensembleConfig()}} {
		for known, want := range map[int]string{0: "\x01", 9: "\x00"} {
			got, err := tt.backend.Encode(&inference.Target{Name: "m", Config: tt.config}, &inference.Request{Task: inference.TaskGenerate, Stream: true}, &inference.Job{Prompt: "Hi", MaxTokens: 5, PromptTokens: known})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for i, in := range got.GetInputs() {
				switch raw := string(got.GetRawInputContents()[i]); in.GetName() {
				case "return_num_input_tokens":
					found = true
					if raw != want {
						t.Errorf("%s, %d known: %s is %q", tt.backend.Name(), known, in.GetName(), raw)
					}
				case "return_num_output_tokens":
					if raw != "\x01" {
						t.Errorf("%s, %d known: %s is %q", tt.backend.Name(), known, in.GetName(), raw)
					}
				}
			}
			if !found {
				t.Errorf("%s: the flag isn't sent", tt.backend.Name())
			}
		}
	}
}
