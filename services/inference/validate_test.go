package inference_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// TestValidateEncode checks which field of a request to an encoder an error names.
func TestValidateEncode(t *testing.T) {
	inputs := func(n int) []inference.EncodeInput { return make([]inference.EncodeInput, n) }
	documents := func(i int) string { return fmt.Sprintf("documents[%d]", i) }
	for _, test := range []struct {
		name, param, message string
		req                  inference.EncodeRequest
	}{
		{"most embeddings", "", "", inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: inputs(2048)}},
		{"inputs", "input", "input takes at most 2048 entries, got 2049", inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: inputs(2049)}},
		{"most documents", "", "", inference.EncodeRequest{Task: inference.TaskScore, Inputs: inputs(16384), Param: documents}},
		{"documents", "documents", "documents takes at most 16384 entries, got 16385", inference.EncodeRequest{Task: inference.TaskScore, Inputs: inputs(16385), Param: documents}},
		{"dimensions", "dimensions", "dimensions must be at least 1, got -1", inference.EncodeRequest{Dimensions: -1}},
		{"tokens", "max_tokens", "max_tokens must be at least 1, got -1", inference.EncodeRequest{MaxTokens: -1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.req.Validate()
			if test.param == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			inferencetest.WantInvalid(t, err, test.param, test.message)
		})
	}
}

// TestValidate checks which field an error names if its value is out of range, and what the error says.
func TestValidate(t *testing.T) {
	inputs := func(n int) []inference.Input { return make([]inference.Input, n) }
	stops := slices.Repeat([]string{"x"}, budget.Stops+1)
	tests := []struct {
		name, param, message string // both are empty for a valid request
		req                  inference.Request
	}{
		{"nothing is set", "", "", inference.Request{}},
		{"both ends of a range", "", "", inference.Request{Sampling: inference.Sampling{Temperature: new(0.0), TopP: new(1.0), FrequencyPenalty: new(-2.0)}}},
		{"temperature", "temperature", "temperature must be from 0 to 2, got 2.5", inference.Request{Sampling: inference.Sampling{Temperature: new(2.5)}}},
		{"no number", "top_p", "top_p must be from 0 to 1, got NaN", inference.Request{Sampling: inference.Sampling{TopP: new(math.NaN())}}},
		{"repetition", "repetition_penalty", "repetition_penalty must be above 0, got 0", inference.Request{Sampling: inference.Sampling{RepetitionPenalty: new(0.0)}}},
		{"no tokens", "max_tokens", "max_tokens must be from 1 to 1073741824, got 0", inference.Request{Sampling: inference.Sampling{MaxTokens: new(0)}}},
		{"no tokens after the prompt", "", "", inference.Request{Echo: true, Sampling: inference.Sampling{MaxTokens: new(0)}}},
		{"log probabilities of the prompt", "prompt_logprobs", "prompt_logprobs must be from 0 to 20, got 21", inference.Request{Sampling: inference.Sampling{PromptLogprobs: new(21)}}},
		{"more tokens at least than at most", "min_tokens", "min_tokens must not be above max_tokens (1), got 2", inference.Request{Sampling: inference.Sampling{MinTokens: new(2), MaxTokens: new(1)}}},
		{"truncation to nothing", "truncate_prompt_tokens", "truncate_prompt_tokens must be -1 or at least 1, got 0", inference.Request{Sampling: inference.Sampling{TruncatePromptTokens: new(0)}}},
		{"truncation to the context", "", "", inference.Request{Sampling: inference.Sampling{TruncatePromptTokens: new(-1)}}},
		{"choices of one prompt", "n", "n must be from 0 to 128, got 129", inference.Request{N: 129}},
		{"choices of all prompts", "prompt", "the number of prompts times n is 130, but at most 128 choices are allowed", inference.Request{N: 65, Prompts: inputs(2)}},
		{"best of fewer", "best_of", "best_of must not be below n (3), got 2", inference.Request{N: 3, BestOf: 2}},
		{"best of more, streamed", "best_of", "best_of above n (1) can't be used with stream: the best choices are known only at the end", inference.Request{BestOf: 2, Stream: true}},
		{"best of more", "", "", inference.Request{BestOf: 2}},
		{"stop sequences", "stop", "stop may have at most 64 stop sequences, got 65", inference.Request{Sampling: inference.Sampling{Stop: stops}}},
		{"an empty stop sequence", "stop[1]", "stop[1] must not be empty", inference.Request{Sampling: inference.Sampling{Stop: []string{"a", ""}}}},
		{"an empty bad word", "bad_words[0]", "bad_words[0] must not be empty", inference.Request{Sampling: inference.Sampling{BadWords: []string{""}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.req.Validate()
			if test.param == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			inferencetest.WantInvalid(t, err, test.param, test.message)
		})
	}
}
