// Package rest is the frontend of KServe v2 by HTTP and JSON, with Triton's extensions: on a
// port of its own, and on the shared one. [Handler] routes requests as tritonserver's HTTP
// endpoint does. It calls the methods of [kserve.Service] for all that changes or describes
// the server, and the core for inferences, whose bodies it reads and writes.
//
// What REST shares with gRPC belongs to services/kserve, and the tensors in JSON to
// services/kserve/tensorjson.
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

// Path is the prefix of all paths.
const Path = "/v2"

// Handler answers KServe v2 by HTTP and JSON: the paths of openapi/kserve.yaml, which
// are tritonserver's. It may be used concurrently.
type Handler struct {
	service    *kserve.Service
	core       *serving.Service
	limit      int64 // of a body in bytes
	operations *server.Operations
	compressor compressor
}

// New makes the handler of all paths with the prefix [Path].
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

// NewRoutes mounts REST on the shared port.
func NewRoutes(h *Handler) []server.Route {
	return []server.Route{{Pattern: Path, Handler: h}, {Pattern: Path + "/", Handler: h}}
}

// Record implements [server.Router]. A request with a method that its path doesn't take
// has the record of one that it does.
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

// ServeHTTP routes a request. HEAD isn't GET, as to tritonserver.
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

// servable is false for versions that aren't numbers, whose paths aren't served.
func servable(escaped string) bool {
	segments := strings.Split(strings.TrimPrefix(escaped, Path+"/models/"), "/")
	return len(segments) < 3 || segments[1] != "versions" || !strings.ContainsFunc(segments[2], func(r rune) bool { return r < '0' || r > '9' })
}

// prepare makes the body what handlers read.
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

// refuse answers what no route takes: with 405 where one takes another method, else
// with 404.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request) {
	allowed, _ := h.allowed(r)
	if len(allowed) == 0 {
		h.notFound(w, r)
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeError(w, http.StatusMethodNotAllowed, "Method Not Allowed")
}

// allowed are the methods that the request's path takes, and the record of one of them,
// which is nil without any.
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

// writeError answers what never reaches the service.
func writeError(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, kserverest.Error{Error: text})
}

// writeJSON writes an answer of JSON in one piece.
func writeJSON(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		status = http.StatusInternalServerError
		body.Reset()
		body.WriteString(`{"error":"the answer can't be written as JSON"}` + "\n")
	}
	body.Truncate(body.Len() - 1) // the line's end
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // a client that has left needs none
}

// documentPattern is where clients find what they may ask.
const documentPattern = "GET " + Path + "/openapi.json"

// serveDocument answers with openapi/kserve.yaml as JSON, which is made for the first
// who asks.
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

// fail answers a REST request with an error as tritonserver does:
// {"error": "text"}, under the status of Triton's code.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	server.RecordOf(r.Context()).Error = err
	e := inference.AsError(err)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", wirecode.RetryAfter(e.RetryAfter))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(wirecode.KServeHTTP(e))
	_, _ = w.Write(appendError(nil, e)) //nolint:gosec // JSON; and a client that has left needs none
}

// appendError adds the JSON of an error.
func appendError(to []byte, e *inference.Error) []byte {
	return append(tensorjson.AppendQuoted(append(to, `{"error":`...), wirecode.KServeText(e)), '}')
}
