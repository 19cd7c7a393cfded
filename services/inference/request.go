// Package inference is the vocabulary of Trident. It has requests, messages, deltas, usage, errors,
// the requests of tensors, the address of a request's client, and the API that received a request.
// It has the interfaces of engines, backends and other parts with several implementations. Of this
// module it imports only services/budget and generated code, and most packages import it. Code that
// processes requests doesn't belong here: see admission, catalog, metering and serving.
package inference

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Task is the operation that a request selects.
type Task uint8

// The tasks that a model can do. A model's card lists its tasks.
const (
	TaskGenerate   Task = 1 << iota // generates text from messages or a prompt
	TaskEmbed                       // computes one vector for each input
	TaskTokenEmbed                  // computes one vector for each token of each input
	TaskSparse                      // computes a sparse vector for each input: weights of tokens
	TaskScore                       // computes a score for each pair of texts
	TaskClassify                    // computes the probabilities of classes for each input
)

// TasksEncode are the tasks of an [EncodeRequest].
const TasksEncode = TaskEmbed | TaskTokenEmbed | TaskSparse | TaskScore | TaskClassify

// Request is one generation, independent of any frontend's wire format and of any backend's
// tensors. Either Messages or Prompts are used. The model's chat template renders Messages. Prompts
// go to the model unchanged. A Request is read-only once it has been passed to the service.
// [EncodeRequest] is the request of the other tasks.
type Request struct {
	// ID identifies the request in logs and in Triton's request id.
	ID string
	// Model is the name that the client used.
	Model string
	// Task is [TaskGenerate].
	Task Task

	// Messages of a chat, oldest first.
	Messages []Message
	// Tools are the function definitions offered to the model, one JSON object each. The bytes
	// are the client's own, because the order of keys affects the prompt.
	Tools []json.RawMessage
	// ToolChoice specifies whether one of Tools may or must be called.
	ToolChoice ToolChoice
	// SingleCall ends the answer after one call.
	SingleCall bool
	// Unenforced is called with the path of a field that has no effect with this model, and the
	// reason. Its error refuses the request. Nil accepts all such fields.
	Unenforced func(field, reason string) error
	// ReasoningEffort is the amount of reasoning before the answer, as a value of OpenAI's API.
	// If it is empty, the model's default applies. Chat templates that support it pass it to the
	// model. With other templates, any value except EffortDefault is refused.
	ReasoningEffort string
	// NoReasoning turns the model's reasoning off if its chat template has a switch for that. Other
	// templates ignore it. ReasoningEffort must then be empty.
	NoReasoning bool
	// TemplateArgs are extra variables for the chat template: a JSON object whose key order is
	// kept, or nil.
	TemplateArgs json.RawMessage

	// Documents are the documents for chat templates that read them: a JSON list of objects whose
	// key order is kept, or nil. With other templates they are refused.
	Documents json.RawMessage

	// Closed leaves the assistant's next turn unopened in the rendered prompt. Continue leaves
	// the last message open and requires Closed.
	Closed, Continue bool

	// FitContext lowers [Sampling.MaxTokens] to the room that the prompt leaves in the model's context.
	// Otherwise a request for more is refused.
	FitContext bool

	// Prompts of plain completions. Each prompt is continued N times. The choices of the first
	// prompt come first.
	Prompts []Input
	// Echo puts the prompt before each continuation. With Sampling.Logprobs, the prompt's tokens have log
	// probabilities, too.
	Echo bool
	// BestOf is the number of continuations generated for each prompt. The N continuations with
	// the highest average token likelihood are returned. 0 means N.
	BestOf int

	// Sampling has the options of token sampling.
	Sampling Sampling
	// N is the number of independent answers (choices); 0 means 1.
	N int
	// Stream requests the tokens one by one from the model. Without Stream, the model may send a
	// non-streaming response, which costs less.
	Stream bool
	// Priority is the scheduling priority that the client requested. It is nil for the model's
	// default.
	Priority *int
}

// Values of [Request.ReasoningEffort] with a meaning beyond the template.
const (
	EffortDefault = "medium" // OpenAI's default for reasoning models
	EffortNone    = "none"
)

// TextParam returns the request field that has the text, for errors.
func (r *Request) TextParam() string {
	if r.Messages != nil {
		return "messages"
	}
	return "prompt"
}

// Input is one text or one list of token ids.
type Input struct {
	Text     string
	TokenIDs []int // token ids of the input; if not nil, the ids replace Text
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
	// NoContent is true if the content was null or absent. Some templates distinguish this from
	// the empty string.
	NoContent bool
	// Refusal is the assistant's earlier refusal, empty for none.
	Refusal string
	// Reasoning is the assistant's reasoning before its text, empty if there is none. Some
	// templates show it to the model again.
	Reasoning string
	// ToolCalls are the calls that the assistant made.
	ToolCalls []ToolCall
	// ToolCallID is the id of the call that a tool message answers.
	ToolCallID string
}

// LastText returns the text that a model continues: the content, or the last text of a list. It
// returns nil if there is none.
func (m *Message) LastText() *string {
	switch {
	case m.NoContent:
		return nil
	case m.Parts == nil:
		return &m.Text
	}
	for i := range slices.Backward(m.Parts) {
		if m.Parts[i].Kind != PartImage {
			return &m.Parts[i].Text
		}
	}
	return nil
}

// PartKind distinguishes the kinds of content parts.
type PartKind string

// The kinds of content parts in OpenAI's chat messages.
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
	// Text is the content of text and refusal parts.
	Text string
	// URL of an image part: a data: URI or the URL of an image.
	URL string
	// Param is the path of the image in the client's request, for errors. If it is empty, the path is
	// that of a chat's message.
	Param string
}

// JoinTexts returns parts that are all texts as one text, which all chat templates can print, and
// no parts. Otherwise it returns the parts as they are, and no text.
func JoinTexts(parts []Part) (string, []Part) {
	var b strings.Builder
	for i := range parts {
		if parts[i].Kind != PartText {
			return "", parts
		}
		b.WriteString(parts[i].Text)
	}
	return b.String(), nil
}

// ToolCall is a call that an assistant message made.
type ToolCall struct {
	ID   string
	Name string
	// Arguments is a JSON object, unless Malformed. The bytes are the client's own, because the
	// order of keys affects the prompt.
	Arguments json.RawMessage
	// Malformed reports that Arguments, as a model wrote them, are not a JSON object with
	// distinct keys: they are cut off, repeat a key or have another type.
	Malformed bool
}

// Sampling has the options that control the choice of the next token. A nil pointer means that
// the client didn't set the option and the model's default applies. Names and meanings are those
// of vLLM's SamplingParams, which include OpenAI's.
type Sampling struct {
	Temperature       *float64
	TopP              *float64
	TopK              *int
	MinP              *float64
	Seed              *int64
	FrequencyPenalty  *float64
	PresencePenalty   *float64
	RepetitionPenalty *float64
	// MaxTokens limits the answer. Nil means the remaining context length. 0 is allowed with
	// [Request.Echo].
	MaxTokens *int
	MinTokens *int
	// Stop are the stop sequences. The answer ends before the first one.
	Stop         []string
	StopTokenIDs []int
	// IncludeStop keeps the stop sequence in the answer.
	IncludeStop *bool
	// ReportStop sets [Delta.StopSequence] at the end of the answer.
	ReportStop bool
	IgnoreEOS  *bool
	BadWords   []string
	// AllowedTokenIDs are the only tokens that may be sampled. Nil allows all.
	AllowedTokenIDs []int
	// SkipSpecialTokens leaves special tokens out of the text.
	SkipSpecialTokens          *bool
	SpacesBetweenSpecialTokens *bool
	// KeepSpecialTokens is the name of the parser setting that needs special tokens in the text:
	// [SettingToolParser] or [SettingReasoningParser]. Special tokens then stay in the text for
	// any value of SkipSpecialTokens. KeepSpecialTokens is empty if no parser needs special
	// tokens. Clients don't set it.
	KeepSpecialTokens string
	// TruncatePromptTokens keeps only the last n tokens of the prompt.
	TruncatePromptTokens *int
	// LogitBias is added to the logits of tokens, by token id.
	LogitBias map[int]float64
	// Logprobs requests the log probability of each sampled token and of this many alternatives.
	// Nil requests none.
	Logprobs *int
	// PromptLogprobs requests the log probability of each token of the prompt and of this many
	// alternatives. Nil requests none.
	PromptLogprobs *int
	// Structured constrains the answer. Nil means no constraint.
	Structured *Structured
}

// Or returns the sampling with the temperature, top_p, top_k, min_p and penalties of the defaults where
// they aren't set.
func (s *Sampling) Or(defaults *Sampling) Sampling {
	filled := *s
	filled.Temperature = cmp.Or(s.Temperature, defaults.Temperature)
	filled.TopP = cmp.Or(s.TopP, defaults.TopP)
	filled.TopK = cmp.Or(s.TopK, defaults.TopK)
	filled.MinP = cmp.Or(s.MinP, defaults.MinP)
	filled.PresencePenalty = cmp.Or(s.PresencePenalty, defaults.PresencePenalty)
	filled.FrequencyPenalty = cmp.Or(s.FrequencyPenalty, defaults.FrequencyPenalty)
	filled.RepetitionPenalty = cmp.Or(s.RepetitionPenalty, defaults.RepetitionPenalty)
	return filled
}

// KeepsStop reports whether the model must not remove the stop sequence from its text: the client asked
// for it, or the service has to find it.
func (s *Sampling) KeepsStop() bool {
	return s.IncludeStop != nil && *s.IncludeStop || s.ReportStop && len(s.Stop) > 0
}

// Structured is a constraint on the form of the answer.
type Structured struct {
	// Kind is json (a JSON schema), json_object, regex, choice, grammar or structural_tag, as in
	// vLLM's structured outputs.
	Kind string
	// Value is the constraint as JSON: the schema, the pattern as a string, the list of choices,
	// the grammar as a string, or true.
	Value json.RawMessage
	// Param is the request field that has the constraint, for error messages.
	Param string
	// Calls is the number of tools if the constraint is a schema that accepts either a call of a
	// tool or JSON of the client's own schema. The calls of the tools are then the first
	// alternatives of the schema. Calls is 0 for other constraints.
	Calls int
	// Native reports that the constraint is on forced tool calls in the dialect of the model.
	Native bool
}
