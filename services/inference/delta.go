package inference

// FinishReason says why a choice ended, in OpenAI's words.
type FinishReason string

// The finish reasons. The empty one means that the choice goes on.
const (
	FinishNone          FinishReason = ""
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishContentFilter FinishReason = "content_filter"
)

// Delta is one step of an answer: some text of one choice, one embedding, or
// the usage that closes the stream. Its slices belong to the producer until the
// consumer asks for the next Delta: copy what must live longer.
type Delta struct {
	// Index of the choice, or of the embedded input.
	Index int
	// Text adds to the choice. It is whole UTF-8, except that bytes which can't
	// become valid any more may come at the very end of a choice.
	Text []byte
	// Reasoning adds to what the model thought before its text, as whole as Text.
	Reasoning []byte
	// ToolCalls add to the choice's tool calls, in order.
	ToolCalls []ToolCallPiece
	// Logprobs of the tokens of this step, when asked for.
	Logprobs []TokenLogprob
	// Finish is set once a choice, in its last Delta.
	Finish FinishReason
	// Embedding is the vector of input Index, of unit length.
	Embedding []float32
	// Usage comes once, alone, in the last Delta of a request that succeeded.
	Usage *Usage
	// Idle marks a Delta without content, sent after a while of silence so that
	// the frontend can keep the connection alive.
	Idle bool
	// More is true when the producer already holds more of the answer: a frontend
	// writes this one without flushing. Where that turns out to be nothing that
	// can be shown yet, an empty Delta without More follows, to flush.
	More bool
}

// Empty tells that there is nothing to show: at most something to flush.
func (d *Delta) Empty() bool {
	return len(d.Text) == 0 && len(d.Reasoning) == 0 && len(d.ToolCalls) == 0 && d.Logprobs == nil && d.Embedding == nil && d.Usage == nil && d.Finish == FinishNone && !d.Idle
}

// ToolCallPiece is a step of one tool call.
type ToolCallPiece struct {
	// Index of the call within its choice, from 0.
	Index int
	// ID and Name stand in the first piece of a call and in no other.
	ID, Name string
	// Arguments adds to the JSON text of the call's arguments.
	Arguments []byte
}

// TokenLogprob is a sampled token with its log probability (natural logarithm).
type TokenLogprob struct {
	Token   string
	ID      int // -1 where the model doesn't tell
	Logprob float64
	// Top are the likeliest alternatives at this position, best first.
	Top []TopLogprob
}

// TopLogprob is one alternative at a position.
type TopLogprob struct {
	Token   string
	ID      int
	Logprob float64
}

// Usage counts a request's tokens, over all its choices; the prompt counts once.
type Usage struct {
	PromptTokens     int
	CompletionTokens int
}
