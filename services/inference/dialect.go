package inference

import (
	"encoding/json"
	"slices"
)

// Detected is a dialect that a chat template teaches, and the strings in the template that
// identify it.
type Detected struct{ Name, Sign string }

// Parser separates the text, the reasoning and the tool calls of one choice while it is streamed.
// Only one goroutine may use it. If the answer has a call and the engine's finish reason is stop,
// the finish reason becomes tool_calls. If the end of the text cuts off a call, its arguments are
// incomplete.
type Parser interface {
	// Parse reads more of the text. The pieces are valid until the next call and may point into
	// text. If the state isn't ParseOpen, the parser needs no further text.
	Parse(text []byte) ([]Piece, ParseState)
	// Finish returns the withheld pieces at the end of the text.
	Finish() []Piece
}

// ParseState reports whether a [Parser] continues to read.
type ParseState uint8

// The states of a [Parser]: it continues to read, or the reason why it has stopped.
const (
	ParseOpen     ParseState = iota
	ParseComplete            // the one requested call is complete: finish_reason tool_calls
	ParseTooLong             // the calls exceed the maximum number of bytes: finish_reason length
)

// PieceKind is the part of an answer that a [Piece] extends.
type PieceKind uint8

// The kinds of the pieces into which a parser divides an answer.
const (
	PieceText PieceKind = iota
	PieceReasoning
	PieceCall
)

// Piece is one step of an answer's parse. Pieces come in the order of the text.
type Piece struct {
	Kind PieceKind
	// Text extends the answer's text or reasoning.
	Text []byte
	// Call extends a tool call if Kind is PieceCall.
	Call ToolCallPiece
}

// ParserOptions configure the parsing of one choice.
type ParserOptions struct {
	// Tools is the dialect of tool calls. If it is empty, calls stay in the text.
	Tools string
	// Reasoning is the dialect of reasoning. If it is empty, reasoning stays in the text.
	Reasoning string
	// Choice is the tool choice of the request. A forced tool call was constrained, so that the
	// answer is JSON in every dialect unless Native is set.
	Choice ToolChoice
	// Native reports that a forced tool call was constrained to the dialect of Tools.
	Native bool
	// Either reports that the answer was constrained to one call or to the client's own schema. The
	// answer is JSON in every dialect.
	Either bool
	// Definitions are the tools offered to the model, as in [Request].
	Definitions []json.RawMessage
	// Single ends parsing after one call.
	Single bool
	// Prompt is the prompt that the answer continues. It may have opened or closed the reasoning.
	// The last part of the prompt suffices.
	Prompt string
	// Continued is the text of the message that the answer continues, or nil if the answer starts a
	// message. The answer starts in the reasoning only if the text opens it and doesn't close it.
	Continued *string
	// ID returns the random part of a call's id: at least 24 ASCII letters and digits, as
	// crypto/rand.Text returns them. Required.
	ID func() string
	// MaxBytes limits the tool calls of the answer. 0 means DefaultMaxParseBytes.
	MaxBytes int
}

// DefaultMaxParseBytes is the default limit for the tool calls of one answer, in bytes. Triton's own
// flag --max-tool-call-parse-bytes sets the same limit.
const DefaultMaxParseBytes = 128 << 10

// ToolChoice specifies whether the model may, must or must not call tools.
type ToolChoice struct {
	Mode ToolMode
	// Name of the tool that ToolNamed selects.
	Name string
	// Allowed are the names of the tools that may be called if the mode is ToolAuto or
	// ToolRequired, sorted and each once. The prompt has all tools. Nil allows all tools.
	Allowed []string
	// Input is a constraint on the input of the tool that ToolNamed selects: its only argument, a
	// string with the name InputArgument. The answer is then the input itself, and its parser writes
	// the JSON of the arguments. If Input is nil, the answer is the JSON of the arguments.
	Input *Structured
}

// Allows reports whether the model may call the tool with this name.
func (c *ToolChoice) Allows(name string) bool {
	if c.Allowed == nil {
		return true
	}
	_, found := slices.BinarySearch(c.Allowed, name)
	return found
}

// InputArgument is the name of the argument of a function that stands for a tool whose input is text.
const InputArgument = "input"

// ToolMode is the kind of a [ToolChoice].
type ToolMode uint8

// The modes of tool choice.
const (
	ToolAuto ToolMode = iota
	ToolNone
	ToolRequired
	ToolNamed
)
