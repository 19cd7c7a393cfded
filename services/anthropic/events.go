package anthropic

import (
	"encoding/json"
	"strconv"
	"time"

	api "github.com/trident-inference/trident/gen/go/anthropic"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
)

// eventWriter converts Deltas to the events of a message: blocks open and close when the kind of output
// changes. The constant part of a block's events is encoded once per block.
type eventWriter struct {
	*ending

	begun  bool
	index  int    // position of the open block, or of the next one
	kind   string // type of the open block, or "" if none is open
	head   []byte // encoded prefix of the open block's delta events, up to the text
	thinks []byte // the reasoning of the open block
	args   []byte // the arguments of the open block's call
	finish inference.FinishReason
	stopAt string    // the stop sequence at which the message ended
	pinged time.Time // the last event of keepAlive, or the start of the wait for it
}

// The event that keeps the connection open.
const (
	pingEvent = "ping"
	pingData  = `{"type":"ping"}`
)

// appendEvent appends an event with its name and its data.
func appendEvent(dst []byte, name string, data []byte) []byte {
	dst = append(append(dst, "event: "...), name...)
	dst = append(append(dst, "\ndata: "...), data...)
	return append(dst, "\n\n"...)
}

// begin appends the start of the message before the first other event.
func (e *eventWriter) begin(dst []byte, d *inference.Delta) []byte {
	if e.begun {
		return dst
	}
	e.begun = true
	m := e.started()
	m.Usage = e.usage(&inference.Usage{PromptTokens: d.PromptTokens})
	return appendEvent(dst, "message_start", encoded(api.MessageStartEvent{Type: api.MessageStartEventTypeMessageStart, Message: *m}))
}

// appendDelta appends the events of a Delta.
func (e *eventWriter) appendDelta(dst []byte, d *inference.Delta) []byte {
	dst = e.begin(dst, d)
	if d.Finish != inference.FinishNone {
		e.finish, e.stopAt = d.Finish, d.StopSequence
	}
	if e.warms {
		return dst
	}
	if len(d.Reasoning) > 0 {
		dst = e.open(dst, blockThinking, []byte(`{"type":"thinking","thinking":"","signature":""}`))
		e.thinks = append(e.thinks, d.Reasoning...)
		if !e.omits {
			dst = e.piece(dst, d.Reasoning)
		}
	}
	if len(d.Text) > 0 {
		dst = e.open(dst, blockText, []byte(`{"type":"text","text":"","citations":null}`))
		dst = e.piece(dst, d.Text)
	}
	for i := range d.ToolCalls {
		dst = e.call(dst, &d.ToolCalls[i])
	}
	return dst
}

// call starts the block of a call, whose first piece has its id, or keeps a piece of its arguments. The pieces of
// a call are not interleaved with others. The arguments are sent when they are complete: Anthropic's SDKs parse
// each prefix of them and fail on invalid JSON.
func (e *eventWriter) call(dst []byte, piece *inference.ToolCallPiece) []byte {
	if piece.ID != "" {
		dst = e.close(dst)
		dst = e.open(dst, blockToolUse, toolUseBlock(piece.ID, piece.Name, []byte("{}")))
	}
	e.args = append(e.args, piece.Arguments...)
	return dst
}

// open opens a block of the type, unless it is open.
func (e *eventWriter) open(dst []byte, kind string, block []byte) []byte {
	if e.kind == kind {
		return dst
	}
	dst = e.close(dst)
	e.kind = kind
	start := append(e.prefix(`{"type":"content_block_start","index":`), `,"content_block":`...)
	dst = appendEvent(dst, "content_block_start", append(append(start, block...), '}'))
	deltas := map[string]string{
		blockText: `"text_delta","text":"`, blockThinking: `"thinking_delta","thinking":"`, blockToolUse: `"input_json_delta","partial_json":"`,
	}
	e.head = append(e.prefix("event: content_block_delta\ndata: "+`{"type":"content_block_delta","index":`), `,"delta":{"type":`+deltas[kind]...)
	return dst
}

// prefix returns a text with the position of the block.
func (e *eventWriter) prefix(text string) []byte {
	return strconv.AppendInt([]byte(text), int64(e.index), 10)
}

// piece appends more of the open block.
func (e *eventWriter) piece(dst, text []byte) []byte {
	dst = append(dst, e.head...)
	dst = jsonstring.AppendEscaped(dst, text)
	return append(dst, "\"}}\n\n"...)
}

// close closes the open block, if there is one. Reasoning ends with its signature, and a call with its arguments.
func (e *eventWriter) close(dst []byte) []byte {
	if e.kind == "" {
		return dst
	}
	switch e.kind {
	case blockToolUse:
		dst = e.piece(dst, e.input(e.args))
		e.args = e.args[:0]
	case blockThinking:
		signature := append(e.prefix(`{"type":"content_block_delta","index":`), `,"delta":{"type":"signature_delta","signature":`...)
		signature = append(append(signature, jsonstring.Quoted(e.seal(e.thinks))...), "}}"...)
		dst, e.thinks = appendEvent(dst, "content_block_delta", signature), nil
	}
	dst = appendEvent(dst, "content_block_stop", append(e.prefix(`{"type":"content_block_stop","index":`), '}'))
	e.kind = ""
	e.index++
	return dst
}

// appendEnd appends the end of a successful message.
func (e *eventWriter) appendEnd(dst []byte, u *inference.Usage) []byte {
	dst = e.close(e.begin(dst, &inference.Delta{PromptTokens: u.PromptTokens}))
	reason, sequence := e.stop(e.finish, e.stopAt, u)
	dst = appendEvent(dst, "message_delta", encoded(api.MessageDeltaEvent{
		Type:  api.MessageDeltaEventTypeMessageDelta,
		Delta: api.MessageDelta{StopReason: api.MessageDeltaStopReason(reason), StopSequence: sequence},
		Usage: e.usage(u),
	}))
	return appendEvent(dst, "message_stop", []byte(`{"type":"message_stop"}`))
}

// encoded encodes values of strings, numbers and JSON, which can't fail.
func encoded(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return raw
}
