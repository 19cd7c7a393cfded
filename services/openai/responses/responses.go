// Package responses is the Responses API of the OpenAI frontend. It converts items to
// messages and back, writes the events of a stream, and stores the responses from which
// later requests continue. Packages decode and wire have the fields and errors that
// chats and completions share. Package openai has the routes and validates bodies
// against the document. Chats and completions belong to package openai.
package responses

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/openai/internal/wire"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/seal"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/state"
	"github.com/trident-inference/trident/services/strictjson"
	"github.com/trident-inference/trident/services/wirecode"
)

// API implements the operations below /v1/responses of the generated interface. It may
// be used concurrently.
type API struct {
	service *serving.Service
	store   responseStore
	ttl     time.Duration
	seals   *seal.Keys
	// sizeName is the operators' name of the number of stored responses, for errors.
	sizeName string
}

// New returns the API over the service. It stores responses in memory within the limits, and seals
// reasoning with the keys.
func New(kept StoreLimits, seals *seal.Keys, service *serving.Service) *API {
	return &API{service: service, store: inMemory{newStore(kept)}, ttl: kept.TTL, seals: seals, sizeName: kept.SizeName}
}

// Share stores responses in the store instead, unless it is nil. Call it before the first request.
func (a *API) Share(shared *state.Store) {
	if shared != nil {
		a.store = &sharedStore{records: shared, ttl: a.ttl}
	}
}

// CreateResponse answers items, with a non-streaming response or with a stream of
// events.
func (a *API) CreateResponse(ctx context.Context, request api.CreateResponseRequestObject) (api.CreateResponseResponseObject, error) {
	server.RecordOf(ctx).Model = request.Body.Model
	turn, err := a.newTurn(ctx, request.Body)
	if err != nil {
		return nil, err
	}
	turn.req.Unenforced = func(field, reason string) error {
		return server.Ignore(ctx, server.IgnoredField{Name: turn.clientsTool(field), Reason: strings.ReplaceAll(reason, field, turn.clientsTool(field))})
	}
	writer, err := a.newEventWriter(ctx, request.Body, turn)
	if err != nil {
		return nil, err
	}
	if turn.req.Stream {
		return &streamedResponse{ctx: ctx, api: a, turn: turn, writer: writer}, nil
	}
	rec := server.RecordOf(ctx)
	var events []byte // encoded events, which a non-streaming response discards
	for delta, err := range a.answer(ctx, turn) {
		switch {
		case err != nil:
			return nil, err
		case delta.Usage != nil:
			wire.Usage(delta.Usage, rec)
			writer.AppendEnd(events, delta.Usage)
		case !delta.Empty() && !delta.Idle:
			events = writer.AppendDelta(events[:0], &delta)
		}
	}
	return wholeResponse(writer.body), nil
}

// turn is one request of the Responses API.
type turn struct {
	conversation

	req   *inference.Request
	model catalog.Resolution
	owner string // the client, and the owner of what the request may refer to
	// input are all items that the model sees: those of earlier turns and the new ones.
	// places has the field of the request of each.
	input  []*item
	places []string
	left   []server.IgnoredField // items that the model doesn't see
}

// newTurn translates the body and looks up the items that it refers to.
func (a *API) newTurn(ctx context.Context, body *api.CreateResponse) (*turn, error) {
	var checked requests.Schemas
	req, err := coreRequest(ctx, body, &checked)
	if err != nil {
		return nil, err
	}
	t := &turn{req: req, model: a.service.Resolve(req.Model), owner: inference.ClientName(ctx)}
	req.ID = "resp_" + rand.Text()
	if err := a.readInput(ctx, t, body); err != nil {
		return nil, err
	}
	if err := server.Ignore(ctx, t.left...); err != nil {
		return nil, err
	}
	switch {
	case len(t.input) == 0 && len(t.left) > 0:
		return nil, errUnreadable()
	case len(t.input) == 0:
		return nil, inference.Invalid("input", "input is required, unless there is a previous_response_id")
	}
	t.tools = toolbox{checked: &checked, constrains: requests.ConstrainsCalls(req), auto: req.ToolChoice.Mode == inference.ToolAuto}
	if err := t.setTools(ctx, body.Tools); err != nil {
		return nil, err
	}
	if instructions := decode.Value(body.Instructions); instructions != "" {
		t.push(inference.Message{Role: "system", Text: instructions}, "instructions")
	}
	if err := t.setMessages(); err != nil {
		return nil, err
	}
	return t, nil
}

// readInput collects the items of the previous response and of the request.
func (a *API) readInput(ctx context.Context, t *turn, body *api.CreateResponse) error {
	if err := a.addPrevious(ctx, t, decode.Value(body.PreviousResponseID)); err != nil {
		return err
	}
	items, err := decodeItems(body.Input)
	if err != nil {
		return err
	}
	place := func(i int) string {
		if body.Input[0] == '[' {
			return "input" + strictjson.Index(i)
		}
		return "input"
	}
	if err := a.openSeals(ctx, t.owner, items, place); err != nil {
		return err
	}
	for i, it := range items {
		if err := a.addInput(ctx, t, it, place(i)); err != nil {
			return err
		}
	}
	return nil
}

// setTools reads the tools of the request and of its items. It reports those without an effect.
func (t *turn) setTools(ctx context.Context, tools []json.RawMessage) error {
	if err := t.tools.addAll(ctx, "tools", tools); err != nil {
		return err
	}
	for i, it := range t.input {
		if err := t.tools.addAll(ctx, t.places[i]+".tools", it.tools); err != nil {
			return err
		}
	}
	t.req.Tools, t.req.ToolChoice = t.tools.definitions, t.tools.choose(ctx, t.req.ToolChoice, &t.model)
	if err := requests.Allow(t.req, "tool_choice.tools[%d].name"); err != nil {
		return err
	}
	return server.Ignore(ctx, t.tools.ignored...)
}

// setMessages converts the items to messages.
func (t *turn) setMessages() error {
	for i, it := range t.input {
		if err := t.add(it, t.places[i]); err != nil {
			return err
		}
	}
	t.flush("input")
	if len(t.messages) == 0 {
		return errUnreadable()
	}
	if n := len(t.messages); n > budget.Messages {
		return inference.Invalid("input", "input and the previous responses have %d messages together, but a request may have at most %d: start a new conversation", n, budget.Messages)
	}
	t.req.Messages = t.messages
	return t.clientsNames(t.req.Validate())
}

// errUnreadable is the error of an input whose items all have no text for the model.
func errUnreadable() error {
	return inference.Invalid("input", "input has nothing that the model can read: send a message")
}

// addPrevious adds the items of the previous response, if there is one.
func (a *API) addPrevious(ctx context.Context, t *turn, id string) error {
	const param = "previous_response_id"
	if id == "" {
		return nil
	}
	previous, err := a.store.get(ctx, t.owner, id)
	switch {
	case err != nil:
		return err
	case previous == nil:
		return a.errNotStored(param, inference.ReasonPreviousNotFound, "response", id)
	case previous.failed:
		return inference.Invalid(param, "the response %s has failed: continue the one before it", strictjson.Quote(id))
	case previous.running:
		return inference.Invalid(param, "the response %s hasn't ended: continue it once its status is completed", strictjson.Quote(id))
	}
	for it := range previous.items {
		t.input, t.places = append(t.input, it), append(t.places, param)
	}
	return nil
}

// addInput adds an item of the request, or the item that it refers to.
func (a *API) addInput(ctx context.Context, t *turn, it *item, origin string) error {
	switch {
	case it.kind == itemReference:
		id := it.id
		var err error
		if it, err = a.store.item(ctx, t.owner, id); err != nil {
			return err
		}
		if it == nil {
			return a.errNotStored(origin+".id", inference.ReasonItemNotFound, "item", id)
		}
	case it.left:
		t.leave(it.kind, origin)
		return nil
	}
	t.input, t.places = append(t.input, it), append(t.places, origin)
	return nil
}

// leave records an item that is left out. Items of one kind are recorded for the first.
func (t *turn) leave(kind, origin string) {
	reason := fmt.Sprintf("%s is an item of the type %s, which has no text for the model: send the conversation without it", origin, kind)
	if !slices.ContainsFunc(t.left, func(f server.IgnoredField) bool { return strings.HasSuffix(f.Reason, reason[len(origin):]) }) {
		t.left = append(t.left, server.IgnoredField{Name: origin, Reason: reason})
	}
}

// errNotStored returns the error of an id that isn't in the store.
func (a *API) errNotStored(param string, reason inference.Reason, what, id string) error {
	message := fmt.Sprintf("the %s %s does not exist: it was never stored, or it is no longer stored", what, strictjson.Quote(id))
	if !a.store.on() {
		message = fmt.Sprintf("the %s %s does not exist: this server stores no responses (%s=0)", what, strictjson.Quote(id), a.sizeName)
	}
	return &inference.Error{Code: inference.CodeNotFound, Reason: reason, Param: param, Message: message}
}

// answer runs the turn. Its errors name the fields that the client used.
func (a *API) answer(ctx context.Context, t *turn) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		for delta, err := range a.service.Generate(ctx, &t.model, t.req) {
			if !yield(delta, t.clientsNames(err)) {
				return
			}
		}
	}
}

// newEventWriter returns a writer with the response before any output of the model.
func (a *API) newEventWriter(ctx context.Context, body *api.CreateResponse, t *turn) (*eventWriter, error) {
	response, err := newResponse(body, t.req.ID)
	if err != nil {
		return nil, err
	}
	response.Store = response.Store && a.store.on()
	reasoning, err := a.reasoningForm(ctx, body, t.owner)
	if err != nil {
		return nil, err
	}
	w := &eventWriter{response: response, reasoning: reasoning, tools: &t.tools, tokens: func(text string) int { return countText(ctx, &t.model, text) }}
	if response.Store {
		w.keep = func(w *eventWriter) error { return a.keep(ctx, t, w) }
		if _, alone := a.store.(inMemory); !alone && t.req.Stream {
			w.onBegin = func(body []byte) { a.begin(ctx, t, body) }
		}
	}
	return w, nil
}

// countText returns 0 if the model's tokenizer isn't known.
func countText(ctx context.Context, model *catalog.Resolution, text string) int {
	if model.Card == nil || model.Card.Tokenizer == nil {
		return 0
	}
	n, err := model.Card.Tokenizer.Count(ctx, text, false, nil) // the text is a part of a response
	if err != nil {
		return 0
	}
	return n
}

// begin stores that the response is in progress, without waiting.
func (a *API) begin(ctx context.Context, t *turn, body []byte) {
	go func() { _ = a.store.begin(context.WithoutCancel(ctx), t.owner, t.req.ID, body) }() // the store logs it
}

// settle stores that a response that began has failed, if it has no other end: its model failed, or its
// client disconnected.
func (a *API) settle(ctx context.Context, t *turn, w *eventWriter) {
	if w.onBegin == nil || !w.begun || w.ended {
		return
	}
	if w.response.Error == nil {
		w.response.Status = statusFailed
		w.response.Error = &api.ResponseError{Code: wirecode.TypeServer, Message: "the client disconnected before the end of this response"}
	}
	_ = a.store.put(context.WithoutCancel(ctx), &storedResponse{id: t.req.ID, owner: t.owner, body: encoded(w.response), failed: true}) // the store logs it
}

// keep stores the response that has ended, also for a client that has disconnected.
func (a *API) keep(ctx context.Context, t *turn, w *eventWriter) error {
	for _, it := range t.input {
		if it.id == "" { // a new item: items of earlier turns have ids
			it.id = newItemID(it.kind)
		}
	}
	return a.store.put(context.WithoutCancel(ctx), &storedResponse{id: t.req.ID, owner: t.owner, body: w.body, input: t.input, output: w.items})
}

// newResponse returns a response with the settings of the request and the defaults.
func newResponse(body *api.CreateResponse, id string) (*api.Response, error) {
	r := &api.Response{
		ID: id, Object: "response", CreatedAt: time.Now().Unix(), Status: statusInProgress, Model: body.Model,
		Instructions: body.Instructions, MaxOutputTokens: body.MaxOutputTokens, MaxToolCalls: body.MaxToolCalls,
		Metadata: api.ResponseMetadata(body.Metadata), Output: []json.RawMessage{}, PreviousResponseID: body.PreviousResponseID,
		ParallelToolCalls: body.ParallelToolCalls == nil || *body.ParallelToolCalls, PromptCacheKey: body.PromptCacheKey,
		SafetyIdentifier: body.SafetyIdentifier, ServiceTier: "default", Store: body.Store == nil || *body.Store,
		Temperature: body.Temperature, TopP: body.TopP, TopLogprobs: decode.Value(body.TopLogprobs),
		ToolChoice: body.ToolChoice, Truncation: "disabled", User: body.User,
		Text: api.ResponseTextSettings{Format: json.RawMessage(`{"type":"text"}`), Verbosity: "medium"},
	}
	if r.Metadata == nil {
		r.Metadata = api.ResponseMetadata{}
	}
	if requests.Neutral(r.ToolChoice) {
		r.ToolChoice = json.RawMessage(`"auto"`)
	}
	settings, err := readText(body.Text)
	if err != nil {
		return nil, err
	}
	if !requests.Neutral(settings.Format) {
		r.Text.Format = settings.Format
	}
	if body.Reasoning != nil {
		r.Reasoning = api.ResponseReasoningSettings{Effort: (*string)(body.Reasoning.Effort), Summary: cmp.Or(body.Reasoning.Summary, body.Reasoning.GenerateSummary)}
	}
	r.Tools, err = echoTools(body.Tools)
	return r, err
}

// streamedResponse is a response that is written while the model generates it.
type streamedResponse struct {
	ctx    context.Context //nolint:containedctx // the generated interface passes only the writer
	api    *API
	turn   *turn
	writer *eventWriter
}

// VisitCreateResponseResponse writes the stream. It returns an error that occurs before
// the first event, which then gets its own status. Later errors become events.
func (s *streamedResponse) VisitCreateResponseResponse(w http.ResponseWriter) error {
	defer s.api.settle(s.ctx, s.turn, s.writer)
	return wire.WriteEvents(w, server.RecordOf(s.ctx), s.writer, s.api.answer(s.ctx, s.turn))
}

// wholeResponse is a non-streaming response, encoded as JSON.
type wholeResponse []byte

// VisitCreateResponseResponse writes the response.
func (b wholeResponse) VisitCreateResponseResponse(w http.ResponseWriter) error { return b.write(w) }

// VisitRetrieveResponseResponse writes the response.
func (b wholeResponse) VisitRetrieveResponseResponse(w http.ResponseWriter) error { return b.write(w) }

func (b wholeResponse) write(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(b)
	return err
}

// CountResponseInputTokens returns the number of tokens of a response's prompt.
func (a *API) CountResponseInputTokens(ctx context.Context, request api.CountResponseInputTokensRequestObject) (api.CountResponseInputTokensResponseObject, error) {
	body := request.Body
	server.RecordOf(ctx).Model = body.Model
	if decode.Value(body.Personality) != "" {
		return nil, inference.Unsupported("personality", "personality is not supported: describe it in instructions")
	}
	turn, err := a.newTurn(ctx, &api.CreateResponse{
		Model: body.Model, Input: body.Input, Instructions: body.Instructions, PreviousResponseID: body.PreviousResponseID,
		Tools: body.Tools, ToolChoice: body.ToolChoice, ParallelToolCalls: body.ParallelToolCalls, Text: body.Text,
		Reasoning: body.Reasoning, Truncation: body.Truncation, Conversation: body.Conversation, ChatTemplateKwargs: body.ChatTemplateKwargs,
	})
	if err != nil {
		return nil, err
	}
	tokens, err := a.service.CountPrompt(ctx, &turn.model, turn.req)
	if err != nil {
		return nil, turn.clientsNames(err)
	}
	return api.CountResponseInputTokens200JSONResponse{Object: "response.input_tokens", InputTokens: tokens}, nil
}

// RetrieveResponse returns a stored response.
func (a *API) RetrieveResponse(ctx context.Context, request api.RetrieveResponseRequestObject) (api.RetrieveResponseResponseObject, error) {
	if decode.Value(request.Params.Stream) {
		return nil, inference.Unsupported("stream", "stream is not supported for stored responses: retrieve the response without it")
	}
	kept, err := a.kept(ctx, request.ResponseID)
	if err != nil {
		return nil, err
	}
	return wholeResponse(kept.body), nil
}

func (a *API) kept(ctx context.Context, id string) (*storedResponse, error) {
	kept, err := a.store.get(ctx, inference.ClientName(ctx), id)
	if err != nil {
		return nil, err
	}
	if kept == nil {
		return nil, a.errNotStored("response_id", inference.ReasonResponseNotFound, "response", id)
	}
	return kept, nil
}

// DeleteResponse deletes a stored response.
func (a *API) DeleteResponse(ctx context.Context, request api.DeleteResponseRequestObject) (api.DeleteResponseResponseObject, error) {
	removed, err := a.store.remove(ctx, inference.ClientName(ctx), request.ResponseID)
	if err != nil {
		return nil, err
	}
	if !removed {
		return nil, a.errNotStored("response_id", inference.ReasonResponseNotFound, "response", request.ResponseID)
	}
	return api.DeleteResponse200JSONResponse{ID: request.ResponseID, Object: "response", Deleted: true}, nil
}

// CancelResponse always returns an error: only background responses can be cancelled,
// and there are none.
func (a *API) CancelResponse(ctx context.Context, request api.CancelResponseRequestObject) (api.CancelResponseResponseObject, error) {
	if _, err := a.kept(ctx, request.ResponseID); err != nil {
		return nil, err
	}
	return nil, inference.Invalid("response_id", "this response is complete: only background responses can be cancelled, which this server does not support")
}

// ListResponseInputItems returns the items of the model's input, in pages.
func (a *API) ListResponseInputItems(ctx context.Context, request api.ListResponseInputItemsRequestObject) (api.ListResponseInputItemsResponseObject, error) {
	kept, err := a.kept(ctx, request.ResponseID)
	if err != nil {
		return nil, err
	}
	page, more, err := page(kept.input, &request.Params)
	if err != nil {
		return nil, err
	}
	list := api.ResponseItemList{Object: "list", Data: make([]api.ResponseListedItem, len(page)), HasMore: more}
	for i, it := range page {
		if err := list.Data[i].UnmarshalJSON(it.encode()); err != nil {
			return nil, fmt.Errorf("encode an item of the response: %w", err)
		}
	}
	if len(page) > 0 {
		list.FirstID, list.LastID = &page[0].id, &page[len(page)-1].id
	}
	return api.ListResponseInputItems200JSONResponse(list), nil
}

// page returns the requested part of the items and reports whether more follow.
func page(items []*item, params *api.ListResponseInputItemsParams) (_ []*item, more bool, _ error) {
	limit := 20
	if params.Limit != nil {
		limit = *params.Limit
	}
	if limit < 1 || limit > 100 {
		return nil, false, inference.Invalid("limit", "limit must be from 1 to 100, got %d", limit)
	}
	items = slices.Clone(items)
	switch order := params.Order; {
	case order == nil || *order == "desc":
		slices.Reverse(items)
	case *order != "asc":
		return nil, false, inference.Invalid("order", "order must be asc or desc, got %s", strictjson.Quote(string(*order)))
	}
	if after := decode.Value(params.After); after != "" {
		i := slices.IndexFunc(items, func(it *item) bool { return it.id == after })
		if i < 0 {
			return nil, false, inference.Invalid("after", "after must be the id of an item of this response, got %s", strictjson.Quote(after))
		}
		items = items[i+1:]
	}
	return items[:min(limit, len(items))], len(items) > limit, nil
}
