package contracts

import (
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// TestCachedTokens checks that models report the reused blocks of their KV cache if the size of a block is known, in
// the forms of both kinds of TensorRT-LLM's models.
func TestCachedTokens(t *testing.T) {
	withOutput := func(config *kserve.ModelConfig, inputs ...string) *kserve.ModelConfig {
		config.Output = append(config.GetOutput(), &kserve.ModelOutput{Name: inputs[0]})
		config.Input = append(config.GetInput(), &kserve.ModelInput{Name: inputs[1], DataType: kserve.DataType_TYPE_BOOL, Dims: []int64{1}, Optional: true})
		return config
	}
	ensemble := withOutput(ensembleConfig(), "kv_cache_reused_blocks", "return_perf_metrics")
	api := withOutput(llmapiConfig(), "kv_cache_reused_block", "sampling_param_return_perf_metrics")
	tests := []struct {
		name   string
		kind   inference.Backend
		config *kserve.ModelConfig
		block  int
		out    inference.Output
		sent   string // input that asks for the metrics
		want   int    // -1 if the number isn't known
		err    string
	}{
		{"ensemble", TensorRTLLM{}, ensemble, 32, count("kv_cache_reused_blocks", 3), "return_perf_metrics", 96, ""},
		{"ensemble: none", TensorRTLLM{}, ensemble, 32, count("kv_cache_reused_blocks", 0), "return_perf_metrics", 0, ""},
		{"ensemble: blocks of unknown size", TensorRTLLM{}, ensemble, 0, count("kv_cache_reused_blocks", 3), "", -1, ""},
		{"ensemble: not declared", TensorRTLLM{}, ensembleConfig(), 32, count("num_input_tokens", 3), "", -1, ""},
		{"ensemble: a number below 0", TensorRTLLM{}, ensemble, 32, count("kv_cache_reused_blocks", -3), "return_perf_metrics", -1, ""},
		{"ensemble: another type", TensorRTLLM{}, ensemble, 32, floats("kv_cache_reused_blocks", 1), "return_perf_metrics", -1, "FP32 instead of integers"},
		{"llmapi: as text", LLMAPI{}, api, 16, texts("kv_cache_reused_block", "5"), "sampling_param_return_perf_metrics", 80, ""},
		{"llmapi: as declared", LLMAPI{}, api, 16, count("kv_cache_reused_block", 5), "sampling_param_return_perf_metrics", 80, ""},
		{"llmapi: no number", LLMAPI{}, api, 16, texts("kv_cache_reused_block", "None"), "sampling_param_return_perf_metrics", -1, "invalid syntax"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			target := &inference.Target{Name: "m", Config: tt.config, TokensPerBlock: tt.block}
			infer, err := tt.kind.Encode(target, &inference.Request{Model: "m"}, &inference.Job{Prompt: "p", MaxTokens: 9})
			if err != nil {
				t.Fatal(err)
			}
			sent := ""
			for _, in := range infer.GetInputs() {
				if strings.HasSuffix(in.GetName(), "return_perf_metrics") {
					sent = in.GetName()
				}
			}
			requested := 0
			for _, out := range infer.GetOutputs() {
				if strings.HasPrefix(out.GetName(), "kv_cache_reused_block") {
					requested++
				}
			}
			if sent != tt.sent || (requested == 1) != (tt.sent != "") {
				t.Errorf("sent %q and requested %d outputs, want %q", sent, requested, tt.sent)
			}
			var step inference.Step
			err = tt.kind.Decoder(target, &inference.Request{}).Decode(&inference.Response{Outputs: []inference.Output{tt.out}}, &step)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			got := -1
			if step.CachedTokens != nil {
				got = *step.CachedTokens
			}
			if err != nil || got != tt.want {
				t.Errorf("got %d, %v, want %d", got, err, tt.want)
			}
		})
	}
}
