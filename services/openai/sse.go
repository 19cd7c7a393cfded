package openai

import (
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"time"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/openai/internal/wire"
	"github.com/trident-inference/trident/services/server"
)

// chunkHead has the common parts of all chunks of a response.
type chunkHead struct {
	text  []byte              // encoded start of each chunk, up to the list of choices
	model *catalog.Resolution // nil once text contains the fingerprint
	usage StreamUsage
	// prompt and output are the token counts of the chunk's choice so far, 0 if they aren't known.
	prompt, output int
}

// StreamUsage states which chunks of a stream have token counts.
type StreamUsage uint8

const (
	// UsageNone sends no token counts.
	UsageNone StreamUsage = iota
	// UsageLast sends the token counts in a chunk at the end. The usage of the other chunks is null.
	UsageLast
	// UsageEach also sends the token counts so far of the chunk's choice in each other chunk, as
	// soon as the engine reports them.
	UsageEach
)

// usageOf returns the usage that the stream options request. As in vLLM, continuous counts need
// include_usage.
func usageOf(options *api.ChatCompletionStreamOptions) StreamUsage {
	switch {
	case options == nil || !decode.Value(options.IncludeUsage):
		return UsageNone
	case decode.Value(options.ContinuousUsageStats):
		return UsageEach
	}
	return UsageLast
}

func newChunkHead(id, object string, created int64, model *catalog.Resolution, usage StreamUsage) chunkHead {
	text := append([]byte(`data: {"id":`), jsonstring.Quoted(id)...)
	text = append(text, `,"object":`...)
	text = append(text, jsonstring.Quoted(object)...)
	text = append(text, `,"created":`...)
	text = strconv.AppendInt(text, created, 10)
	text = append(text, `,"model":`...)
	text = append(text, jsonstring.Quoted(model.Name)...)
	return chunkHead{text: text, model: model, usage: usage}
}

// begin starts a chunk. At the first chunk the model that generates the response is known.
func (h *chunkHead) begin(dst []byte) []byte {
	if h.model != nil {
		if fingerprint := h.model.Fingerprint(); fingerprint != "" {
			h.text = append(h.text, `,"system_fingerprint":`...)
			h.text = append(h.text, jsonstring.Quoted(fingerprint)...)
		}
		h.text, h.model = append(h.text, `,"choices":[`...), nil
	}
	return append(dst, h.text...)
}

// end closes a chunk after its choice.
func (h *chunkHead) end(dst []byte) []byte {
	switch {
	case h.usage == UsageNone:
		return append(dst, "]}\n\n"...)
	case h.usage == UsageEach && h.prompt > 0 && h.output > 0:
		dst = append(dst, `],"usage":`...)
		dst = appendUsage(dst, h.prompt, h.output)
		return append(dst, "}\n\n"...)
	}
	return append(dst, `],"usage":null}`+"\n\n"...)
}

// count sets the token counts of the chunks of a Delta.
func (h *chunkHead) count(d *inference.Delta) { h.prompt, h.output = d.PromptTokens, d.OutputTokens }

func appendUsage(dst []byte, prompt, output int) []byte {
	dst = append(dst, `{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(prompt), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(output), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(prompt+output), 10)
	return append(dst, '}')
}

// appendCached adds the number of cached tokens to the object that appendUsage has written, if it is known.
func appendCached(dst []byte, cached *int) []byte {
	if cached == nil {
		return dst
	}
	dst = append(dst[:len(dst)-1], `,"prompt_tokens_details":{"cached_tokens":`...)
	dst = strconv.AppendInt(dst, int64(*cached), 10)
	return append(dst, "}}"...)
}

// AppendError appends an error event.
func (*chunkHead) AppendError(dst []byte, err error) []byte {
	_, object, _ := wire.Describe(err)
	dst = append(dst, "data: "...)
	dst = append(dst, wire.ErrorBody(object)...)
	return append(dst, "\n\n"...)
}

// AppendEnd appends the chunk with the usage, if it was requested, and [DONE].
func (h *chunkHead) AppendEnd(dst []byte, u *inference.Usage) []byte {
	const done = "data: [DONE]\n\n"
	if h.usage == UsageNone {
		return append(dst, done...)
	}
	dst = h.begin(dst)
	dst = append(dst, `],"usage":`...)
	if u.Unknown {
		dst = append(dst, "null"...)
	} else {
		dst = appendUsage(dst, u.PromptTokens, u.CompletionTokens)
		dst = appendCached(dst, u.CachedTokens)
	}
	return append(dst, "}\n\n"+done...)
}

// chunkWriter appends chat completion chunks.
type chunkWriter struct {
	chunkHead

	roles  []bool // reports whether the chunk with the role was sent, by choice
	custom customTools
	inputs map[int]*customInput // inputs of open calls of custom tools, by choice
}

func newChunkWriter(id string, created int64, model *catalog.Resolution, choices int, usage StreamUsage) *chunkWriter {
	return &chunkWriter{chunkHead: newChunkHead(id, "chat.completion.chunk", created, model, usage), roles: make([]bool, choices)}
}

// AppendDelta appends the chunks of one Delta: the role before the choice's first content, the
// reasoning, the content, the calls, the finish reason.
func (c *chunkWriter) AppendDelta(dst []byte, d *inference.Delta) []byte {
	c.count(d)
	c.roles = reaching(c.roles, d.Index)
	if !c.roles[d.Index] {
		c.roles[d.Index] = true
		dst = c.open(dst, d.Index)
		content := `""`
		if len(d.ToolCalls) > 0 { // there may be no text
			content = "null"
		}
		dst = append(dst, `"role":"assistant","content":`...)
		dst = append(dst, content...)
		dst = append(dst, `,"refusal":null`...)
		dst = c.close(dst, nil, inference.FinishNone)
	}
	if len(d.Reasoning) > 0 {
		dst = c.open(dst, d.Index)
		dst = append(dst, `"reasoning":"`...)
		start := len(dst)
		dst = jsonstring.AppendEscaped(dst, d.Reasoning)
		end := len(dst)
		dst = append(dst, `","reasoning_content":"`...)
		dst = append(dst, dst[start:end]...)
		dst = append(dst, '"')
		dst = c.close(dst, nil, inference.FinishNone)
	}
	if len(d.Text) > 0 || len(d.Logprobs) > 0 {
		dst = c.open(dst, d.Index)
		dst = append(dst, `"content":"`...)
		dst = jsonstring.AppendEscaped(dst, d.Text)
		dst = append(dst, '"')
		dst = c.close(dst, d.Logprobs, inference.FinishNone)
	}
	switch {
	case len(d.ToolCalls) > 0 && c.custom != nil:
		dst = c.appendCustomCalls(dst, d)
	case len(d.ToolCalls) > 0:
		dst = c.open(dst, d.Index)
		dst = appendCalls(dst, d.ToolCalls)
		dst = c.close(dst, nil, inference.FinishNone)
	}
	if d.Finish != inference.FinishNone {
		dst = c.endInput(dst, d.Index)
		dst = c.open(dst, d.Index)
		dst = c.close(dst, nil, d.Finish)
	}
	return dst
}

// appendCalls appends fragments of calls. The first fragment of each call has its id and name.
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
			dst = append(dst, jsonstring.Quoted(piece.ID)...)
			dst = append(dst, `,"type":"function","function":{"name":`...)
			dst = append(dst, jsonstring.Quoted(piece.Name)...)
			dst = append(dst, ',')
		} else {
			dst = append(dst, `,"function":{`...)
		}
		dst = append(dst, `"arguments":"`...)
		dst = jsonstring.AppendEscaped(dst, piece.Arguments)
		dst = append(dst, `"}}`...)
	}
	return append(dst, ']')
}

func (c *chunkWriter) open(dst []byte, index int) []byte {
	dst = c.begin(dst)
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
	content, err := json.Marshal(wire.TokenLogprobs(logprobs))
	if err != nil { // the adapters replace infinities
		return append(dst, "null"...)
	}
	dst = append(dst, `{"content":`...)
	dst = append(dst, content...)
	return append(dst, `,"refusal":null}`...)
}

// completionChunks appends the chunks of completions.
type completionChunks struct {
	chunkHead

	top     int   // alternatives per token
	echo    bool  // the text starts with the prompt
	offsets []int // number of characters sent, by choice
}

// AppendDelta appends one chunk.
func (c *completionChunks) AppendDelta(dst []byte, d *inference.Delta) []byte {
	c.count(d)
	dst = c.begin(dst)
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(d.Index), 10)
	dst = append(dst, `,"text":"`...)
	dst = jsonstring.AppendEscaped(dst, d.Text)
	dst = append(dst, `","logprobs":`...)
	dst = c.appendLogprobs(dst, d)
	return c.end(appendFinish(dst, d.Finish))
}

func (c *completionChunks) appendLogprobs(dst []byte, d *inference.Delta) []byte {
	prompt := d.Prompt
	if !c.echo {
		prompt = nil
	}
	if d.Logprobs == nil && prompt == nil {
		return append(dst, "null"...)
	}
	c.offsets = reaching(c.offsets, d.Index)
	var all *api.CompletionLogprobs
	if prompt != nil {
		all = addPrompt(all, prompt, c.top, &c.offsets[d.Index])
	}
	lists, err := json.Marshal(addLogprobs(all, d.Logprobs, c.top, &c.offsets[d.Index]))
	if err != nil { // the adapters replace infinities
		return append(dst, "null"...)
	}
	return append(dst, lists...)
}

// ChatEvents writes a streamed chat completion: server-sent events of chat.completion.chunk
// objects, ended by [DONE]. It is for one response.
type ChatEvents struct {
	// ID is the id of the response, which every chunk has.
	ID string
	// Model has the name that the client sent and the fingerprint, unless that is empty. Every
	// chunk has both. The model that generates the response is known when the first Delta
	// arrives.
	Model *catalog.Resolution
	// Choices is the number of requested choices, at least 1. A model may return more.
	Choices int
	// Usage states which chunks have token counts.
	Usage StreamUsage
	// Record receives the time of the first token, the usage, and an error after the first
	// event.
	Record *server.Record

	custom customTools
}

// Write sends the Deltas as they arrive. Deltas that are ready together are sent in one write;
// none is delayed to wait for others. An error before the first event is returned, with nothing
// written; a later one becomes an event.
func (e *ChatEvents) Write(w http.ResponseWriter, deltas iter.Seq2[inference.Delta, error]) error {
	chunks := newChunkWriter(e.ID, time.Now().Unix(), e.Model, e.Choices, e.Usage)
	chunks.custom = e.custom
	return wire.WriteEvents(w, e.Record, chunks, deltas)
}

// reaching extends a list by choice up to an index. A model that returns several texts per
// request makes more choices than requested.
func reaching[T any](list []T, index int) []T {
	for len(list) <= index {
		var zero T
		list = append(list, zero)
	}
	return list
}
