package openai

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/trident-inference/trident/services/inference"
)

// eventStream writes server-sent events. What doesn't change from event to
// event is encoded once a request; an event costs its own bytes, and those that
// are ready together leave in one write.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     *[]byte
	started bool
	failed  bool
}

// maxBatch is the size at which waiting events are written though more are ready.
const maxBatch = 16 << 10

// maxPooled keeps the buffers of odd requests out of the pool.
const maxPooled = 64 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }} //nolint:gochecknoglobals // a pool is shared by nature

func newEventStream(w http.ResponseWriter) *eventStream {
	return &eventStream{w: w, control: http.NewResponseController(w), buf: buffers.Get().(*[]byte)} //nolint:forcetypeassert // the pool's own
}

// close gives the buffer back.
func (s *eventStream) close() {
	if cap(*s.buf) <= maxPooled {
		*s.buf = (*s.buf)[:0]
		buffers.Put(s.buf)
	}
	s.buf = nil
}

// start sends nothing yet, but from here on the answer is a stream.
func (s *eventStream) start() {
	if s.started {
		return
	}
	s.started = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // proxies must not collect events
	s.w.WriteHeader(http.StatusOK)
}

// send writes what is in the buffer unless more is coming at once. It is false
// when the client has gone.
func (s *eventStream) send(more bool) bool {
	if more && len(*s.buf) < maxBatch {
		return true
	}
	if s.failed {
		return false
	}
	s.start()
	_, err := s.w.Write(*s.buf)
	*s.buf = (*s.buf)[:0]
	if err == nil {
		err = s.control.Flush()
	}
	s.failed = err != nil
	return !s.failed
}

// comment keeps the connection alive; clients skip it.
func (s *eventStream) comment() bool {
	*s.buf = append(*s.buf, ": keep-alive\n\n"...)
	return s.send(false)
}

// chunkHead is what all chunks of an answer share.
type chunkHead struct {
	text  []byte // up to the list of choices
	usage bool   // every chunk has a usage, null but in the last
}

func newChunkHead(id, object string, created int64, model, fingerprint string, usage bool) chunkHead {
	text := append([]byte(`data: {"id":`), quoted(id)...)
	text = append(text, `,"object":`...)
	text = append(text, quoted(object)...)
	text = append(text, `,"created":`...)
	text = strconv.AppendInt(text, created, 10)
	text = append(text, `,"model":`...)
	text = append(text, quoted(model)...)
	if fingerprint != "" {
		text = append(text, `,"system_fingerprint":`...)
		text = append(text, quoted(fingerprint)...)
	}
	text = append(text, `,"choices":[`...)
	return chunkHead{text: text, usage: usage}
}

// end closes a chunk whose choice has been written.
func (h *chunkHead) end(dst []byte) []byte {
	if h.usage {
		return append(dst, `],"usage":null}`+"\n\n"...)
	}
	return append(dst, "]}\n\n"...)
}

// appendError adds an event that is the error.
func (*chunkHead) appendError(dst []byte, err error) []byte {
	_, object, _ := describe(err)
	dst = append(dst, "data: "...)
	dst = append(dst, errorBody(object)...)
	return append(dst, "\n\n"...)
}

// appendEnd adds the chunk that has no choices but the usage, if it was asked for.
func (h *chunkHead) appendEnd(dst []byte, u *inference.Usage) []byte {
	const done = "data: [DONE]\n\n"
	if !h.usage {
		return append(dst, done...)
	}
	dst = append(dst, h.text...)
	dst = append(dst, `],"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.PromptTokens), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.CompletionTokens), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.PromptTokens+u.CompletionTokens), 10)
	return append(dst, "}}\n\n"+done...)
}

// chunkWriter appends chat completion chunks.
type chunkWriter struct {
	chunkHead

	roles []bool // by choice: the chunk with the role has been sent
}

func newChunkWriter(id string, created int64, model, fingerprint string, choices int, usage bool) *chunkWriter {
	return &chunkWriter{chunkHead: newChunkHead(id, "chat.completion.chunk", created, model, fingerprint, usage), roles: make([]bool, choices)}
}

func quoted(s string) []byte {
	return append(appendEscaped([]byte{'"'}, []byte(s)), '"')
}

// appendDelta adds the chunks of one Delta: the role before the choice's first
// content, the reasoning, the content, the calls, the finish reason.
func (c *chunkWriter) appendDelta(dst []byte, d *inference.Delta) []byte {
	c.roles = reaching(c.roles, d.Index)
	if !c.roles[d.Index] {
		c.roles[d.Index] = true
		dst = c.open(dst, d.Index)
		content := `""`
		if len(d.ToolCalls) > 0 { // there may be no text at all
			content = "null"
		}
		dst = append(dst, `"role":"assistant","content":`...)
		dst = append(dst, content...)
		dst = append(dst, `,"refusal":null`...)
		dst = c.close(dst, nil, inference.FinishNone)
	}
	if len(d.Reasoning) > 0 {
		dst = c.open(dst, d.Index)
		dst = append(dst, `"reasoning_content":"`...)
		dst = appendEscaped(dst, d.Reasoning)
		dst = append(dst, '"')
		dst = c.close(dst, nil, inference.FinishNone)
	}
	if len(d.Text) > 0 || len(d.Logprobs) > 0 {
		dst = c.open(dst, d.Index)
		dst = append(dst, `"content":"`...)
		dst = appendEscaped(dst, d.Text)
		dst = append(dst, '"')
		dst = c.close(dst, d.Logprobs, inference.FinishNone)
	}
	if len(d.ToolCalls) > 0 {
		dst = c.open(dst, d.Index)
		dst = appendCalls(dst, d.ToolCalls)
		dst = c.close(dst, nil, inference.FinishNone)
	}
	if d.Finish != inference.FinishNone {
		dst = c.open(dst, d.Index)
		dst = c.close(dst, nil, d.Finish)
	}
	return dst
}

// appendCalls adds pieces of calls; the first piece of each has its id and name.
func appendCalls(dst []byte, pieces []inference.ToolCallPiece) []byte {
	dst = append(dst, `"tool_calls":[`...)
	for i := range pieces {
		piece := &pieces[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"index":`...)
		dst = strconv.AppendInt(dst, int64(piece.Index), 10)
		if piece.ID != "" {
			dst = append(dst, `,"id":`...)
			dst = append(dst, quoted(piece.ID)...)
			dst = append(dst, `,"type":"function","function":{"name":`...)
			dst = append(dst, quoted(piece.Name)...)
			dst = append(dst, ',')
		} else {
			dst = append(dst, `,"function":{`...)
		}
		dst = append(dst, `"arguments":"`...)
		dst = appendEscaped(dst, piece.Arguments)
		dst = append(dst, `"}}`...)
	}
	return append(dst, ']')
}

func (c *chunkWriter) open(dst []byte, index int) []byte {
	dst = append(dst, c.text...)
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	return append(dst, `,"delta":{`...)
}

func (c *chunkWriter) close(dst []byte, logprobs []inference.TokenLogprob, finish inference.FinishReason) []byte {
	dst = append(dst, `},"logprobs":`...)
	dst = appendLogprobs(dst, logprobs)
	return c.end(appendFinish(dst, finish))
}

// appendFinish ends a choice.
func appendFinish(dst []byte, finish inference.FinishReason) []byte {
	if finish == inference.FinishNone {
		return append(dst, `,"finish_reason":null}`...)
	}
	dst = append(dst, `,"finish_reason":"`...)
	dst = append(dst, finish...)
	return append(dst, `"}`...)
}

func appendLogprobs(dst []byte, logprobs []inference.TokenLogprob) []byte {
	if logprobs == nil {
		return append(dst, "null"...)
	}
	content, err := json.Marshal(tokenLogprobs(logprobs))
	if err != nil { // infinities are the adapters' to replace
		return append(dst, "null"...)
	}
	dst = append(dst, `{"content":`...)
	dst = append(dst, content...)
	return append(dst, `,"refusal":null}`...)
}

const hexDigits = "0123456789abcdef"

// appendEscaped adds text as the inside of a JSON string. Bytes that are no
// UTF-8 become U+FFFD.
func appendEscaped(dst, text []byte) []byte {
	start := 0
	for i := 0; i < len(text); {
		b := text[i]
		if b >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, text[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if b >= ' ' && b != '"' && b != '\\' {
			i++
			continue
		}
		dst = append(dst, text[start:i]...)
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
		}
		i++
		start = i
	}
	return append(dst, text[start:]...)
}

// completionChunks appends the chunks of plain completions.
type completionChunks struct {
	chunkHead

	top     int   // alternatives at each position
	offsets []int // by choice: characters that have been sent
}

// appendDelta adds one chunk.
func (c *completionChunks) appendDelta(dst []byte, d *inference.Delta) []byte {
	dst = append(dst, c.text...)
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(d.Index), 10)
	dst = append(dst, `,"text":"`...)
	dst = appendEscaped(dst, d.Text)
	dst = append(dst, `","logprobs":`...)
	dst = c.appendLogprobs(dst, d)
	return c.end(appendFinish(dst, d.Finish))
}

func (c *completionChunks) appendLogprobs(dst []byte, d *inference.Delta) []byte {
	if d.Logprobs == nil {
		return append(dst, "null"...)
	}
	c.offsets = reaching(c.offsets, d.Index)
	lists, err := json.Marshal(addLogprobs(nil, d.Logprobs, c.top, &c.offsets[d.Index]))
	if err != nil { // infinities are the adapters' to replace
		return append(dst, "null"...)
	}
	return append(dst, lists...)
}
