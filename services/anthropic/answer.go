package anthropic

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	api "github.com/trident-inference/trident/gen/go/anthropic"
	"github.com/trident-inference/trident/services/eventstream"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/strictjson"
)

// answer runs the turn and writes the message or its events. It returns an error that occurs before the
// first byte of the response.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, t *turn) error {
	e := &ending{turn: t, seal: h.sealer(r.Context())}
	deltas := h.service.Generate(r.Context(), &t.model, t.req)
	if t.req.Stream {
		return writeEvents(w, server.RecordOf(r.Context()), &eventWriter{ending: e}, deltas)
	}
	all, err := inference.Collect(deltas, 1)
	if err != nil {
		return err
	}
	if len(all.Choices) > 1 {
		return e.severalTexts()
	}
	message, err := e.message(all)
	if err != nil {
		return err
	}
	e.record(server.RecordOf(r.Context()), &all.Usage)
	writeJSON(w, message)
	return nil
}

// sealer returns the function that seals reasoning for the client of a request.
func (h *Handler) sealer(ctx context.Context) func(text []byte) string {
	owner := inference.ClientName(ctx)
	return func(text []byte) string {
		sealed, err := h.seals.Seal(string(text), owner)
		if err != nil { // the process's cryptography is broken
			return ""
		}
		return sealed
	}
}

// ending has what the message and its events have in common.
type ending struct {
	*turn

	seal func(text []byte) string
	// malformed is the number of calls with arguments that aren't a JSON object.
	malformed int
}

// record records the numbers of tokens and of malformed calls.
func (e *ending) record(rec *server.Record, u *inference.Usage) {
	rec.PromptTokens, rec.CompletionTokens, rec.MalformedCalls = u.PromptTokens, u.CompletionTokens, e.malformed
}

// severalTexts returns the error of a model that writes several texts for one request. A message has one.
func (e *ending) severalTexts() error {
	return inference.Unsupported("model", "the model `%s` writes several texts for a request, and a message has one: use POST /v1/chat/completions", e.req.Model)
}

// usage returns the numbers of tokens. Tokens that the engine found in a cache aren't input tokens.
func (e *ending) usage(u *inference.Usage) api.Usage {
	usage := api.Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, CacheReadInputTokens: u.CachedTokens}
	if e.warms {
		usage.OutputTokens = 0
	}
	if u.CachedTokens != nil {
		usage.InputTokens -= *u.CachedTokens
	}
	return usage
}

// stop returns why the message ended, and the stop sequence.
func (e *ending) stop(finish inference.FinishReason, sequence string, u *inference.Usage) (reason string, text *string) {
	switch finish {
	case inference.FinishToolCalls:
		reason = "tool_use"
	case inference.FinishContentFilter:
		reason = "refusal"
	case inference.FinishLength:
		reason = "max_tokens"
		if card := e.model.Card; card != nil && card.ContextLength > 0 && u.CompletionTokens < *e.req.Sampling.MaxTokens && u.PromptTokens+u.CompletionTokens >= card.ContextLength {
			reason = "model_context_window_exceeded"
		}
	case inference.FinishStop, inference.FinishNone:
		reason = "end_turn"
		if sequence != "" {
			reason, text = "stop_sequence", &sequence
		}
	}
	if e.warms {
		return "max_tokens", nil
	}
	return reason, text
}

// message returns the non-streaming response.
func (e *ending) message(all *inference.Answer) (*api.Message, error) {
	c := &all.Choices[0]
	m := e.started()
	reason, sequence := e.stop(c.Finish, c.StopSequence, &all.Usage)
	m.StopReason, m.StopSequence = new(api.MessageStopReason(reason)), sequence
	m.Usage = e.usage(&all.Usage)
	if e.warms {
		return m, nil
	}
	if len(c.Reasoning) > 0 {
		block := api.ThinkingBlock{Type: blockThinking, Signature: e.seal(c.Reasoning)}
		if !e.omits {
			block.Thinking = string(c.Reasoning)
		}
		if err := appendBlock(m, block, (*api.ContentBlock).FromThinkingBlock); err != nil {
			return nil, err
		}
	}
	if len(c.Text) > 0 {
		if err := appendBlock(m, api.TextBlock{Type: blockText, Text: string(c.Text)}, (*api.ContentBlock).FromTextBlock); err != nil {
			return nil, err
		}
	}
	for i := range c.ToolCalls {
		var block api.ContentBlock
		if err := block.UnmarshalJSON(toolUseBlock(c.ToolCalls[i].ID, c.ToolCalls[i].Name, e.input(c.ToolCalls[i].Arguments))); err != nil {
			return nil, err
		}
		m.Content = append(m.Content, block)
	}
	return m, nil
}

func appendBlock[T any](m *api.Message, v T, from func(*api.ContentBlock, T) error) error {
	var block api.ContentBlock
	err := from(&block, v)
	m.Content = append(m.Content, block)
	return err
}

// started returns the message before any content.
func (e *ending) started() *api.Message {
	return &api.Message{ID: e.req.ID, Type: api.MessageTypeMessage, Role: roleAssistant, Model: e.req.Model, Content: []api.ContentBlock{}}
}

// toolUseBlock returns the JSON of a call.
func toolUseBlock(id, name string, input []byte) []byte {
	block := append([]byte(`{"type":"tool_use","id":`), jsonstring.Quoted(id)...)
	block = append(append(block, `,"name":`...), jsonstring.Quoted(name)...)
	return append(append(append(block, `,"input":`...), input...), '}')
}

// input returns the arguments of a call as an object. Arguments that aren't one are a text in an object.
func (e *ending) input(arguments []byte) json.RawMessage {
	raw, malformed, err := new(strictjson.Reader).Arguments(string(arguments))
	if err == nil && !malformed {
		return raw
	}
	e.malformed++
	wrapped := append([]byte(`{"`+invalidKey+`":"`), jsonstring.AppendEscaped(nil, arguments)...)
	return append(wrapped, `"}`...)
}

// writeEvents sends the Deltas as they arrive. Deltas that are ready together are sent in one write. An
// error before the first event is returned, with nothing written; a later one becomes an event.
func writeEvents(w http.ResponseWriter, rec *server.Record, e *eventWriter, deltas iter.Seq2[inference.Delta, error]) error {
	out := eventstream.New(w)
	defer out.Close()
	var delta inference.Delta // the loop's own variable would be allocated for each Delta
	for d, err := range deltas {
		if err == nil && d.Index > 0 {
			err = e.severalTexts()
		}
		if err != nil && !out.Started() {
			return err
		}
		if err != nil {
			rec.Error = err
			out.Buf = appendEvent(out.Buf, "error", errorData(e.clientsNames(err), rec.RequestID))
			out.Send(false)
			return nil
		}
		if delta = d; !e.write(&out, rec, &delta) {
			rec.Error = inference.AsError(context.Canceled)
			return nil
		}
	}
	return nil
}

func errorData(err error, requestID string) []byte {
	_, object, _ := describe(err)
	return errorBody(object, requestID)
}

// write reports false if the client has disconnected.
func (e *eventWriter) write(out *eventstream.Writer, rec *server.Record, delta *inference.Delta) bool {
	switch {
	case delta.Idle:
		out.Buf = appendEvent(e.begin(out.Buf, delta), pingEvent, []byte(pingData))
		return out.Send(false)
	case delta.Usage != nil:
		out.Buf = e.appendEnd(out.Buf, delta.Usage)
		e.record(rec, delta.Usage)
		return out.Send(false)
	case delta.Empty():
		// An empty Delta only reports that nothing follows at once, so that the buffer must be sent.
		return len(out.Buf) == 0 || out.Send(delta.More)
	}
	out.Buf = e.appendDelta(out.Buf, delta)
	if len(out.Buf) == 0 {
		return e.keepAlive(out)
	}
	first := rec.FirstToken.IsZero()
	if first {
		rec.FirstToken = time.Now()
	}
	// The first token is sent at once, even if more Deltas are ready.
	return out.Send(delta.More && !first)
}

// pingInterval is the time between events while the model writes what the client gets later or not at all: the
// arguments of a call, or reasoning that the client doesn't want.
const pingInterval = 15 * time.Second

// keepAlive sends an event if the client has got nothing for pingInterval although the model isn't idle. It
// reports false if the client has disconnected. A call is continued by an empty piece of its arguments, because
// Anthropic's SDKs hide pings from programs, which may take a long call for a stalled one.
func (e *eventWriter) keepAlive(out *eventstream.Writer) bool {
	now := time.Now()
	if e.pinged.IsZero() {
		e.pinged = now
	}
	if now.Sub(e.pinged) < pingInterval {
		return true
	}
	e.pinged = now
	if e.kind == blockToolUse {
		out.Buf = e.piece(out.Buf, nil)
	} else {
		out.Buf = appendEvent(out.Buf, pingEvent, []byte(pingData))
	}
	return out.Send(false)
}
