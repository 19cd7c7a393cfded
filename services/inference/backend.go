package inference

import (
	"context"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// Target is the model that a [Backend] encodes requests for.
type Target struct {
	// Name of the model.
	Name string
	// Config is nil unless the model is ready.
	Config *kserve.ModelConfig
	// Tokenizer is nil where it isn't known: then the engine counts.
	Tokenizer Tokenizer
	// StructuredOutputs is the backend by which the engine holds to constraints, as
	// [SettingStructuredOutputs] has it; empty where nothing depends on it.
	StructuredOutputs string
}

// Backend translates between the text vocabulary and the tensors of one kind of
// model. Backends are pure: no network, clock or logger; all methods may be
// called concurrently.
type Backend interface {
	// Name of the kind, as users know it: vllm, tensorrtllm …
	Name() string
	// Tasks that a model with this configuration can do; 0 when the model
	// doesn't speak this backend's contract.
	Tasks(config *kserve.ModelConfig) Task
	// Extras tells what a model with this configuration takes beside a text.
	Extras(config *kserve.ModelConfig) Extras
	// Encode makes the inference request of one job. It sends only inputs that
	// the target's configuration declares, and refuses by name, with an [*Error],
	// what the model can't honour.
	Encode(target *Target, req *Request, job *Job) (*kserve.ModelInferRequest, error)
	// Decoder reads the responses of one job, in order.
	Decoder(target *Target, req *Request) Decoder
	// Explain makes more of a model's error text than the engine can: which field
	// of the request is at fault, and how. What it doesn't know it returns as it
	// is.
	Explain(req *Request, err *Error) *Error
}

// Constrainer is a [Backend] that knows which constraints engines hold answers to.
type Constrainer interface {
	// Constrain returns a constraint in the form in which the model's engine takes it. An
	// [*Error] names what the engine doesn't hold answers to, and the setting that allows it.
	Constrain(target *Target, c *Structured) (*Structured, error)
}

// Extras is what a model takes beside a text, and how.
type Extras struct {
	Images ImageInput
	LoRA   LoRAForm
	// Logprobs tells whether it gives log probabilities, and TopLogprobs whether of the
	// likeliest tokens, too.
	Logprobs, TopLogprobs bool
	// Structured tells whether it holds to a form of the answer, and StructuredOutputs by
	// which backends where no setting says: empty where that makes no difference.
	Structured        bool
	StructuredOutputs string
	// Defaults are the sampling options that the contract itself names.
	Defaults Sampling
}

// Decoder turns one job's responses into steps. It keeps state between them and
// serves one goroutine.
type Decoder interface {
	// Decode fills step, whose slices may point into the response or into the
	// decoder: they hold until the next call.
	Decode(resp *Response, step *Step) error
}

// Step is what a [Decoder] read from one response.
type Step struct {
	// Text that this response adds.
	Text []byte
	// Logprobs of this response's tokens.
	Logprobs []TokenLogprob
	// Finish is the model's reason, once known.
	Finish FinishReason
	// Embedding vector, as the model gave it.
	Embedding []float32
	// PromptTokens of the job, 0 when this response doesn't tell.
	PromptTokens int
	// OutputTokens that this response adds; where no response tells, the model's
	// tokenizer counts.
	OutputTokens int
	// Sequence numbers the text among those that the model gives for the one
	// request, from 0. Each becomes a choice.
	Sequence int
	// Others are the steps of further texts in the same response; usually none.
	Others []Step
}

// Job is one inference of a request: one choice, or one input to embed.
type Job struct {
	// Index of the choice or input, in the answer's order.
	Index int
	// Prompt to generate from.
	Prompt string
	// PromptIndex numbers the prompt, or the input, among the request's.
	PromptIndex int
	// Input to embed.
	Input *Input
	// Seed of this choice: the request's, made different for each choice.
	Seed *int64
	// MaxTokens bounds this job's answer; 0 for embeddings.
	MaxTokens int
	// Images of the request; nil for none. Where the model takes none there are none.
	Images *Images
	// LoRA adapter to answer with; nil for none. A backend that can't refuses it as
	// [Unsupported] in model.
	LoRA *LoRA
}

// TemplateToolUse is the named template for chats with tools.
const TemplateToolUse = "tool_use"

// TemplateSource is a chat template with what it may print besides the messages.
type TemplateSource struct {
	// Source of the template without a name: Jinja as Hugging Face has it, or Liquid.
	Source string
	Liquid bool
	// Named are the model's further templates, such as [TemplateToolUse].
	Named map[string]string
	// Tokens are texts of special tokens by their names in templates, such as
	// bos_token.
	Tokens map[string]string
	// ImageToken stands for a picture in the prompt where the template shows none; {n} in
	// it is the picture's number, from 1. Empty refuses pictures that the template doesn't
	// show, [NoImageToken] leaves them out of the prompt.
	ImageToken string
}

// NoImageToken is for models that put pictures into the prompt themselves.
const NoImageToken = "none"

// Template renders a chat into a prompt; it may be used concurrently.
type Template interface {
	// Render the request's messages and tools. Errors are [*Error] where the
	// messages are at fault.
	Render(ctx context.Context, req *Request) (string, error)
}
