package inference

import "github.com/trident-inference/trident/gen/go/kserve"

// Scorer is a [Backend] with models that return the logits of their prompts. Other backends have no log
// probabilities of prompts.
type Scorer interface {
	// EncodeScore builds the request that returns the logits of a job's prompt. It generates one
	// token, because engines don't generate none. A model without the tensors for it is an [*Error]
	// that names the field of the request.
	EncodeScore(target *Target, req *Request, job *Job) (*kserve.ModelInferRequest, error)
	// DecodeScore returns the logits in a response, or nil if it has none. They are a view of the
	// response.
	DecodeScore(target *Target, resp *Response) (*Logits, error)
}

// Logits are the logits after each token of a prompt: row i predicts token i+1.
type Logits struct {
	Type          string // FP32, FP16 or BF16
	Rows, Columns int
	Raw           []byte // Rows times Columns elements, little-endian
}

// PromptScore are the log probabilities of a prompt's tokens. All choices of a prompt share them.
type PromptScore struct {
	Tokens []PromptToken
	// Added is the number of tokens at the start that the engine adds to the client's prompt.
	Added int
	// Length is the number of Unicode code points of the prompt's text.
	Length int
	// Next are the likeliest tokens after the prompt, best first.
	Next []TopLogprob
}

// PromptToken is a token of a prompt. The first token of a prompt has no log probability, because nothing
// precedes it.
type PromptToken struct {
	TokenLogprob

	// Rank is the rank of the token among all tokens at its position, from 1. It is 0 for a token
	// without a log probability.
	Rank int
	// Offset is the offset of the token in the prompt's text, in Unicode code points.
	Offset int
}

// Scores returns the number of alternatives for each token of the prompt, if the request needs the log
// probabilities of prompts.
func (r *Request) Scores() (top int, needed bool) {
	s := &r.Sampling
	if s.PromptLogprobs != nil {
		top, needed = *s.PromptLogprobs, true
	}
	if r.Echo && s.Logprobs != nil {
		top, needed = max(top, *s.Logprobs), true
	}
	return top, needed
}

// ScoreParam returns the request field that needs the log probabilities of prompts, for errors.
func (r *Request) ScoreParam() string {
	if r.Sampling.PromptLogprobs != nil {
		return "prompt_logprobs"
	}
	return "echo"
}

// UnsupportedScore returns the error for a request that needs the log probabilities of prompts, which its
// model doesn't return for the given reason.
func (r *Request) UnsupportedScore(why string) *Error {
	param := r.ScoreParam()
	what := param
	if param == "echo" {
		what = "echo together with logprobs"
	}
	return Unsupported(param, "%s is not supported by the model `%s`: %s", what, r.Model, why)
}

// OnlyPrompt reports whether the request generates nothing: it asks for its prompt alone.
func (r *Request) OnlyPrompt() bool {
	return r.Echo && r.Sampling.MaxTokens != nil && *r.Sampling.MaxTokens == 0
}
