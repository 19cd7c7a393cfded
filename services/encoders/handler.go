// Package encoders is the frontend of the APIs that rank, score, classify and embed texts: those of vLLM, Jina,
// Cohere, text-embeddings-inference (TEI) and infinity, and OpenAI's moderations. It decodes requests, calls the
// core and encodes the responses. Routes and types are generated from openapi/encoders.yaml. POST /v1/embeddings
// belongs to package openai.
package encoders

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	api "github.com/trident-inference/trident/gen/go/encoders"
	"github.com/trident-inference/trident/openapi"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
)

// Config configures the frontend. The zero value lists fields without an effect as ignored, and has no TEI model.
type Config struct {
	// Strict refuses fields that have no effect.
	Strict bool
	// Version is the version of the server, for clients.
	Version string
	// TEIModel is the name or an alias of the model of TEI's paths without a model, such as /embed. If it is empty,
	// these paths respond with an error.
	TEIModel string
	// Names are the operators' names of the fields; nil for the fields' own names.
	Names *configfield.Names
}

// Handler serves the APIs. It may be used concurrently.
type Handler struct {
	cfg     Config
	service *serving.Service
	mux     *server.Operations
}

// documentPattern is the route of the OpenAPI document.
const documentPattern = "GET /v1/rerank/openapi.json"

// New returns a handler over the service.
func New(cfg Config, service *serving.Service) (*Handler, error) {
	h := &Handler{cfg: cfg, service: service, mux: server.NewOperations(auth.Encoders)}
	api.HandlerWithOptions(h, api.StdHTTPServerOptions{BaseRouter: h.mux, ErrorHandlerFunc: writeError})
	h.mux.HandleFunc(documentPattern, openapi.Serve(openapi.Encoders, writeError))
	h.mux.Refuse("/", refuse)
	return h, h.mux.Err()
}

// teiPrefix is the prefix of TEI's paths with a model.
const teiPrefix = "/tei/"

// teiRoots are TEI's paths without a model, except /rerank.
func teiRoots() []string {
	return []string{"/embed", "/embed_all", "/embed_sparse", "/predict", "/similarity", "/info"}
}

// teiOperations are the suffixes of TEI's paths with a model.
func teiOperations() []string { return append(teiRoots(), "/rerank") }

// aliases are further paths of operations.
var aliases = map[string]string{ //nolint:gochecknoglobals // a constant table
	"/rerank":      "/v1/rerank",
	"/score":       "/v1/score",
	"/classify":    "/v1/classify",
	"/v1/pooling":  "/pooling",
	"/moderations": "/v1/moderations",
}

// NewRoutes returns the routes of the frontend.
func NewRoutes(h *Handler) []server.Route {
	paths := []string{"/v1/rerank", "/v1/rerank/", "/v2/rerank", "/v1/score", "/v1/classify", "/pooling", "/v1/moderations", "/infinity/rerank", "/infinity/classify", teiPrefix}
	for alias := range aliases {
		paths = append(paths, alias)
	}
	var routes []server.Route
	for _, path := range append(paths, teiRoots()...) {
		routes = append(routes, server.Route{Pattern: path, Handler: h})
	}
	return routes
}

// ServeHTTP routes a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := server.WithIgnored(r.Context(), w.Header(), h.cfg.Strict)
	h.mux.ServeHTTP(w, h.respelled(r.WithContext(ctx)))
}

// Record implements [server.Router].
func (h *Handler) Record(r *http.Request) *auth.Record { return h.mux.Record(h.respelled(r)) }

// Refuse implements [server.Refuser].
func (*Handler) Refuse(w http.ResponseWriter, r *http.Request, err error) { writeError(w, r, err) }

// noTEIModel is the name of the model of TEI's paths without a model if the setting is missing.
const noTEIModel = "\x00"

// respelled returns a request with the canonical path of its operation, as in the document. The name of a model in a
// path becomes one segment of the escaped path: it may have slashes.
func (h *Handler) respelled(r *http.Request) *http.Request {
	path := r.URL.Path
	switch canonical, known := aliases[path]; {
	case known:
		return withPath(r, canonical, "")
	case slices.Contains(teiRoots(), path):
		name := h.cfg.TEIModel
		if name == "" {
			name = noTEIModel
		}
		return withPath(r, teiPrefix+name+path, teiPrefix+url.PathEscape(name)+path)
	}
	name, found := strings.CutPrefix(path, teiPrefix)
	if !found || name == "" {
		return r
	}
	operation := ""
	if i := strings.LastIndexByte(name, '/'); i > 0 && slices.Contains(teiOperations(), name[i:]) {
		name, operation = name[:i], name[i:]
	}
	return withPath(r, path, teiPrefix+url.PathEscape(name)+operation)
}

// withPath returns a copy of a request with another path.
func withPath(r *http.Request, path, escaped string) *http.Request {
	r = r.WithContext(r.Context()) // a copy
	u := *r.URL
	u.Path, u.RawPath = path, escaped
	r.URL = &u
	return r
}

// refuse responds to requests that match no operation.
func refuse(w http.ResponseWriter, r *http.Request) {
	for _, record := range auth.Records() {
		method, pattern, _ := strings.Cut(record.Pattern, " ")
		if record.API == auth.Encoders && matches(pattern, r.URL.EscapedPath()) {
			w.Header().Set("Allow", method)
			writeError(w, r, &inference.Error{
				Code: inference.CodeInvalid, Reason: inference.ReasonMethod,
				Message: fmt.Sprintf("the method %s is not allowed on this path; use %s", r.Method, method),
			})
			return
		}
	}
	writeError(w, r, &inference.Error{
		Code: inference.CodeNotFound, Reason: inference.ReasonUnknownPath,
		Message: "this path is not served: TEI's paths are such as /tei/{model}/embed here",
	})
}

// matches reports whether a pattern of the document has an escaped path.
func matches(pattern, path string) bool {
	before, after, found := strings.Cut(pattern, "{model}")
	if !found {
		return pattern == path
	}
	name, ok := strings.CutPrefix(path, before)
	name, hasSuffix := strings.CutSuffix(name, after)
	return ok && hasSuffix && name != "" && !strings.Contains(name, "/")
}

// newID returns an id of a response with a prefix.
func newID(prefix string) string { return prefix + "-" + rand.Text() }

// now returns the time of a response in seconds since 1970.
func now() int { return int(time.Now().Unix()) }

// encode runs a request on a model and records what it used.
func (h *Handler) encode(ctx context.Context, req *inference.EncodeRequest) (*inference.EncodeAnswer, error) {
	model := h.service.Resolve(req.Model)
	answer, err := h.service.Encode(ctx, &model, req)
	record(ctx, answer)
	return answer, err
}

// score scores pairs of texts by a model and records what it used.
func (h *Handler) score(ctx context.Context, req *inference.EncodeRequest, instruction string) (*inference.EncodeAnswer, error) {
	model := h.service.Resolve(req.Model)
	answer, err := h.service.Score(ctx, &model, req, instruction)
	record(ctx, answer)
	return answer, err
}

// record records the tokens of an answer, which may be nil, for the log.
func record(ctx context.Context, answer *inference.EncodeAnswer) {
	if answer != nil {
		rec := server.RecordOf(ctx)
		rec.PromptTokens, rec.CompletionTokens = answer.Usage.PromptTokens, answer.Usage.CompletionTokens
	}
}

// usage returns the counts in vLLM's form, or nil if they aren't known.
func usage(u *inference.Usage) *api.Usage {
	if u.Unknown {
		return nil
	}
	return &api.Usage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.PromptTokens + u.CompletionTokens}
}

// writeJSON writes a response.
func writeJSON(w http.ResponseWriter, r *http.Request, v any) {
	body, err := json.Marshal(v)
	if err != nil { // a number of the model that JSON doesn't have
		writeError(w, r, fmt.Errorf("encode the response: %w", err))
		return
	}
	writeBody(w, body)
}

// writeBody writes a response in JSON. Write errors are ignored, because the client may have disconnected.
func writeBody(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}
