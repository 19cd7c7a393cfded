package inference

// FinishReason is the reason why a choice ended, as a value of OpenAI's API.
type FinishReason string

// The finish reasons. The empty reason means that the choice isn't finished.
const (
	FinishNone          FinishReason = ""
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishContentFilter FinishReason = "content_filter"
)

// Delta is one step of an answer: text of one choice, or the usage that ends the stream. The slices
// of a Delta belong to the producer and are valid until the consumer requests the next Delta. Copy
// slices that must live longer.
type Delta struct {
	// Index is the index of the choice.
	Index int
	// Text is appended to the choice. It is complete UTF-8. Only at the very end of a choice may
	// it contain bytes that can't become valid any more.
	Text []byte
	// Reasoning is appended to the model's reasoning. Like Text, it is complete UTF-8.
	Reasoning []byte
	// ToolCalls extend the choice's tool calls, in order.
	ToolCalls []ToolCallPiece
	// Prompt are the log probabilities of the prompt's tokens, in the first Delta of each choice of a
	// request that needs them.
	Prompt *PromptScore
	// Logprobs are the log probabilities of this step's tokens, if the client requested them.
	Logprobs []TokenLogprob
	// PromptTokens and OutputTokens are the tokens of the choice's prompt and of its answer so far.
	// They are 0 as long as they aren't known.
	PromptTokens, OutputTokens int
	// Finish is the finish reason of the choice. It is set once per choice, in the choice's last
	// Delta.
	Finish FinishReason
	// StopSequence is the stop sequence that ended the choice, in the Delta with Finish. It is empty if
	// there was none, if the model didn't report it, or without [Sampling.ReportStop].
	StopSequence string
	// Usage is set once, without other content, in the last Delta of a successful request.
	Usage *Usage
	// Idle marks a Delta without content. It is sent while the model is idle, so that the
	// frontend can keep the connection alive.
	Idle bool
	// More is true if the producer already has more of the answer: the frontend then writes this
	// Delta without flushing. If the rest has nothing to show yet, an empty Delta without More
	// follows, to flush.
	More bool
}

// Empty reports whether the Delta has no content. It may still ask the frontend to flush.
func (d *Delta) Empty() bool {
	return len(d.Text) == 0 && len(d.Reasoning) == 0 && len(d.ToolCalls) == 0 && d.Logprobs == nil && d.Prompt == nil && d.Usage == nil && d.Finish == FinishNone && !d.Idle
}

// ToolCallPiece is one step of a tool call. The pieces of a call follow each other: no other content of the
// choice is between them.
type ToolCallPiece struct {
	// Index is the index of the call within its choice, from 0.
	Index int
	// ID and Name are set in the first piece of a call only.
	ID, Name string
	// Arguments is appended to the JSON of the call's arguments.
	Arguments []byte
}

// TokenLogprob is a sampled token with its log probability (natural logarithm).
type TokenLogprob struct {
	Token   string
	ID      int // -1 if the model doesn't report it
	Logprob float64
	// Top are the likeliest alternatives at this position, best first.
	Top []TopLogprob
}

// MinLogprob is the log probability of a token with the probability 0, as in OpenAI's API.
const MinLogprob = -9999

// TopLogprob is one alternative at a position.
type TopLogprob struct {
	Token   string
	ID      int
	Logprob float64
}

// Usage has the token counts of a request over all its choices. The prompt is counted once.
type Usage struct {
	PromptTokens     int
	CompletionTokens int
	// CachedTokens is the number of prompt tokens that the engine found in a cache, or nil if the engine
	// doesn't report it.
	CachedTokens *int
	// Unknown reports that some tokens were not counted, because neither the engine nor a tokenizer
	// counts them. The numbers are then those of the counted tokens.
	Unknown bool
}
