package responses

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
	"github.com/trident-inference/trident/services/openai/internal/toolform"
	"github.com/trident-inference/trident/services/openai/internal/wire"
	"github.com/trident-inference/trident/services/wirecode"
)

// eventWriter converts Deltas to the items of a response and appends their events. A
// non-streaming response is the last event of its stream. The constant part of an
// item's delta events is encoded once per item.
type eventWriter struct {
	// response is the current state. Its output has the completed items.
	response *api.Response
	// body is the encoded response once it is complete.
	body []byte
	// items are the completed items.
	items []*item
	// tools leads from the functions that the model calls to the tools of the request.
	tools *toolbox
	// tokens counts the tokens of a text. It returns 0 if it can't count them.
	tokens func(text string) int
	// onBegin is called with the response in progress before the client receives its first event, and
	// keep with the complete response before the client receives its last one. Both may be nil.
	onBegin func(body []byte)
	keep    func(*eventWriter) error

	reasoning reasoningForm // form in which the client gets reasoning

	begun    bool
	ended    bool // the response has been completed
	sequence int
	finish   inference.FinishReason
	thought  int // number of reasoning tokens

	item *item  // the open item, or nil
	text []byte // text of the open item so far
	head []byte // encoded prefix of the open item's delta events, up to the text
	// input decodes the input of an open call of a custom tool; decoded is its buffer.
	input   toolform.Input
	decoded []byte
	// logprobs of text that isn't complete yet: a part of a character is a token,
	// too
	logprobs []api.ChatCompletionTokenLogprob
}

// AppendDelta opens and closes items when the kind of output changes.
func (w *eventWriter) AppendDelta(dst []byte, d *inference.Delta) []byte {
	dst = w.begin(dst)
	if d.Logprobs != nil {
		w.logprobs = append(w.logprobs, wire.TokenLogprobs(d.Logprobs)...)
	}
	if len(d.Reasoning) > 0 {
		dst = w.open(dst, itemReasoning)
		w.logprobs = nil // only text has log probabilities
		dst = w.appendPiece(dst, d.Reasoning)
	}
	if len(d.Text) > 0 || len(w.logprobs) > 0 && w.item != nil && w.item.kind == itemMessage {
		dst = w.open(dst, itemMessage)
		dst = w.appendPiece(dst, d.Text)
	}
	for i := range d.ToolCalls {
		dst = w.appendCall(dst, &d.ToolCalls[i])
	}
	if d.Finish != inference.FinishNone {
		w.finish = d.Finish
	}
	return dst
}

// appendCall appends a fragment of a call. The first fragment of each call has its
// id.
func (w *eventWriter) appendCall(dst []byte, piece *inference.ToolCallPiece) []byte {
	if piece.ID != "" {
		dst = w.close(dst, statusCompleted)
		w.logprobs = nil
		dst = w.start(dst, w.call(piece))
	}
	if len(piece.Arguments) == 0 || w.item == nil {
		return dst
	}
	if w.item.kind != itemCustomCall {
		return w.appendPiece(dst, piece.Arguments)
	}
	w.decoded = w.input.Append(w.decoded[:0], piece.Arguments)
	if len(w.decoded) == 0 {
		return dst
	}
	return w.appendPiece(dst, w.decoded)
}

// call returns the item of a call: that of the tool whose function the model called.
func (w *eventWriter) call(piece *inference.ToolCallPiece) *item {
	it := &item{kind: itemCall, callID: piece.ID, name: piece.Name}
	t := w.tools.called(piece.Name)
	if t == nil {
		return it
	}
	it.name, it.namespace = t.name, t.namespace
	if t.custom {
		it.kind, w.input = itemCustomCall, toolform.Input{}
	}
	return it
}

// finishInput appends what is left of a custom tool's input at the end of its call.
func (w *eventWriter) finishInput(dst []byte) []byte {
	if w.item.kind == itemCustomCall {
		if w.decoded = w.input.Finish(w.decoded[:0]); len(w.decoded) > 0 {
			return w.appendPiece(dst, w.decoded)
		}
	}
	return dst
}

// AppendEnd ends a successful response with its last item and then the whole
// response. A response without output has a message without text.
func (w *eventWriter) AppendEnd(dst []byte, u *inference.Usage) []byte {
	dst = w.begin(dst)
	if w.item == nil && len(w.items) == 0 {
		dst = w.open(dst, itemMessage)
	}
	r := w.response
	r.Status = statusCompleted
	switch w.finish {
	case inference.FinishLength:
		r.Status, r.IncompleteDetails = statusIncomplete, &api.ResponseIncompleteDetails{Reason: "max_output_tokens"}
	case inference.FinishContentFilter:
		r.Status, r.IncompleteDetails = statusIncomplete, &api.ResponseIncompleteDetails{Reason: "content_filter"}
	default:
		r.CompletedAt = new(time.Now().Unix())
	}
	dst = w.close(dst, r.Status)
	if !u.Unknown {
		r.Usage = &api.ResponseUsage{
			InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, TotalTokens: u.PromptTokens + u.CompletionTokens,
			OutputTokensDetails: api.ResponseOutputTokensDetails{ReasoningTokens: min(w.thought, u.CompletionTokens)},
		}
		if u.CachedTokens != nil {
			r.Usage.InputTokensDetails.CachedTokens = *u.CachedTokens
		}
	}
	w.body = encoded(r)
	w.ended = true
	if w.keep != nil && w.keep(w) != nil {
		r.Store = false // it isn't stored: the store is away
		w.body = encoded(r)
	}
	return w.appendLifecycle(dst, w.body)
}

// AppendError ends a response that failed after its start, in OpenAI's order. SDKs
// raise the error; the second event informs other clients that the response has
// ended.
func (w *eventWriter) AppendError(dst []byte, err error) []byte {
	dst = w.begin(dst)
	_, object, _ := wire.Describe(err)
	object = object.Cut()
	dst = openEvent(dst, "error")
	dst = append(dst, `"code":`...)
	dst = append(dst, encoded(object.Code)...)
	dst = append(dst, `,"message":`...)
	dst = append(dst, encoded(object.Message)...)
	dst = append(dst, `,"param":`...)
	dst = append(dst, encoded(object.Param)...)
	dst = append(dst, `,"error":`...)
	dst = append(dst, encoded(object)...)
	dst = w.closeEvent(append(dst, ','))
	w.response.Status = statusFailed
	w.response.Error = &api.ResponseError{Code: wirecode.Response(inference.AsError(err).Code), Message: object.Message}
	return w.appendLifecycle(dst, encoded(w.response))
}

// begin appends the first events of the response, once.
func (w *eventWriter) begin(dst []byte) []byte {
	if w.begun {
		return dst
	}
	w.begun = true
	body := encoded(w.response)
	if w.onBegin != nil {
		w.onBegin(body)
	}
	for _, kind := range []string{"response.created", "response.in_progress"} {
		dst = w.appendResponse(dst, kind, body)
	}
	return dst
}

func (w *eventWriter) appendLifecycle(dst []byte, body json.RawMessage) []byte {
	return w.appendResponse(dst, "response."+w.response.Status, body)
}

func (w *eventWriter) appendResponse(dst []byte, kind string, body json.RawMessage) []byte {
	dst = openEvent(dst, kind)
	dst = append(dst, `"response":`...)
	dst = append(dst, body...)
	return w.closeEvent(append(dst, ','))
}

// open makes an item of this kind the open one.
func (w *eventWriter) open(dst []byte, kind string) []byte {
	if w.item != nil && w.item.kind == kind {
		return dst
	}
	return w.start(w.close(dst, statusCompleted), &item{kind: kind, role: assistant})
}

// start opens an item and its part, if the item has parts.
func (w *eventWriter) start(dst []byte, it *item) []byte {
	it.id = newItemID(it.kind)
	w.item, w.text = it, w.text[:0]
	w.head = openEvent(w.head[:0], map[string]string{
		itemMessage: "response.output_text.delta", itemReasoning: w.reasoning.events() + "_text.delta", itemCall: "response.function_call_arguments.delta",
		itemCustomCall: "response.custom_tool_call_input.delta",
	}[it.kind])
	w.head = append(w.appendPlace(w.head), `,"delta":"`...)
	dst = w.appendItem(dst, "response.output_item.added", it.begun())
	switch it.kind {
	case itemMessage:
		dst = w.appendPart(dst, "response.content_part.added", outputText("", encodedLogprobs(nil)))
	case itemReasoning:
		dst = w.appendPart(dst, w.reasoning.parts()+"_part.added", w.reasoning.part(""))
	}
	return dst
}

// appendPiece appends text to the open item. It runs for each token.
func (w *eventWriter) appendPiece(dst, piece []byte) []byte {
	w.text = append(w.text, piece...)
	dst = append(dst, w.head...)
	dst = jsonstring.AppendEscaped(dst, piece)
	dst = append(dst, '"', ',')
	if w.item.kind == itemMessage {
		dst = append(dst, `"logprobs":`...)
		if len(w.logprobs) == 0 {
			dst = append(dst, "[]"...)
		} else {
			dst = append(dst, encodedLogprobs(w.logprobs)...)
			w.item.logprobs = append(w.item.logprobs, w.logprobs...)
			w.logprobs = w.logprobs[:0]
		}
		dst = append(dst, ',')
	}
	return w.closeEvent(dst)
}

// close completes the open item, if there is one.
func (w *eventWriter) close(dst []byte, status string) []byte {
	it := w.item
	if it == nil {
		return dst
	}
	dst = w.finishInput(dst)
	it.text, it.status = wholeText(w.text), status
	switch it.kind {
	case itemMessage:
		logprobs := encodedLogprobs(it.logprobs)
		dst = w.appendDone(dst, "response.output_text.done", "text", `,"logprobs":`+string(logprobs))
		dst = w.appendPart(dst, "response.content_part.done", outputText(it.text, logprobs))
	case itemReasoning:
		w.thought += w.tokens(it.text)
		dst = w.closeReasoning(dst)
	case itemCustomCall:
		dst = w.appendDone(dst, "response.custom_tool_call_input.done", "input", "")
	case itemCall:
		dst = w.appendDone(dst, "response.function_call_arguments.done", "arguments", `,"name":`+string(jsonstring.Quoted(it.name)))
	}
	whole := it.encode()
	dst = w.appendItem(dst, "response.output_item.done", whole)
	it.logprobs = nil // the response has them, and no prompt needs them
	w.response.Output = append(w.response.Output, whole)
	w.items, w.item = append(w.items, it), nil
	return dst
}

// appendDone appends an event with the whole text of the open item under the given
// key. rest has further members.
func (w *eventWriter) appendDone(dst []byte, kind, key, rest string) []byte {
	dst = w.appendPlace(openEvent(dst, kind))
	dst = append(dst, ',', '"')
	dst = append(dst, key...)
	dst = append(dst, '"', ':')
	dst = append(dst, jsonstring.Quoted(w.item.text)...)
	dst = append(dst, rest...)
	return w.closeEvent(append(dst, ','))
}

func (w *eventWriter) appendPart(dst []byte, kind string, part json.RawMessage) []byte {
	dst = w.appendPlace(openEvent(dst, kind))
	dst = append(dst, `,"part":`...)
	dst = append(dst, part...)
	return w.closeEvent(append(dst, ','))
}

func (w *eventWriter) appendItem(dst []byte, kind string, it json.RawMessage) []byte {
	dst = openEvent(dst, kind)
	dst = append(dst, `"output_index":`...)
	dst = strconv.AppendInt(dst, int64(len(w.items)), 10)
	dst = append(dst, `,"item":`...)
	dst = append(dst, it...)
	return w.closeEvent(append(dst, ','))
}

// appendPlace appends the position of the open item, and of its part if it has
// parts.
func (w *eventWriter) appendPlace(dst []byte) []byte {
	dst = append(dst, `"item_id":`...)
	dst = append(dst, jsonstring.Quoted(w.item.id)...)
	dst = append(dst, `,"output_index":`...)
	dst = strconv.AppendInt(dst, int64(len(w.items)), 10)
	switch {
	case w.item.kind == itemReasoning && w.reasoning.summary:
		dst = append(dst, `,"summary_index":0`...)
	case w.item.class() != itemCall:
		dst = append(dst, `,"content_index":0`...)
	}
	return dst
}

// openEvent starts an event. The members of its object follow.
func openEvent(dst []byte, kind string) []byte {
	dst = append(dst, "event: "...)
	dst = append(dst, kind...)
	dst = append(dst, "\ndata: {\"type\":\""...)
	dst = append(dst, kind...)
	return append(dst, '"', ',')
}

// closeEvent ends an event after a comma.
func (w *eventWriter) closeEvent(dst []byte) []byte {
	dst = append(dst, `"sequence_number":`...)
	dst = strconv.AppendInt(dst, int64(w.sequence), 10)
	w.sequence++
	return append(dst, "}\n\n"...)
}

// wholeText returns the text in the client's form: invalid UTF-8 becomes U+FFFD.
func wholeText(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string([]rune(string(text)))
}
