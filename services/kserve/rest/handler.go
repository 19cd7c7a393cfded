// Package rest is the frontend of KServe v2 over HTTP and JSON, with Triton's extensions. It
// serves a separate port and the shared one. [Handler] routes requests as tritonserver's
// HTTP endpoint does. It calls the methods of [kserve.Service] for requests that change or
// describe the server. It calls the core for inferences, whose bodies it reads and writes
// itself. Methods without a rule of HTTP belong to services/kserve.
//
// services/kserve has the parts that REST shares with gRPC, and services/kserve/tensorjson
// the tensors in JSON.
package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/gen/go/kserverest"
	"github.com/trident-inference/trident/openapi"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/tensorjson"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/wirecode"
)

// Path is the prefix of the paths of KServe's REST API.
const Path = "/v2"

// Handler serves KServe v2 over HTTP and JSON: the paths of openapi/kserve.yaml, which are
// tritonserver's. A Handler may be used concurrently.
type Handler struct {
	service    *kserve.Service
	core       *serving.Service
	limit      int64 // maximum bytes of a body
	operations *server.Operations
	compressor compressor
}

// New returns the handler of all paths with the prefix [Path].
func New(s *kserve.Service, core *serving.Service, cfg server.Config) (*Handler, error) {
	h := &Handler{service: s, core: core, limit: cfg.MaxBody, operations: server.NewOperations(auth.REST)}
	kserverest.HandlerWithOptions(h, kserverest.StdHTTPServerOptions{
		BaseRouter:       h.operations,
		ErrorHandlerFunc: func(w http.ResponseWriter, r *http.Request, _ error) { h.notFound(w, r) },
		Middlewares:      []kserverest.MiddlewareFunc{h.prepare},
	})
	h.operations.HandleFunc(documentPattern, h.prepare(serveDocument()).ServeHTTP)
	h.operations.Refuse("/", h.refuse)
	return h, h.operations.Err()
}

// NewRoutes returns the routes of REST on the shared port.
func NewRoutes(h *Handler) []server.Route {
	return []server.Route{{Pattern: Path, Handler: h}, {Pattern: Path + "/", Handler: h}}
}

// Record implements [server.Router]. For a method that the path doesn't support it returns
// the record of one that the path supports.
func (h *Handler) Record(r *http.Request) *auth.Record {
	if !servable(r.URL.EscapedPath()) {
		return auth.Unmatched(auth.REST)
	}
	if record := h.operations.Record(r); record.Pattern != "" && r.Method != http.MethodHead {
		return record
	}
	if _, record := h.allowed(r); record != nil {
		return record
	}
	return auth.Unmatched(auth.REST)
}

// Refuse implements [server.Refuser].
func (*Handler) Refuse(w http.ResponseWriter, r *http.Request, err error) { fail(w, r, err) }

// ServeHTTP routes a request. HEAD isn't served as GET, as in tritonserver.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !servable(r.URL.EscapedPath()):
		h.notFound(w, r)
	case r.Method == http.MethodHead:
		h.refuse(w, r)
	default:
		h.operations.ServeHTTP(w, r)
	}
}

// servable reports whether a path may be served: a version must be a number.
func servable(escaped string) bool {
	segments := strings.Split(strings.TrimPrefix(escaped, Path+"/models/"), "/")
	return len(segments) < 3 || segments[1] != "versions" || !strings.ContainsFunc(segments[2], func(r rune) bool { return r < '0' || r > '9' })
}

// prepare checks that the key allows the model, and decompresses the body.
func (h *Handler) prepare(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		model := r.PathValue("model")
		server.RecordOf(r.Context()).Model = model
		err := error(nil)
		if model != "" {
			err = inference.MayUse(r.Context(), model)
		}
		if err == nil {
			err = h.openBody(w, r)
		}
		if err != nil {
			fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuse responds to requests that match no route: with 405 if the path has a route with
// another method, else with 404.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request) {
	allowed, _ := h.allowed(r)
	if len(allowed) == 0 {
		h.notFound(w, r)
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeError(w, http.StatusMethodNotAllowed, "Method Not Allowed")
}

// allowed returns the methods that the request's path supports, and the record of one of
// them. The record is nil if there are none.
func (h *Handler) allowed(r *http.Request) (methods []string, record *auth.Record) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.WithContext(r.Context())
		other.Method = method
		if found := h.operations.Record(other); found.Pattern != "" {
			methods, record = append(methods, method), found
		}
	}
	return methods, record
}

func (*Handler) notFound(w http.ResponseWriter, _ *http.Request) {
	writeError(w, http.StatusNotFound, "Not Found")
}

// writeError responds with an error that doesn't come from the service.
func writeError(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, kserverest.Error{Error: text})
}

// writeJSON writes a whole JSON response.
func writeJSON(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		status = http.StatusInternalServerError
		body.Reset()
		body.WriteString(`{"error":"the response can't be encoded as JSON"}` + "\n")
	}
	body.Truncate(body.Len() - 1) // this removes the newline
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client may have disconnected
}

// documentPattern is the route of the OpenAPI document.
const documentPattern = "GET " + Path + "/openapi.json"

// serveDocument returns a handler that serves openapi/kserve.yaml as JSON. The first request
// generates the JSON.
func serveDocument() http.HandlerFunc {
	document := sync.OnceValues(func() (json.RawMessage, error) {
		doc, err := openapi3.NewLoader().LoadFromData(openapi.KServe())
		if err != nil {
			return nil, err
		}
		return doc.MarshalJSON()
	})
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := document()
		if err != nil {
			fail(w, r, err)
			return
		}
		writeJSON(w, http.StatusOK, body)
	}
}

// fail responds with an error as tritonserver does: {"error": "text"}, with the status of
// Triton's code.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	server.RecordOf(r.Context()).Error = err
	e := inference.AsError(err)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", wirecode.RetryAfter(e.RetryAfter))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(wirecode.KServeHTTP(e))
	_, _ = w.Write(appendError(nil, e)) //nolint:gosec // JSON; the client may have disconnected
}

// appendError appends the JSON of an error.
func appendError(to []byte, e *inference.Error) []byte {
	return append(tensorjson.AppendQuoted(append(to, `{"error":`...), wirecode.KServeText(e)), '}')
}
