// Package openai is the OpenAI frontend. It decodes requests of OpenAI's API, calls the core
// and encodes the responses. Routes and types are generated from openapi/openai.yaml. This
// package makes no decisions about models. Checks that the typed services share belong to
// package requests, and the Responses API to package responses.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/openapi"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/decisions"
	"github.com/trident-inference/trident/services/openai/internal/wire"
	"github.com/trident-inference/trident/services/openai/responses"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/seal"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/state"
)

// Config configures the frontend. The zero value stores no responses.
type Config struct {
	// Strict refuses fields without an effect, known and unknown ones.
	Strict bool
	// Version is the version of the server, for clients.
	Version string
	// OwnedBy is the value of owned_by of all models in lists; empty means triton.
	OwnedBy string
	// ResponsesStoreSize is the maximum number of stored responses, from which later requests
	// can continue. 0 stores no responses.
	ResponsesStoreSize int
	// ResponsesStoreBytes is the approximate maximum memory of the stored responses.
	ResponsesStoreBytes int64
	// ResponsesStore is the URL of a Valkey or Redis server that stores the responses of several
	// Tridents. Without one they are stored in memory.
	ResponsesStore string
	// ResponsesStoreTTL is how long a response is stored.
	ResponsesStoreTTL time.Duration
	// SealKeyFile is the file with the keys that seal reasoning, which replicas share. If it is empty, the
	// key is random.
	SealKeyFile string
	// Names has the operators' names of the fields. If it is nil, the fields have their own names.
	Names *configfield.Names
}

// Default returns the configuration without flags.
func Default() Config {
	return Config{ResponsesStoreSize: 4096, ResponsesStoreBytes: 256 << 20, ResponsesStoreTTL: 24 * time.Hour}
}

// Validate returns an error that names the invalid field.
func (c Config) Validate() error {
	if c.ResponsesStore != "" {
		if err := state.Check(c.ResponsesStore); err != nil {
			return configfield.Errorf("openai.ResponsesStore", "%w", err)
		}
	}
	switch {
	case c.ResponsesStoreSize < 0:
		return configfield.Errorf("openai.ResponsesStoreSize", "must not be negative, but it is %d", c.ResponsesStoreSize)
	case c.ResponsesStoreSize == 0:
		return nil
	case c.ResponsesStoreBytes < 1:
		return configfield.Errorf("openai.ResponsesStoreBytes", "must be positive, but it is %d; set %s=0 to store no responses", c.ResponsesStoreBytes, configfield.Field("openai.ResponsesStoreSize"))
	case c.ResponsesStoreTTL <= 0:
		return configfield.Errorf("openai.ResponsesStoreTTL", "must be positive, but it is %s; set %s=0 to store no responses", c.ResponsesStoreTTL, configfield.Field("openai.ResponsesStoreSize"))
	}
	return nil
}

// Handler serves OpenAI's API and the health probes. It may be used
// concurrently.
type Handler struct {
	*responses.API
	*decisions.Answerer

	cfg       Config
	service   *serving.Service
	validator *Validator
	seals     *seal.Keys
	mux       *server.Operations
}

// New returns a handler over the service.
func New(cfg Config, service *serving.Service, shared *state.Store) (*Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	validator, err := sharedValidator()
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	h := newHandler(cfg, service, validator)
	h.Share(shared)
	return h, errors.Join(h.seals.Use(cfg.SealKeyFile), h.mux.Err())
}

// PrepareSealKeys reads the file of seal keys again. The new keys take effect when apply is called. The
// error contains no key.
func (h *Handler) PrepareSealKeys() (apply func(), err error) { return h.seals.Prepare() }

// Seals returns the keys that seal reasoning, for other frontends.
func (h *Handler) Seals() *seal.Keys { return h.seals }

// ReportSealKeys logs the origin of the seal keys.
func (h *Handler) ReportSealKeys(log *slog.Logger) {
	h.seals.Report(log, h.cfg.Names.Of(seal.FileField))
}

// newHandler is New with a validator that tests may share, since loading the document takes
// most of the time. It doesn't read the file of seal keys.
func newHandler(cfg Config, service *serving.Service, validator *Validator) *Handler {
	seals := seal.New()
	kept := responses.StoreLimits{Size: cfg.ResponsesStoreSize, Bytes: cfg.ResponsesStoreBytes, TTL: cfg.ResponsesStoreTTL, SizeName: cfg.Names.Of("openai.ResponsesStoreSize")}
	h := &Handler{
		API: responses.New(kept, seals, service), Answerer: decisions.New(service),
		cfg: cfg, seals: seals, service: service, validator: validator, mux: server.NewOperations(auth.OpenAI),
	}
	strict := api.NewStrictHandlerWithOptions(h, nil, api.StrictHTTPServerOptions{
		RequestErrorHandlerFunc:  wire.WriteError,
		ResponseErrorHandlerFunc: wire.WriteError,
	})
	api.HandlerWithOptions(strict, api.StdHTTPServerOptions{
		BaseRouter:       h.mux,
		ErrorHandlerFunc: wire.WriteError,
		Middlewares:      []api.MiddlewareFunc{h.checkBody},
	})
	h.mux.HandleFunc("GET /openapi.json", openapi.Serve(openapi.OpenAI, wire.WriteError))
	for _, pattern := range unmatchedPatterns {
		h.mux.Refuse(pattern, h.refuse)
	}
	return h
}

// unmatchedPatterns are the patterns of requests that match no operation. Without them, the path that
// counts tokens would match the operations of a single response.
var unmatchedPatterns = []string{"/", "GET /v1/responses/input_tokens", "DELETE /v1/responses/input_tokens"} //nolint:gochecknoglobals // a constant list

// ServeHTTP routes a request. Requests that match no route get an error in OpenAI's form, too.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = respelled(r)
	h.mux.ServeHTTP(h.withRate(w, r), r)
}

// Refuse implements [server.Refuser].
func (h *Handler) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	wire.WriteError(h.withRate(w, r), r, err)
}

// Record implements [server.Router].
func (h *Handler) Record(r *http.Request) *auth.Record { return h.mux.Record(respelled(r)) }

// respelled returns a request with the canonical method and path of its route.
func respelled(r *http.Request) *http.Request {
	method, path, escaped := normalise(r.Method, r.URL.Path)
	if method == r.Method && path == r.URL.Path && escaped == "" {
		return r
	}
	r = r.WithContext(r.Context()) // a copy
	u := *r.URL
	u.Path, u.RawPath = path, escaped
	r.Method, r.URL = method, &u
	return r
}

const modelsPath = "/v1/models"

// probes are the health check paths of other servers: vLLM, llama.cpp, SageMaker, Kubernetes.
var probes = map[string]string{ //nolint:gochecknoglobals // a constant table
	"/health":  "/health/ready",
	"/ping":    "/health/ready",
	"/healthz": "/health/live",
}

// normalise returns the canonical method and path of a route, as in the document. It accepts
// the variants of other servers: paths without /v1, paths below /openai, infinity's paths, health checks, and
// POST for GET on /v1/models. A model name with slashes becomes one segment of the escaped
// path, which is empty if it isn't needed. Only methods other than GET and HEAD treat a final
// /load or /unload as an action instead of a part of the name.
func normalise(method, path string) (newMethod, newPath, escaped string) {
	if rest, ok := strings.CutPrefix(path, "/openai"); ok && strings.HasPrefix(rest, "/v1/") {
		path = rest
	} else if rest, ok := strings.CutPrefix(path, "/infinity"); ok && (rest == "/embeddings" || rest == "/models") {
		path = "/v1" + rest
	} else if slices.Contains([]string{"/models", "/chat/completions", "/completions", "/completions/render", "/embeddings", "/decisions", "/responses", "/tokenize", "/detokenize"}, path) ||
		strings.HasPrefix(path, "/models/") || strings.HasPrefix(path, "/responses/") || strings.HasPrefix(path, "/chat/completions/") {
		path = "/v1" + path
	}
	if probe, ok := probes[path]; ok {
		path = probe
	}
	if path == modelsPath && method == http.MethodPost {
		method = http.MethodGet
	}
	name, ok := strings.CutPrefix(path, modelsPath+"/")
	if !ok {
		return method, path, ""
	}
	action := ""
	if i := strings.LastIndexByte(name, '/'); i > 0 && method != http.MethodGet && method != http.MethodHead && slices.Contains([]string{"/load", "/unload"}, name[i:]) {
		name, action = name[:i], name[i:]
	}
	if strings.Contains(name, "/") {
		escaped = modelsPath + "/" + url.PathEscape(name) + action
	}
	return method, path, escaped
}

// refuse responds to requests that match no route: with 405 if the path has a route with
// another method, else with 404.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
		other := r.WithContext(r.Context())
		other.Method = method
		if h.mux.Record(other).Pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		wire.WriteError(w, r, &inference.Error{Code: inference.CodeNotFound, Reason: inference.ReasonUnknownPath, Message: unknownPath(r.URL.Path)})
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	wire.WriteError(w, r, &inference.Error{
		Code: inference.CodeInvalid, Reason: inference.ReasonMethod,
		Message: fmt.Sprintf("the method %s is not allowed on this path; use %s", r.Method, allowed[0]),
	})
}

// maxPathShown is the maximum length of a path in comparisons and errors, in bytes.
const maxPathShown = 64

// unknownPath returns the message about a path that isn't served.
func unknownPath(path string) string {
	path = budget.Cut(path, maxPathShown)
	route, distance := nearest(path)
	if 2*distance > len(path) {
		return fmt.Sprintf("the path %q is not served: the paths of the API start with /v1, such as POST /v1/chat/completions", path)
	}
	return fmt.Sprintf("the path %q is not served: did you mean %s?", path, route)
}

// nearest returns the method and path of the operation whose path is most similar, and
// the edit distance of the two paths.
func nearest(path string) (route string, distance int) {
	distance = math.MaxInt
	for _, record := range auth.Records() {
		method, candidate, _ := strings.Cut(record.Pattern, " ")
		if record.API != auth.OpenAI || candidate == "" {
			continue
		}
		if d := levenshtein.ComputeDistance(path, candidate); d < distance || d == distance && method == http.MethodPost {
			route, distance = record.Pattern, d
		}
	}
	return route, distance
}

// checkBody reads and validates the body before the generated code decodes it.
func (h *Handler) checkBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		r = r.WithContext(server.WithIgnored(r.Context(), w.Header(), h.cfg.Strict))
		body, err := h.readBody(r)
		if err != nil {
			wire.WriteError(w, r, err)
			return
		}
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// readBody reads and validates the body. It reports unknown fields in a header and in the log.
func (h *Handler) readBody(r *http.Request) (*Validated, error) {
	raw, err := server.ReadBody(r)
	if err != nil {
		return nil, err
	}
	if err := requests.MayUse(r.Context(), raw); err != nil {
		return nil, err
	}
	body, err := h.validator.Validate(r.Pattern, raw)
	if err != nil {
		return nil, err
	}
	if body.NoModel {
		only, err := h.service.Catalog().Only(r.Context())
		if err != nil {
			return nil, err
		}
		body.SetModel(only.Name)
	}
	var fields []server.IgnoredField
	for _, name := range body.Unknown {
		fields = append(fields, server.IgnoredField{Name: name, Reason: "unknown field " + name})
	}
	for _, name := range body.Misplaced {
		fields = append(fields, server.IgnoredField{Name: name, Reason: name + " has no effect: only objects of another type have it"})
	}
	return body, server.Ignore(r.Context(), fields...)
}

// CheckLive reports that the process is running.
func (h *Handler) CheckLive(context.Context, api.CheckLiveRequestObject) (api.CheckLiveResponseObject, error) {
	return api.CheckLive200Response{}, nil
}

// CheckReady reports whether requests would be served.
func (h *Handler) CheckReady(ctx context.Context, _ api.CheckReadyRequestObject) (api.CheckReadyResponseObject, error) {
	if err := h.service.Ready(ctx); err != nil {
		return nil, err
	}
	return api.CheckReady200Response{}, nil
}

// CheckStartup reports whether the server has ever been ready.
func (h *Handler) CheckStartup(ctx context.Context, _ api.CheckStartupRequestObject) (api.CheckStartupResponseObject, error) {
	if err := h.service.Started(ctx); err != nil {
		return nil, err
	}
	return api.CheckStartup200Response{}, nil
}

// GetVersion returns the version of the server.
func (h *Handler) GetVersion(context.Context, api.GetVersionRequestObject) (api.GetVersionResponseObject, error) {
	return api.GetVersion200JSONResponse{Version: h.cfg.Version}, nil
}

// ListModels lists the models that generate or embed, and the catalog of Codex if the client
// reports its version as Codex does.
func (h *Handler) ListModels(ctx context.Context, request api.ListModelsRequestObject) (api.ListModelsResponseObject, error) {
	answer := api.ListModels200JSONResponse{Object: "list", Data: []api.Model{}}
	models := h.service.Catalog().Models(ctx)
	for _, named := range models {
		answer.Data = append(answer.Data, h.model(named.Name, named.Card))
	}
	if request.Params.ClientVersion != nil {
		answer.Models = new(codexCatalog(ctx, models))
	}
	return answer, nil
}

// RetrieveModel returns one model.
func (h *Handler) RetrieveModel(ctx context.Context, req api.RetrieveModelRequestObject) (api.RetrieveModelResponseObject, error) {
	named, err := h.service.Catalog().Model(ctx, req.Model)
	if err != nil {
		return nil, err
	}
	return api.RetrieveModel200JSONResponse(h.model(named.Name, named.Card)), nil
}

// LoadModel loads a model of the repository.
func (h *Handler) LoadModel(ctx context.Context, req api.LoadModelRequestObject) (api.LoadModelResponseObject, error) {
	server.RecordOf(ctx).Model = req.Model
	card, err := h.service.LoadModel(ctx, req.Model)
	if err != nil {
		return nil, err
	}
	return api.LoadModel200JSONResponse(h.model(card.Name, card)), nil
}

// UnloadModel unloads a model.
func (h *Handler) UnloadModel(ctx context.Context, req api.UnloadModelRequestObject) (api.UnloadModelResponseObject, error) {
	server.RecordOf(ctx).Model = req.Model
	if err := h.service.UnloadModel(ctx, req.Model); err != nil {
		return nil, err
	}
	return api.UnloadModel200JSONResponse{Status: "success", Model: req.Model}, nil
}

func (h *Handler) model(name string, card *catalog.Card) api.Model {
	m := api.Model{ID: name, Object: "model", Created: card.Loaded.Unix(), OwnedBy: cmp.Or(h.cfg.OwnedBy, "triton")}
	if card.ContextLength > 0 {
		m.MaxModelLen = &card.ContextLength
	}
	return m
}
