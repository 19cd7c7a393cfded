package responses

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/wire"
)

// eventWriter makes the items of a response out of Deltas, and appends the
// events that tell of them. An answer in one piece is the end of its stream. What is
// the same in all events of an item's pieces is encoded once an item.
type eventWriter struct {
	// response as it stands; its output are the items that are done.
	response *api.Response
	// body is the whole response once it is complete.
	body []byte
	// items that are done.
	items []*item
	// tokens counts those of a text, 0 where it can't.
	tokens func(text string) int
	// keep is called with the whole response before the client reads of its end; nil
	// for not at all.
	keep func(*eventWriter)

	begun    bool
	sequence int
	finish   inference.FinishReason
	thought  int // tokens of reasoning

	item *item  // the open one, nil for none
	text []byte // its text as far as it came
	head []byte // of the events of its pieces, up to the piece
	// logprobs of text that is still to come: half a character has a token, too.
	logprobs []api.ChatCompletionTokenLogprob
}

// AppendDelta opens and closes items as the kind of what comes changes.
func (w *eventWriter) AppendDelta(dst []byte, d *inference.Delta) []byte {
	dst = w.begin(dst)
	if d.Logprobs != nil {
		w.logprobs = append(w.logprobs, wire.TokenLogprobs(d.Logprobs)...)
	}
	if len(d.Reasoning) > 0 {
		dst = w.open(dst, itemReasoning)
		w.logprobs = nil // only those of text are given
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

// appendCall adds a piece of a call; the first piece of each has its id.
func (w *eventWriter) appendCall(dst []byte, piece *inference.ToolCallPiece) []byte {
	if piece.ID != "" {
		dst = w.close(dst, statusCompleted)
		w.logprobs = nil
		dst = w.start(dst, &item{kind: itemCall, callID: piece.ID, name: piece.Name})
	}
	if len(piece.Arguments) == 0 || w.item == nil {
		return dst
	}
	return w.appendPiece(dst, piece.Arguments)
}

// AppendEnd ends an answer that succeeded: with its last item, then with all of it.
// An answer of nothing is a message without text.
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
	r.Usage = &api.ResponseUsage{
		InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, TotalTokens: u.PromptTokens + u.CompletionTokens,
		OutputTokensDetails: api.ResponseOutputTokensDetails{ReasoningTokens: min(w.thought, u.CompletionTokens)},
	}
	w.body = encoded(r)
	if w.keep != nil {
		w.keep(w)
	}
	return w.appendLifecycle(dst, w.body)
}

// AppendError ends an answer that failed after it began, in OpenAI's order: SDKs
// raise the error, others learn that the response is over.
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
	w.response.Error = &api.ResponseError{Code: errorCode(err), Message: object.Message}
	return w.appendLifecycle(dst, encoded(w.response))
}

// errorCode is the code of a response's own error, which has few words.
func errorCode(err error) string {
	switch inference.AsError(err).Code {
	case inference.CodeInvalid, inference.CodeUnsupported, inference.CodeNotFound:
		return "invalid_prompt"
	case inference.CodeLimited:
		return "rate_limit_exceeded"
	default:
		return "server_error"
	}
}

// begin tells of the response, once.
func (w *eventWriter) begin(dst []byte) []byte {
	if w.begun {
		return dst
	}
	w.begun = true
	body := encoded(w.response)
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

// open makes an item of that kind the open one.
func (w *eventWriter) open(dst []byte, kind string) []byte {
	if w.item != nil && w.item.kind == kind {
		return dst
	}
	return w.start(w.close(dst, statusCompleted), &item{kind: kind, role: assistant})
}

// start opens an item and its one part, if it has parts.
func (w *eventWriter) start(dst []byte, it *item) []byte {
	it.id = newItemID(it.kind)
	w.item, w.text = it, w.text[:0]
	w.head = openEvent(w.head[:0], map[string]string{
		itemMessage: "response.output_text.delta", itemReasoning: "response.reasoning_text.delta", itemCall: "response.function_call_arguments.delta",
	}[it.kind])
	w.head = append(w.appendPlace(w.head), `,"delta":"`...)
	dst = w.appendItem(dst, "response.output_item.added", it.begun())
	switch it.kind {
	case itemMessage:
		dst = w.appendPart(dst, "response.content_part.added", outputText("", encodedLogprobs(nil)))
	case itemReasoning:
		dst = w.appendPart(dst, "response.content_part.added", reasoningText(""))
	}
	return dst
}

// appendPiece adds to the open item: this runs for each token.
func (w *eventWriter) appendPiece(dst, piece []byte) []byte {
	w.text = append(w.text, piece...)
	dst = append(dst, w.head...)
	dst = wire.AppendEscaped(dst, piece)
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

// close ends the open item, if there is one.
func (w *eventWriter) close(dst []byte, status string) []byte {
	it := w.item
	if it == nil {
		return dst
	}
	it.text, it.status = wholeText(w.text), status
	switch it.kind {
	case itemMessage:
		logprobs := encodedLogprobs(it.logprobs)
		dst = w.appendDone(dst, "response.output_text.done", "text", `,"logprobs":`+string(logprobs))
		dst = w.appendPart(dst, "response.content_part.done", outputText(it.text, logprobs))
	case itemReasoning:
		w.thought += w.tokens(it.text)
		dst = w.appendDone(dst, "response.reasoning_text.done", "text", "")
		dst = w.appendPart(dst, "response.content_part.done", reasoningText(it.text))
	case itemCall:
		dst = w.appendDone(dst, "response.function_call_arguments.done", "arguments", `,"name":`+string(wire.Quoted(it.name)))
	}
	whole := it.encode()
	dst = w.appendItem(dst, "response.output_item.done", whole)
	it.logprobs = nil // they are in the response, and no prompt needs them
	w.response.Output = append(w.response.Output, whole)
	w.items, w.item = append(w.items, it), nil
	return dst
}

// appendDone gives all of the open item's text, under that key; rest are further
// members.
func (w *eventWriter) appendDone(dst []byte, kind, key, rest string) []byte {
	dst = w.appendPlace(openEvent(dst, kind))
	dst = append(dst, ',', '"')
	dst = append(dst, key...)
	dst = append(dst, '"', ':')
	dst = append(dst, wire.Quoted(w.item.text)...)
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

// appendPlace says which item, and which of its parts if it has some.
func (w *eventWriter) appendPlace(dst []byte) []byte {
	dst = append(dst, `"item_id":`...)
	dst = append(dst, wire.Quoted(w.item.id)...)
	dst = append(dst, `,"output_index":`...)
	dst = strconv.AppendInt(dst, int64(len(w.items)), 10)
	if w.item.kind != itemCall {
		dst = append(dst, `,"content_index":0`...)
	}
	return dst
}

// openEvent begins an event, to be followed by the members of its object.
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

func reasoningText(text string) json.RawMessage {
	return encoded(api.ReasoningTextPart{Type: partReasoning, Text: text})
}

// wholeText is the text as clients read it: what is no UTF-8 is U+FFFD.
func wholeText(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string([]rune(string(text)))
}
