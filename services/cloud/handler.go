package cloud

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/wirecode"
)

// handler translates a platform's requests into requests to the handlers of the shared
// port. It may be used concurrently.
type handler struct {
	health  string // URL path of the hosting platform's health checks, such as SageMaker's /ping
	probe   string // Trident's probe that answers these health checks: live or ready
	predict string // URL path of all requests of the hosting platform to models
	// kind is the kind of the path's requests, such as infer. If it is empty, the body determines
	// the kind.
	kind     string
	model    string // default model; if empty, the only model is the default
	setting  string // operators' name of the setting of the default model
	binary   string // content type of KServe's binary requests, without the length
	redirect string // header with the path to redirect to; empty if there is none

	routes  *server.Mux // routes of the shared port, to which requests are passed on
	catalog *catalog.Catalog
}

// The kinds of KServe's requests.
const (
	kindInfer          = "infer"
	kindGenerate       = "generate"
	kindGenerateStream = "generate_stream"
)

// headerLength is KServe's header with the length of the JSON before binary data.
const headerLength = "Inference-Header-Content-Length"

// ServeHTTP serves the platform's two paths.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == h.health && (r.Method == http.MethodGet || r.Method == http.MethodPost): // vLLM takes both
		h.forward(w, r, http.MethodGet, h.healthPath(), http.NoBody)
	case r.URL.Path != h.health && r.URL.Path != h.predict:
		refuse(w, r, inference.CodeNotFound, inference.ReasonUnknownPath, "this port serves only "+h.health+" and "+h.predict)
	case r.URL.Path == h.health, r.Method != http.MethodPost:
		allowed := http.MethodPost
		if r.URL.Path == h.health {
			allowed = http.MethodGet
		}
		w.Header().Set("Allow", allowed)
		refuse(w, r, inference.CodeInvalid, inference.ReasonMethod, "the method "+r.Method+" isn't allowed on the path "+r.URL.Path+": use "+allowed)
	case h.redirect != "" && r.Header.Get(h.redirect) != "":
		h.redirected(w, r, "/"+strings.TrimPrefix(r.Header.Get(h.redirect), "/"))
	default:
		h.infer(w, r)
	}
}

// Record implements [server.Router]. The platform's paths are configurable, so that the
// record depends on the path's role: a probe, or a request to a model.
func (h *handler) Record(r *http.Request) *auth.Record {
	switch r.URL.Path {
	case h.health:
		return auth.Find(http.MethodGet + " " + h.healthPath())
	case h.predict:
		if h.redirect != "" && r.Header.Get(h.redirect) != "" {
			return auth.Redirect()
		}
		return auth.Predict()
	}
	return auth.Unmatched(auth.Pages)
}

// healthPath returns the path of the platform's probe on the shared port.
func (h *handler) healthPath() string { return "/health/" + h.probe }

// redirected forwards a request to the path that its header names. As in tritonserver, it
// refuses requests that change something: those need the operator's own ports.
func (h *handler) redirected(w http.ResponseWriter, r *http.Request, path string) {
	post, get := h.operation(r, http.MethodPost, path), h.operation(r, http.MethodGet, path)
	switch {
	case post != nil && post.Effect != auth.Changes:
		if err := h.textLength(r); err != nil {
			refuse(w, r, inference.CodeInvalid, inference.ReasonInvalidValue, err.Error())
			return
		}
		h.forward(h.answering(w, path), r, http.MethodPost, path, r.Body)
	case get != nil && get.Effect != auth.Changes:
		h.forward(w, r, http.MethodGet, path, http.NoBody)
	case post != nil || get != nil:
		refuse(w, r, inference.CodeForbidden, inference.ReasonForbidden, "the header "+h.redirect+" names an operation that changes the server: only operations that change nothing are allowed there")
	default:
		refuse(w, r, inference.CodeInvalid, inference.ReasonInvalidValue, "the header "+h.redirect+" names a path that isn't served")
	}
}

// operation returns the record of a method and path of the shared port. It returns nil if
// there is no route or if the path isn't in its clean form.
func (h *handler) operation(r *http.Request, method, escaped string) *auth.Record {
	next, err := redirect(r, method, escaped)
	if err != nil || path.Clean(escaped) != escaped {
		return nil
	}
	if record := h.routes.Record(next); strings.HasPrefix(record.Pattern, method+" ") {
		return record
	}
	return nil
}

// infer determines from the body which API a request is for, and forwards it.
func (h *handler) infer(w http.ResponseWriter, r *http.Request) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		refuse(w, r, inference.CodeInvalid, inference.ReasonBodyEncoding, "the Content-Encoding of the body is not supported: send the body without it")
		return
	}
	if err := h.textLength(r); err != nil {
		refuse(w, r, inference.CodeInvalid, inference.ReasonInvalidValue, err.Error())
		return
	}
	if r.Header.Get(headerLength) != "" || h.kind == kindInfer {
		h.kserve(w, r, kindInfer, r.Body)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil { // the handler that reads the body again maps the error
		h.forward(w, r, http.MethodPost, "/v1/chat/completions", failing{err})
		return
	}
	if h.kind != "" {
		h.kserve(w, r, h.kind, bytes.NewReader(body))
		return
	}
	if err := budget.CheckMembers(body); err != nil {
		refuse(w, r, inference.CodeInvalid, inference.ReasonInvalidValue, err.Error())
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil { // the handler that decodes the body again maps the error
		h.forward(w, r, http.MethodPost, "/v1/chat/completions", bytes.NewReader(body))
		return
	}
	switch has := func(name string) bool { _, ok := fields[name]; return ok }; {
	case has("messages"):
		h.openai(w, r, "/v1/chat/completions", fields, body)
	case has("prompt"):
		h.openai(w, r, "/v1/completions", fields, body)
	case has("inputs"):
		h.kserve(w, r, kindInfer, bytes.NewReader(body))
	case has("text_input"):
		kind := kindGenerate
		if string(fields["stream"]) == "true" {
			kind = kindGenerateStream
		}
		h.kserve(w, r, kind, bytes.NewReader(body))
	case has("input"):
		h.openai(w, r, "", fields, body)
	default:
		refuse(w, r, inference.CodeInvalid, inference.ReasonInvalidValue, "the body must have one of the fields messages, prompt, input, inputs and text_input, which determine the API")
	}
}

// openai forwards a request of OpenAI's API and adds the default model if the request
// names no model. An empty path is for a request with the field input: such a request is
// forwarded to /v1/embeddings if the model embeds and doesn't generate, and to /v1/responses otherwise.
func (h *handler) openai(w http.ResponseWriter, r *http.Request, path string, fields map[string]json.RawMessage, body []byte) {
	var model string
	if raw, named := fields["model"]; named {
		_ = json.Unmarshal(raw, &model) // the next handler refuses a model that isn't a string
	} else {
		var err error
		if model, err = h.defaultModel(); err != nil {
			h.nameless(w, r, err)
			return
		}
		name, _ := json.Marshal(model) //nolint:errchkjson // a string
		rest := bytes.TrimLeft(bytes.TrimLeft(body, " \t\r\n")[1:], " \t\r\n")
		body = append(append([]byte(`{"model":`), name...), ',')
		body = append(body, rest...)
	}
	if path == "" {
		path = "/v1/responses"
		if card, err := h.catalog.Lookup(r.Context(), model); err == nil && card.Tasks&(inference.TaskEmbed|inference.TaskGenerate) == inference.TaskEmbed {
			path = "/v1/embeddings"
		}
	}
	h.forward(w, r, http.MethodPost, path, bytes.NewReader(body))
}

// kserve forwards a request of KServe v2 to the default model.
func (h *handler) kserve(w http.ResponseWriter, r *http.Request, kind string, body io.Reader) {
	model, err := h.defaultModel()
	if err != nil {
		h.nameless(w, r, err)
		return
	}
	h.forward(h.answering(w, kind), r, http.MethodPost, "/v2/models/"+url.PathEscape(model)+"/"+kind, body)
}

// defaultModel returns the configured model, else the only model that generates or
// embeds, else the only ready model.
func (h *handler) defaultModel() (string, error) {
	if h.model != "" {
		return h.model, nil
	}
	var listed, ready []string
	for _, card := range h.catalog.Cards() {
		if card.State == inference.ModelReady {
			ready = append(ready, card.Name)
		}
		if card.Listed() {
			listed = append(listed, card.Name)
		}
	}
	switch {
	case len(listed) == 1:
		return listed[0], nil
	case len(listed) == 0 && len(ready) == 1:
		return ready[0], nil
	}
	return "", fmt.Errorf("the request names no model, and %d models are ready: send a body with the field model, or set the default model of the port (%s)", len(ready), h.setting)
}

// nameless answers a request that names no model if there is no default model. While the
// server isn't ready, it answers with the readiness, since the models aren't known yet.
func (h *handler) nameless(w http.ResponseWriter, r *http.Request, err error) {
	if h.catalog.Ready(r.Context()) != nil {
		h.forward(w, r, http.MethodGet, "/health/ready", http.NoBody)
		return
	}
	refuse(w, r, inference.CodeInvalid, inference.ReasonInvalidValue, err.Error())
}

// textLength moves the length of the JSON from the platform's content type to KServe's
// header.
func (h *handler) textLength(r *http.Request) error {
	kind := r.Header.Get("Content-Type")
	switch at := strings.Index(kind, h.binary); {
	case at < 0:
		return nil
	case at > 0:
		return fmt.Errorf("the content type must start with %q", h.binary)
	}
	length := kind[len(h.binary):]
	if _, err := strconv.ParseUint(length, 10, 31); err != nil {
		return fmt.Errorf("the length in the content type, %q, is not a number of bytes", length)
	}
	r.Header.Set(headerLength, length)
	r.Header.Set("Content-Type", "application/octet-stream")
	return nil
}

// forward calls the handler of a path of the shared port.
func (h *handler) forward(w http.ResponseWriter, r *http.Request, method, escaped string, body io.Reader) {
	next, err := redirect(r, method, escaped)
	if err != nil {
		refuse(w, r, inference.CodeInvalid, inference.ReasonInvalidValue, "the path has an invalid percent-encoding")
		return
	}
	switch b := body.(type) {
	case *bytes.Reader:
		next.Body, next.ContentLength = io.NopCloser(b), b.Size()
	case io.ReadCloser:
		next.Body = b
		if b == http.NoBody {
			next.ContentLength = 0
		}
	default:
		next.Body, next.ContentLength = io.NopCloser(b), -1
	}
	h.routes.ServeHTTP(w, next)
}

// redirect returns a copy of the request with another method and path.
func redirect(r *http.Request, method, escaped string) (*http.Request, error) {
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, err
	}
	next := r.Clone(r.Context())
	next.Method, next.Pattern = method, ""
	next.URL = &url.URL{Path: path, RawPath: escaped, RawQuery: r.URL.RawQuery}
	next.RequestURI = next.URL.RequestURI()
	return next, nil
}

// failing is a reader that returns the error of a body that couldn't be read.
type failing struct{ err error }

// Read returns the error.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// answering returns a writer that sets the platform's content type on KServe's responses
// with binary data.
func (h *handler) answering(w http.ResponseWriter, path string) http.ResponseWriter {
	if !strings.HasSuffix(path, kindInfer) {
		return w
	}
	return &answer{ResponseWriter: w, binary: h.binary}
}

type answer struct {
	http.ResponseWriter

	binary string
	begun  bool
}

// WriteHeader moves the length of the JSON to the platform's content type.
func (a *answer) WriteHeader(status int) {
	if header := a.Header(); !a.begun && header.Get(headerLength) != "" {
		header.Set("Content-Type", a.binary+header.Get(headerLength))
		header.Del(headerLength)
	}
	a.begun = true
	a.ResponseWriter.WriteHeader(status)
}

// Write writes the header first if that hasn't happened.
func (a *answer) Write(p []byte) (int, error) {
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets [http.ResponseController] reach the underlying writer.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// refuse responds in the form of OpenAI's errors.
func refuse(w http.ResponseWriter, r *http.Request, code inference.Code, reason inference.Reason, text string) {
	server.RecordOf(r.Context()).Error = &inference.Error{Code: code, Reason: reason, Message: text}
	status, kind := wirecode.OpenAI(code, reason)
	body, _ := json.Marshal(map[string]any{ //nolint:errchkjson // strings only
		"error": map[string]any{"message": text, "type": kind, "param": nil, "code": reason.String()},
	})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}
