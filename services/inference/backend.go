package inference

import (
	"context"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// Target is the model that a [Backend] encodes requests for.
type Target struct {
	// Name is the name of the model.
	Name string
	// Config is the model's configuration in Triton. It is nil if the model isn't ready.
	Config *kserve.ModelConfig
	// Tokenizer is nil if the tokenizer isn't known. The engine counts the tokens then.
	Tokenizer Tokenizer
	// StructuredOutputs is the backend that enforces structured outputs in the engine: a value of
	// [SettingStructuredOutputs]. It is empty if the encoding doesn't depend on that backend.
	StructuredOutputs string
	// Encoder has the settings of an encoder. It is nil for other models.
	Encoder *EncoderSettings
	// TokensPerBlock is the number of tokens of a block of the engine's KV cache, or 0 if it isn't known.
	TokensPerBlock int
}

// Backend translates between requests for text and the tensors of one kind of model. Backends are
// pure: no network, clock or logger. All methods may be called concurrently.
type Backend interface {
	// Name returns the name of the kind as users know it: vllm, tensorrtllm …
	Name() string
	// Tasks returns the tasks that a model with this configuration can do. It is 0 if the model
	// doesn't implement this backend's contract.
	Tasks(config *kserve.ModelConfig) Task
	// Extras returns the inputs other than text that a model with this configuration takes.
	Extras(config *kserve.ModelConfig) Extras
	// Encode builds the inference request of one job. It sends only inputs that the target's
	// configuration declares. Options that the model can't honour are an [*Error] that names the
	// field.
	Encode(target *Target, req *Request, job *Job) (*kserve.ModelInferRequest, error)
	// Decoder returns a decoder for the responses of one job, in order.
	Decoder(target *Target, req *Request) Decoder
	// Explain returns a model's error with what the engine can't know: the field of the request
	// at fault, and the reason. Errors that the backend doesn't recognize are returned unchanged.
	Explain(req *Request, err *Error) *Error
}

// Constrainer is a [Backend] that knows which structured outputs its engines support.
type Constrainer interface {
	// Constrain returns a constraint in the form that the model's engine takes. An [*Error] names
	// the part that the engine doesn't enforce, and the setting that allows it.
	Constrain(target *Target, c *Structured) (*Structured, error)
}

// Tagger is a [Constrainer] whose engines may take structural tags.
type Tagger interface {
	Constrainer

	// Tags reports whether the model's engine enforces structural tags.
	Tags(target *Target) bool
}

// Extras are the inputs other than text that a model takes, and their form.
type Extras struct {
	Images ImageInput
	LoRA   LoRAForm
	// Logprobs reports whether the model returns log probabilities. TopLogprobs reports whether
	// it also returns those of the likeliest tokens.
	Logprobs, TopLogprobs bool
	// Scoring is the best way in which the model may be asked for the log probabilities of given
	// tokens. The engine may refuse it, and take a lower one.
	Scoring Scoring
	// Structured reports whether the model supports structured outputs. StructuredOutputs is the
	// backend that enforces them if no setting names one. StructuredOutputs is empty if the
	// backend makes no difference.
	Structured        bool
	StructuredOutputs string
	// Defaults are the sampling options that the contract itself sets.
	Defaults Sampling
}

// Decoder turns one job's responses into steps. It keeps state between them. Only one goroutine
// may use it.
type Decoder interface {
	// Decode fills step. The slices of step may point into the response or into the decoder, and
	// are valid until the next call.
	Decode(resp *Response, step *Step) error
}

// Step is the content that a [Decoder] read from one response.
type Step struct {
	// Text is the text that this response adds.
	Text []byte
	// Logprobs are the log probabilities of this response's tokens.
	Logprobs []TokenLogprob
	// Finish is the model's finish reason, once it is known.
	Finish FinishReason
	// PromptTokens is the number of tokens in the job's prompt, 0 if this response has no count.
	PromptTokens int
	// CachedTokens is the number of the prompt's tokens that the engine found in a cache, or nil if
	// this response doesn't have it.
	CachedTokens *int
	// OutputTokens is the number of tokens that this response adds. If no response has a count,
	// the model's tokenizer counts.
	OutputTokens int
	// Sequence is the index of the text among those that the model generates for one request,
	// from 0. Each sequence becomes a choice.
	Sequence int
	// Others are the steps of further texts in the same response. There are usually none.
	Others []Step
}

// Job is one inference of a request: one choice.
type Job struct {
	// Index is the index of the choice, in the answer's order.
	Index int
	// Prompt is the text to continue.
	Prompt string
	// PromptIndex is the index of the prompt in the request.
	PromptIndex int
	// Seed is the seed of this choice. It is derived from the request's and differs for each
	// choice.
	Seed *int64
	// PromptTokens is the number of the prompt's tokens as the engine counts them, or 0 if only
	// the engine knows it. The engine isn't asked for a number that is known.
	PromptTokens int
	// MaxTokens limits this job's answer, in tokens.
	MaxTokens int
	// Images are the request's images. They are nil if there are none or the model takes none.
	Images *Images
	// Candidates are the tokens whose log probabilities the job asks for, or nil.
	Candidates *Candidates
	// LoRA is the adapter to use, or nil. A backend that doesn't support adapters refuses it with
	// [Unsupported] on the field model.
	LoRA *LoRA
}

// TemplateToolUse is the named template for chats with tools.
const TemplateToolUse = "tool_use"

// TemplateSource is a chat template with the tokens that it may print besides the messages.
type TemplateSource struct {
	// Source is the unnamed template: Jinja as Hugging Face uses it, or Liquid.
	Source string
	Liquid bool
	// Named are the model's further templates, such as [TemplateToolUse].
	Named map[string]string
	// Tokens are the strings of special tokens, by their names in templates, such as bos_token.
	Tokens map[string]string
	// ImageToken stands for an image in the prompt if the template doesn't print images. The
	// placeholder {n} is replaced by the image's number, from 1. If ImageToken is empty, images
	// that the template doesn't print are refused. [NoImageToken] leaves them out of the prompt.
	ImageToken string
}

// NoImageToken is the value for models that insert images into the prompt themselves.
const NoImageToken = "none"

// Template renders a chat into a prompt. It may be used concurrently.
type Template interface {
	// Render renders the request's messages and tools. The error is an [*Error] if the messages
	// are at fault.
	Render(ctx context.Context, req *Request) (string, error)
}
