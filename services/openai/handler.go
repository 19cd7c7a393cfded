// Package openai is the OpenAI frontend: it decodes requests of OpenAI's API,
// calls the core and encodes its answers. Routes and types come from
// openapi/openai.yaml; nothing here decides about models.
package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// Config of the frontend. The zero value is the configuration without flags.
type Config struct {
	// Strict refuses fields that neither OpenAI's API nor the engine knows.
	Strict bool
}

// Handler serves OpenAI's API and the health probes. It may be used
// concurrently.
type Handler struct {
	cfg       Config
	service   *inference.Service
	validator *Validator
	log       *slog.Logger
	mux       *http.ServeMux
}

// New makes a handler over the service.
func New(cfg Config, service *inference.Service, log *slog.Logger) (*Handler, error) {
	validator, err := NewValidator()
	if err != nil {
		return nil, fmt.Errorf("openapi document: %w", err)
	}
	h := &Handler{cfg: cfg, service: service, validator: validator, log: log, mux: http.NewServeMux()}
	strict := api.NewStrictHandlerWithOptions(h, nil, api.StrictHTTPServerOptions{
		RequestErrorHandlerFunc:  writeError,
		ResponseErrorHandlerFunc: writeError,
	})
	api.HandlerWithOptions(strict, api.StdHTTPServerOptions{
		BaseRouter:       h.mux,
		ErrorHandlerFunc: writeError,
		Middlewares:      []api.MiddlewareFunc{h.checkBody},
	})
	return h, nil
}

// ServeHTTP routes a request. What no route takes is answered in OpenAI's error
// shape, too.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = escapeModelName(r)
	handler, pattern := h.mux.Handler(r)
	if pattern != "" {
		h.mux.ServeHTTP(w, r)
		return
	}
	refused := refusal{header: w.Header(), status: http.StatusNotFound}
	handler.ServeHTTP(&refused, r)
	switch {
	case refused.status == http.StatusMethodNotAllowed:
		writeError(w, r, &httpError{refused.status, "method_not_allowed", fmt.Sprintf("%s can't be used on this path; %s can", r.Method, w.Header().Get("Allow"))})
	case refused.status < http.StatusBadRequest: // a redirect to the clean path
		w.WriteHeader(refused.status)
	default:
		writeError(w, r, &httpError{http.StatusNotFound, "unknown_url", "this path is not served: the API is below /v1, such as POST /v1/chat/completions"})
	}
}

// refusal takes the mux's own answer for its status and Allow header.
type refusal struct {
	header http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) Write(b []byte) (int, error) { return len(b), nil }
func (r *refusal) WriteHeader(status int)      { r.status = status }

const modelsPath = "/v1/models/"

// escapeModelName makes one path segment of a model name that holds slashes.
func escapeModelName(r *http.Request) *http.Request {
	name, ok := strings.CutPrefix(r.URL.Path, modelsPath)
	if !ok || !strings.Contains(name, "/") {
		return r
	}
	u := *r.URL
	u.RawPath = modelsPath + url.PathEscape(name)
	escaped := r.WithContext(r.Context())
	escaped.URL = &u
	return escaped
}

// checkBody reads and validates the body before the generated code decodes it.
func (h *Handler) checkBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := h.readBody(w, r)
		if err != nil {
			writeError(w, r, err)
			return
		}
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// readBody also tells, in a header and in the log, which fields nobody knows.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) (*Validated, error) {
	raw, err := readAll(w, r)
	if err != nil {
		return nil, err
	}
	body, err := h.validator.Validate(r.Pattern, raw)
	switch {
	case err != nil || len(body.Unknown) == 0:
		return body, err
	case h.cfg.Strict:
		return nil, inference.Unsupported(body.Unknown[0], "unknown field %s", body.Unknown[0])
	}
	server.RecordOf(r.Context()).Ignored = body.Unknown
	w.Header().Set("X-Trident-Ignored-Fields", headerList(body.Unknown))
	return body, nil
}

// maxHeaderList bounds the header: the names come from the client.
const maxHeaderList = 1024

// headerList joins names, percent-encoded where a header can't hold them.
func headerList(names []string) string {
	var b strings.Builder
	for i, name := range names {
		name = url.PathEscape(name)
		if b.Len()+len(name) > maxHeaderList {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String()
}

// maxPrealloc bounds what a Content-Length alone makes us allocate, and
// bodyPause how long a client may send nothing in the middle of a body.
const (
	maxPrealloc = 1 << 20
	bodyPause   = 30 * time.Second
)

func readAll(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, &httpError{http.StatusUnsupportedMediaType, "unsupported_content_encoding", "send the body without Content-Encoding"}
	}
	var body bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= maxPrealloc {
		body.Grow(int(n) + bytes.MinRead)
	}
	control := http.NewResponseController(w)
	_, err := body.ReadFrom(readerFunc(func(p []byte) (int, error) {
		_ = control.SetReadDeadline(time.Now().Add(bodyPause)) // tests' recorders have none
		return r.Body.Read(p)
	}))
	_ = control.SetReadDeadline(time.Time{}) // from here on the connection is only watched
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil || errors.As(err, &tooLarge):
		return body.Bytes(), err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &httpError{http.StatusRequestTimeout, "request_timeout", fmt.Sprintf("the request body paused for more than %s", bodyPause)}
	}
	return nil, &httpError{http.StatusBadRequest, "incomplete_body", "the request body ended early"}
}

// readerFunc is a function as an [io.Reader].
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// CheckLive tells that the process runs.
func (h *Handler) CheckLive(context.Context, api.CheckLiveRequestObject) (api.CheckLiveResponseObject, error) {
	return api.CheckLive200Response{}, nil
}

// CheckReady tells whether requests would be served.
func (h *Handler) CheckReady(ctx context.Context, _ api.CheckReadyRequestObject) (api.CheckReadyResponseObject, error) {
	if err := h.service.Ready(ctx); err != nil {
		return nil, err
	}
	return api.CheckReady200Response{}, nil
}

// owner of all models in lists.
const owner = "triton"

// ListModels lists the models that generate or embed.
func (h *Handler) ListModels(context.Context, api.ListModelsRequestObject) (api.ListModelsResponseObject, error) {
	answer := api.ListModels200JSONResponse{Object: "list", Data: []api.Model{}}
	for _, card := range h.service.Models() {
		answer.Data = append(answer.Data, model(card))
	}
	return answer, nil
}

// RetrieveModel describes one model.
func (h *Handler) RetrieveModel(ctx context.Context, req api.RetrieveModelRequestObject) (api.RetrieveModelResponseObject, error) {
	card, err := h.service.Model(ctx, req.Model)
	if err != nil {
		return nil, err
	}
	return api.RetrieveModel200JSONResponse(model(card)), nil
}

func model(card *inference.Card) api.Model {
	return api.Model{ID: card.Name, Object: "model", Created: card.Loaded.Unix(), OwnedBy: owner}
}
