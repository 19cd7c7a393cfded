package inference_test

import (
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestScores checks which requests need the log probabilities of their prompts, how many alternatives they
// need, and which field an error names.
func TestScores(t *testing.T) {
	tests := []struct {
		name       string
		req        inference.Request
		top        int
		needed     bool
		param      string
		message    string
		onlyPrompt bool
	}{
		{name: "neither field", req: inference.Request{Sampling: inference.Sampling{Logprobs: new(5)}}},
		{
			name: "prompt_logprobs", req: inference.Request{Sampling: inference.Sampling{PromptLogprobs: new(3), Logprobs: new(5)}}, top: 3, needed: true,
			param: "prompt_logprobs", message: "prompt_logprobs is not supported by the model `m`: it lacks logits",
		},
		{
			name: "no alternatives", req: inference.Request{Sampling: inference.Sampling{PromptLogprobs: new(0)}}, needed: true,
			param: "prompt_logprobs", message: "prompt_logprobs is not supported by the model `m`: it lacks logits",
		},
		{name: "echo alone", req: inference.Request{Echo: true, Sampling: inference.Sampling{MaxTokens: new(0)}}, onlyPrompt: true},
		{name: "echo without a limit", req: inference.Request{Echo: true}},
		{
			name: "echo with logprobs", req: inference.Request{Echo: true, Sampling: inference.Sampling{Logprobs: new(2), MaxTokens: new(1)}}, top: 2, needed: true,
			param: "echo", message: "echo together with logprobs is not supported by the model `m`: it lacks logits",
		},
		{
			name: "both", req: inference.Request{Echo: true, Sampling: inference.Sampling{Logprobs: new(2), PromptLogprobs: new(7)}}, top: 7, needed: true,
			param: "prompt_logprobs", message: "prompt_logprobs is not supported by the model `m`: it lacks logits",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.req.Model = "m"
			if top, needed := test.req.Scores(); top != test.top || needed != test.needed {
				t.Errorf("%d alternatives, needed %t; want %d, %t", top, needed, test.top, test.needed)
			}
			if got := test.req.OnlyPrompt(); got != test.onlyPrompt {
				t.Errorf("asks for the prompt alone: %t", got)
			}
			if !test.needed {
				return
			}
			e := test.req.UnsupportedScore("it lacks logits")
			if e.Code != inference.CodeInvalid || e.Reason != inference.ReasonUnsupported || e.Param != test.param || e.Message != test.message {
				t.Errorf("got %+v", e)
			}
		})
	}
}
