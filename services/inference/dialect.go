package inference

import "encoding/json"

// Detected is a dialect that a chat template teaches, and the texts in the template by
// which it was recognized.
type Detected struct{ Name, Sign string }

// Parser tells the text, the reasoning and the tool calls of one choice apart as
// the text comes. It serves one goroutine. An answer that made a call and that the
// engine ended with stop has the finish reason tool_calls. A call that the end of
// the text cut off has arguments that are cut off too.
type Parser interface {
	// Parse reads more of the text. The pieces hold until the next call and may
	// point into text. Once the state is not ParseOpen there is no more to read.
	Parse(text []byte) ([]Piece, ParseState)
	// Finish gives what was held back, at the end of the text.
	Finish() []Piece
}

// ParseState tells whether a [Parser] reads on.
type ParseState uint8

// The states of a parser.
const (
	ParseOpen     ParseState = iota
	ParseComplete            // the one call that was asked for is made: finish_reason tool_calls
	ParseTooLong             // the calls have more bytes than allowed: finish_reason length
)

// PieceKind tells what a [Piece] adds to.
type PieceKind uint8

// The kinds of pieces.
const (
	PieceText PieceKind = iota
	PieceReasoning
	PieceCall
)

// Piece is one step of an answer's parse. Pieces come in the order of the text.
type Piece struct {
	Kind PieceKind
	// Text adds to the answer's text or reasoning.
	Text []byte
	// Call adds to a tool call, when Kind is PieceCall.
	Call ToolCallPiece
}

// ParserOptions say how to read one choice's answer.
type ParserOptions struct {
	// Tools is the dialect of tool calls; "" leaves them in the text.
	Tools string
	// Reasoning is the dialect of reasoning; "" leaves it in the text.
	Reasoning string
	// Choice of the request. One that demands a call was constrained:
	// its answer is JSON, whatever the dialect.
	Choice ToolChoice
	// Either is set where the answer was constrained to one call or to the client's own
	// schema: it is JSON, whatever the dialect.
	Either bool
	// Definitions of the tools offered to the model, as in [Request].
	Definitions []json.RawMessage
	// Single stops after one call.
	Single bool
	// Prompt that the answer goes on from: it may have opened or closed the
	// reasoning. Its end suffices.
	Prompt string
	// ID gives a call the random part of its id: 24 ASCII letters and digits or more,
	// as crypto/rand.Text gives them. Required.
	ID func() string
	// MaxBytes of tool calls in the answer, 0 for DefaultMaxParseBytes.
	MaxBytes int
}

// DefaultMaxParseBytes bounds the tool calls of one answer, as Triton's own
// --max-tool-call-parse-bytes does.
const DefaultMaxParseBytes = 128 << 10

// ToolChoice says whether the model may, must or must not call tools.
type ToolChoice struct {
	Mode ToolMode
	// Name of the one tool of ToolNamed.
	Name string
}

// ToolMode is the kind of a [ToolChoice].
type ToolMode uint8

// The modes of tool choice.
const (
	ToolAuto ToolMode = iota
	ToolNone
	ToolRequired
	ToolNamed
)
