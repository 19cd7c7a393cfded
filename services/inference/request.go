// Package inference is the vocabulary of Trident: requests, messages, deltas, usage and errors,
// the requests of tensors, who sends requests and by which surface, and the interfaces of
// engines, backends and what else has several implementations. It is a leaf that everything
// imports. What acts on requests doesn't belong here: see admission, catalog, metering and
// serving.
package inference

import "encoding/json"

// Task is what a request asks of a model.
type Task uint8

// The tasks. A model's card says which of them it can do.
const (
	TaskGenerate Task = 1 << iota // text from messages or a prompt
	TaskEmbed                     // one vector per input
)

// Request is one generation or embedding, free of any frontend's wire format
// and of any backend's tensors. Exactly one of Messages, Prompts and Inputs is
// used: Messages are rendered by the model's chat template, Prompts go to the
// model as they are, Inputs are embedded. A Request is read-only once it has been
// handed to the service.
type Request struct {
	// ID names the request in logs and in Triton's request id.
	ID string
	// Model is the name the client used.
	Model string
	// Task selects the operation.
	Task Task

	// Messages of a chat, oldest first.
	Messages []Message
	// Tools are the function definitions offered to the model, each one JSON
	// object. The bytes are the client's own: key order reaches the prompt.
	Tools []json.RawMessage
	// ToolChoice says whether one of Tools is called.
	ToolChoice ToolChoice
	// SingleCall ends the answer after one call.
	SingleCall bool
	// ReasoningEffort is how much to think before the answer, in OpenAI's words; empty
	// for what the model does by itself. Chat templates that know of it tell the
	// model; for others anything but EffortDefault is refused.
	ReasoningEffort string
	// TemplateArgs are extra variables for the chat template (a JSON object,
	// key order kept), nil for none.
	TemplateArgs json.RawMessage

	// Closed leaves the assistant's next turn unopened in the rendered prompt, and
	// Continue the last message open. Continue needs Closed.
	Closed, Continue bool

	// Prompts of plain completions: each is continued N times. The choices of the
	// first one come first.
	Prompts []Input
	// Echo puts the prompt before each continuation.
	Echo bool
	// BestOf makes this many continuations of each prompt and keeps the N whose
	// tokens are the likeliest on average; 0 means N.
	BestOf int

	// Inputs to embed, one vector each.
	Inputs []Input
	// Dimensions cuts embedding vectors to their first n components, which are
	// renormalised to unit length; 0 keeps them whole.
	Dimensions int

	// Sampling steers generation.
	Sampling Sampling
	// N is the number of independent answers (choices); 0 means 1.
	N int
	// Stream asks the model for its tokens one by one. Without it the model may
	// answer in one piece, which costs less.
	Stream bool
	// Priority is the scheduling priority that the client asked for; nil for the
	// model's default.
	Priority *int
}

// Words of [Request.ReasoningEffort] that mean something beyond a template.
const (
	EffortDefault = "medium" // OpenAI's, of models that think
	EffortNone    = "none"
)

// TextParam is the request field that holds the text, for errors about it.
func (r *Request) TextParam() string {
	switch {
	case r.Task == TaskEmbed:
		return "input"
	case r.Messages != nil:
		return "messages"
	}
	return "prompt"
}

// Input is one text, or one list of token ids.
type Input struct {
	Text     string
	TokenIDs []int // used when not nil
}

// Message is one turn of a chat.
type Message struct {
	// Role is system, developer, user, assistant, tool or function.
	Role string
	// Name is the optional participant name.
	Name string
	// Text is the content when it came as a string.
	Text string
	// Parts is the content when it came as a list; nil otherwise.
	Parts []Part
	// NoContent is true when the content was null or absent, which some
	// templates tell apart from the empty string.
	NoContent bool
	// Refusal is the assistant's earlier refusal, empty for none.
	Refusal string
	// Reasoning that the assistant wrote before its text, empty for none. Some
	// templates show it to the model again.
	Reasoning string
	// ToolCalls an assistant made.
	ToolCalls []ToolCall
	// ToolCallID says which call a tool message answers.
	ToolCallID string
}

// PartKind tells content parts apart.
type PartKind string

// The content parts of OpenAI's chat messages.
const (
	PartText    PartKind = "text"
	PartRefusal PartKind = "refusal"
	PartImage   PartKind = "image_url"
	PartAudio   PartKind = "input_audio"
	PartFile    PartKind = "file"
)

// Part is one piece of a message's content.
type Part struct {
	Kind PartKind
	// Text of text and refusal parts.
	Text string
	// URL of an image part: a data: URI or an address.
	URL string
}

// ToolCall is a call that an assistant message made.
type ToolCall struct {
	ID   string
	Name string
	// Arguments is a JSON object, unless Malformed. The bytes are the client's own: key
	// order reaches the prompt.
	Arguments json.RawMessage
	// Malformed reports that Arguments, as a model wrote them, are not a JSON object with
	// distinct keys: they are cut off, repeat a key or have another type.
	Malformed bool
}

// Sampling steers how the next token is chosen. A nil pointer means that the
// client said nothing and the model's default holds. Names and meanings are
// those of vLLM's SamplingParams, which OpenAI's are a part of.
type Sampling struct {
	Temperature       *float64
	TopP              *float64
	TopK              *int
	MinP              *float64
	Seed              *int64
	FrequencyPenalty  *float64
	PresencePenalty   *float64
	RepetitionPenalty *float64
	// MaxTokens bounds the answer; nil means the room left in the context.
	MaxTokens *int
	MinTokens *int
	// Stop ends the answer before any of these texts.
	Stop         []string
	StopTokenIDs []int
	// IncludeStop keeps the stop text in the answer.
	IncludeStop *bool
	IgnoreEOS   *bool
	BadWords    []string
	// AllowedTokenIDs are the only ones that may be sampled; nil allows all.
	AllowedTokenIDs []int
	// SkipSpecialTokens leaves special tokens out of the text.
	SkipSpecialTokens          *bool
	SpacesBetweenSpecialTokens *bool
	// KeepSpecialTokens names the setting of the parser that reads the answer by special
	// tokens, [SettingToolParser] or [SettingReasoningParser]. Then they stay in the text,
	// whatever SkipSpecialTokens says. Empty for none. Clients don't set it.
	KeepSpecialTokens string
	// TruncatePromptTokens keeps only this many tokens of the prompt, the last.
	TruncatePromptTokens *int
	// LogitBias adds to a token's logit, by token id.
	LogitBias map[int]float64
	// Logprobs asks for each sampled token's log probability and those of this
	// many alternatives; nil asks for none.
	Logprobs *int
	// Structured constrains the answer; nil leaves it free.
	Structured *Structured
}

// Structured is a constraint on the answer's form.
type Structured struct {
	// Kind is json (a JSON schema), json_object, regex, choice, grammar or
	// structural_tag, as in vLLM's structured outputs.
	Kind string
	// Value is the constraint as JSON: the schema, the pattern as a string, the
	// list of choices, the grammar as a string, or true.
	Value json.RawMessage
	// Param is the request field it came from, for error messages.
	Param string
	// Calls is the number of tools whose calls are the first alternatives of a schema that
	// takes a call or what the client's schema takes; 0 for other constraints.
	Calls int
}
