package toolparser

import "testing"

// TestAnswerStart checks the markers before the text of an answer against what the models' templates and formats
// have there.
func TestAnswerStart(t *testing.T) {
	for _, tt := range []struct {
		tools, reasoning, prompt string
		want                     string
		known                    bool
	}{
		{"", "", "x", "", true},
		{"hermes", "qwen3", "<think>\n\n</think>\n\n", "", true},
		{"gigachat3", "", "x", "", true},
		{"k2_horizon", "k2_horizon", "x", "", true},
		{"openai", "", "<|start|>assistant", "<|channel|>final<|message|>", true},
		{"", "gpt_oss", "<|start|>assistant", "<|channel|>final<|message|>", true},
		{"cohere_command3", "", "<|CHATBOT_TOKEN|>", "<|START_RESPONSE|>", true},
		{"", "cohere_command3", "<|START_THINKING|><|END_THINKING|>", "<|START_RESPONSE|>", true},
		{"", "cohere_command3", "<|CHATBOT_TOKEN|><|START_RESPONSE|>", "", true},
		{"cohere_command4", "cohere_command4", "<|START_THINKING|><|END_THINKING|>", "<|START_TEXT|>", true},
		{"kimi_k3", "", `<|open|>message role="assistant"<|sep|>`, "<|open|>response<|sep|>", true},
		{"kimi_k3", "kimi_k3", `<|open|>message role="assistant"<|sep|><|open|>response<|sep|>`, "", true},
		{"hunyuan_a13b", "hunyuan_a13b", "<|extra_0|>", "<think>\n\n</think>\n<answer>\n", true},
		{"", "hunyuan_a13b", "<think>\n\n</think>\n", "<answer>\n", true},
		{"", "hunyuan_a13b", "<think>\n\n</think>", "\n<answer>\n", true},
		{"", "hunyuan_a13b", "<think>\n\n</think>\n<answer>\n", "", true},
		{"", "hunyuan_a13b", "<think>\n\n</think>\n<answer>", "\n", true},
		{"hunyuan_a13b", "", "x", "", false},
		{"ernie45", "", "x", "", false},
		{"ernie45", "ernie45", "<think>\n\n</think>\n", "", false},
		{"inkling", "", "x", "", false},
		{"", "muse", "x", "", false},
		{"", "unknown", "x", "", false},
		{"unknown", "", "x", "", false},
	} {
		if got, known := (Dialects{}).AnswerStart(tt.tools, tt.reasoning, tt.prompt); got != tt.want || known != tt.known {
			t.Errorf("%q, %q after %q: %q, %v, want %q, %v", tt.tools, tt.reasoning, tt.prompt, got, known, tt.want, tt.known)
		}
	}
}

// TestUnifiedDialectsHaveStarts checks that the start of answers is known, or known to be uncertain, for each
// dialect whose text has a header.
func TestUnifiedDialectsHaveStarts(t *testing.T) {
	for _, d := range toolDialects() {
		if d.unified != nil && d.start == nil {
			t.Errorf("the format %s of calls has no start", d.names[0])
		}
	}
	for _, d := range reasoningDialects() {
		if d.unified != nil && d.start == nil {
			t.Errorf("the format %s of reasoning has no start", d.names[0])
		}
	}
}
