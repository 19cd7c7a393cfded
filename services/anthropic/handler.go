// Package anthropic is the frontend of Anthropic's Messages API. It decodes messages, calls the core
// and encodes the response or its events. Routes and types are generated from openapi/anthropic.yaml.
// This package makes no decisions about models. Checks that all surfaces of text share belong to
// package requests.
package anthropic

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	api "github.com/trident-inference/trident/gen/go/anthropic"
	"github.com/trident-inference/trident/openapi"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/seal"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/strictjson"
)

// Config configures the frontend. The zero value lists fields without an effect as ignored.
type Config struct {
	// Strict refuses fields that have no effect.
	Strict bool
}

// Handler serves Anthropic's API. It may be used concurrently.
type Handler struct {
	cfg     Config
	service *serving.Service
	seals   *seal.Keys
	mux     *server.Operations
}

// documentPattern is the route of the OpenAPI document.
const documentPattern = "GET /v1/messages/openapi.json"

// New returns a handler over the service. It seals reasoning with the keys.
func New(cfg Config, service *serving.Service, seals *seal.Keys) (*Handler, error) {
	h := &Handler{cfg: cfg, service: service, seals: seals, mux: server.NewOperations(auth.Anthropic)}
	api.HandlerWithOptions(h, api.StdHTTPServerOptions{
		BaseRouter:       h.mux,
		ErrorHandlerFunc: func(w http.ResponseWriter, r *http.Request, err error) { writeError(w, r, paramError(err)) },
	})
	h.mux.HandleFunc(documentPattern, openapi.Serve(openapi.Anthropic, writeError))
	h.mux.Refuse("/", refuse)
	return h, h.mux.Err()
}

// versionHeader is the header that all clients of Anthropic's API send.
const versionHeader = "Anthropic-Version"

// joinLines joins the lines of the headers that clients may repeat, because the generated code refuses
// several lines.
func joinLines(header http.Header) {
	for _, name := range []string{versionHeader, "Anthropic-Beta"} {
		if lines := header[name]; len(lines) > 1 {
			header[name] = []string{strings.Join(lines, ", ")}
		}
	}
}

// NewRoutes returns the routes of the frontend. The list of models is that of OpenAI's API unless the
// request has the header of Anthropic's clients.
func NewRoutes(h *Handler) []server.Route {
	return []server.Route{
		{Pattern: "/v1/messages", Handler: h},
		{Pattern: "/v1/messages/", Handler: h},
		{Pattern: "GET " + modelsPath, Handler: h, Header: versionHeader},
		{Pattern: "GET " + modelsPath + "/", Handler: h, Header: versionHeader},
	}
}

// ServeHTTP routes a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	w.Header().Set(requestIDHeader, server.RecordOf(ctx).RequestID)
	joinLines(r.Header)
	h.mux.ServeHTTP(w, respelled(r.WithContext(server.WithIgnored(ctx, w.Header(), h.cfg.Strict))))
}

// Record implements [server.Router].
func (h *Handler) Record(r *http.Request) *auth.Record { return h.mux.Record(respelled(r)) }

// Refuse implements [server.Refuser].
func (*Handler) Refuse(w http.ResponseWriter, r *http.Request, err error) { writeError(w, r, err) }

const modelsPath = "/v1/models"

// respelled returns a request whose model name is one segment of the path. Names may have slashes.
func respelled(r *http.Request) *http.Request {
	name, ok := strings.CutPrefix(r.URL.Path, modelsPath+"/")
	if !ok || !strings.Contains(name, "/") {
		return r
	}
	r = r.WithContext(r.Context()) // a copy
	u := *r.URL
	u.RawPath = modelsPath + "/" + url.PathEscape(name)
	r.URL = &u
	return r
}

// refuse responds to requests that match no operation.
func refuse(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	for _, record := range auth.Records() {
		method, pattern, _ := strings.Cut(record.Pattern, " ")
		if pattern == path && (record.API == auth.Anthropic || record.Pattern == documentPattern) {
			w.Header().Set("Allow", method)
			writeError(w, r, &inference.Error{Code: inference.CodeInvalid, Reason: inference.ReasonMethod, Message: "this method is not allowed on this path; use " + method})
			return
		}
	}
	writeError(w, r, &inference.Error{
		Code: inference.CodeNotFound, Reason: inference.ReasonUnknownPath,
		Message: "this path is not served: Anthropic's API has /v1/messages, /v1/messages/count_tokens and /v1/models here",
	})
}

// CreateMessage returns the next message of a conversation, or the stream of its events.
func (h *Handler) CreateMessage(w http.ResponseWriter, r *http.Request, params api.CreateMessageParams) {
	t, err := h.turn(r, params.AnthropicBeta, false)
	if err == nil {
		err = h.answer(w, r, t)
	}
	if err != nil {
		writeError(w, r, t.clientsNames(err))
	}
}

// CountMessageTokens returns the number of tokens of a message's prompt.
func (h *Handler) CountMessageTokens(w http.ResponseWriter, r *http.Request, params api.CountMessageTokensParams) {
	t, err := h.turn(r, params.AnthropicBeta, true)
	var tokens int
	if err == nil {
		tokens, err = h.service.CountPrompt(r.Context(), &t.model, t.req)
	}
	if err != nil {
		writeError(w, r, t.clientsNames(err))
		return
	}
	writeJSON(w, api.MessageTokensCount{InputTokens: tokens})
}

// ListModels lists the models that write text.
func (h *Handler) ListModels(w http.ResponseWriter, r *http.Request, params api.ListModelsParams) {
	models := slices.DeleteFunc(h.service.Catalog().Models(r.Context()), func(m catalog.Named) bool { return m.Card.Tasks&inference.TaskGenerate == 0 })
	page, err := pageOf(models, &params)
	if err == nil {
		err = ignoreBeta(r.Context(), params.AnthropicBeta)
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	writeJSON(w, page)
}

// pageOf returns the page of the models that the parameters select.
func pageOf(models []catalog.Named, params *api.ListModelsParams) (*api.ModelList, error) {
	limit := 20
	if params.Limit != nil {
		limit = *params.Limit
	}
	if limit < 1 || limit > 1000 {
		return nil, inference.Invalid("limit", "limit must be from 1 to 1000, got %d", limit)
	}
	at := func(param string, id *string) (int, error) {
		i := slices.IndexFunc(models, func(m catalog.Named) bool { return m.Name == *id })
		if i < 0 {
			return 0, inference.Invalid(param, "%s must be the id of a model in the list", param)
		}
		return i, nil
	}
	if params.AfterID != nil {
		i, err := at("after_id", params.AfterID)
		if err != nil {
			return nil, err
		}
		models = models[i+1:]
	}
	list := &api.ModelList{Data: []api.ModelInfo{}}
	if params.BeforeID != nil {
		i, err := at("before_id", params.BeforeID)
		if err != nil {
			return nil, err
		}
		list.HasMore = i > limit
		models = models[max(0, i-limit):i]
	}
	list.HasMore = list.HasMore || len(models) > limit
	for _, m := range models[:min(limit, len(models))] {
		list.Data = append(list.Data, modelInfo(m))
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = &list.Data[0].ID, &list.Data[n-1].ID
	}
	return list, nil
}

// RetrieveModel returns a model that writes text.
func (h *Handler) RetrieveModel(w http.ResponseWriter, r *http.Request, modelID string, params api.RetrieveModelParams) {
	named, err := h.service.Catalog().Model(r.Context(), modelID)
	if err == nil && named.Card.Tasks&inference.TaskGenerate == 0 {
		err = &inference.Error{
			Code: inference.CodeNotFound, Reason: inference.ReasonModelNotFound, Param: "model",
			Message: "the model " + strictjson.Quote(named.Name) + " writes no text",
		}
	}
	if err == nil {
		err = ignoreBeta(r.Context(), params.AnthropicBeta)
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	writeJSON(w, modelInfo(named))
}

func modelInfo(m catalog.Named) api.ModelInfo {
	info := api.ModelInfo{Type: api.ModelInfoTypeModel, ID: m.Name, DisplayName: m.Name, CreatedAt: m.Card.Loaded.UTC()}
	if length := m.Card.ContextLength; length > 0 {
		info.MaxInputTokens, info.MaxTokens = &length, &length
	}
	return info
}

// writeJSON writes a response. Write errors are ignored, because the client may have disconnected.
func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil { // values of strings, numbers and JSON always encode
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}
