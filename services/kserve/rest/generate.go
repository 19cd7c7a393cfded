package rest

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/tensorjson"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/wirecode"
)

// generate serves POST /v2/models/{model}[/versions/{version}]/generate of Triton's
// generate extension, and generate_stream if stream is set. The body must be limited
// and decompressed.
func (h *Handler) generate(w http.ResponseWriter, r *http.Request, model, version string, stream bool) {
	server.RecordOf(r.Context()).Model = model
	ctx, target := r.Context(), h.core.ResolveOwn(model)
	req, err := readGenerate(r, &target, version)
	switch {
	case err != nil:
	case stream:
		err = h.streamGenerate(ctx, w, &target, req)
	case target.Decoupled(ctx):
		err = h.generateOne(ctx, w, &target, req)
	default:
		err = h.generateSingle(ctx, w, &target, req)
	}
	if err != nil {
		fail(w, r, err)
	}
}

func readGenerate(r *http.Request, model *catalog.Resolution, version string) (*request, error) {
	config, err := model.Config(r.Context())
	if err != nil {
		return nil, err
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	defer body.Free()
	req := newRequest(model.Name, version)
	parsed, err := tensorjson.Parse(prefixOf(body, body.Len()))
	if err == nil {
		err = req.readGenerate(config, parsed.Root())
	}
	if err != nil {
		return nil, orOfModel(r.Context(), model, version, err)
	}
	return req, nil
}

// generateSingle sends the one response of a model that isn't decoupled.
func (h *Handler) generateSingle(ctx context.Context, w http.ResponseWriter, model *catalog.Resolution, req *request) error {
	message, err := req.encode()
	if err != nil {
		return err
	}
	defer message.Free()
	out := newEvents(w, req)
	defer out.close()
	out.whole = true
	if err := h.core.Infer(ctx, *model, message, out.add); err != nil {
		return err
	}
	out.reply()
	return nil
}

// generateOne sends the one response of a decoupled model. A second response is an
// error, as in tritonserver, and cancels the model.
func (h *Handler) generateOne(ctx context.Context, w http.ResponseWriter, model *catalog.Resolution, req *request) error {
	out := newEvents(w, req)
	defer out.close()
	var failed error
	count := 0
	for resp, err := range h.core.Forward(ctx, *model, inference.InferRequestOf(req.whole())) {
		switch {
		case err != nil:
			return err
		case resp.Idle || resp.End(req.head):
			continue
		}
		count++
		if count > 1 {
			break
		}
		failed = out.add(resp)
	}
	switch {
	case count != 1:
		return &inference.Error{
			Code: inference.CodeInternal, Triton: inference.TritonInternal, Message: "generate expects model to produce exactly 1 response, " +
				"use generate stream for model that generates various number of responses",
		}
	case failed != nil:
		return failed
	}
	out.reply()
	return nil
}

// streamGenerate sends each response as an event. Errors of the model are events,
// too, except an error before the first event, which has its own status.
func (h *Handler) streamGenerate(ctx context.Context, w http.ResponseWriter, model *catalog.Resolution, req *request) error {
	out := newEvents(w, req)
	defer out.close()
	rec := server.RecordOf(ctx)
	for resp, err := range h.core.Forward(ctx, *model, inference.InferRequestOf(req.whole())) {
		if err != nil && !out.started {
			return err
		}
		switch {
		case err != nil:
			rec.Error = err
			out.fail(inference.AsError(err))
			out.send(false)
			return nil
		case resp.Idle || resp.End(req.head):
			continue
		}
		first := rec.FirstToken.IsZero()
		if first {
			rec.FirstToken = time.Now()
		}
		*out.buf = append(*out.buf, "data: "...)
		if err := out.add(resp); err != nil {
			rec.Error = err
			out.fail(inference.AsError(err))
		} else {
			*out.buf = append(*out.buf, "\n\n"...)
		}
		if !out.send(resp.More && !first) {
			rec.Error = inference.AsError(context.Canceled)
			return nil
		}
	}
	out.send(false)
	return nil
}

// events writes server-sent events. Events that are ready together are sent in one
// write. An event needs no memory beyond its own bytes.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	req     *request
	buf     *[]byte
	members []generated // of the latest response; reused
	status  int
	started bool
	whole   bool // responses may be encoded messages
}

const (
	// maxBatch is the size, in bytes, at which buffered events are written even if
	// more are ready.
	maxBatch = 16 << 10
	// maxPooled is the maximum size of pooled buffers, which keeps those of unusual
	// requests out of the pool.
	maxPooled = 64 << 10
)

var eventBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }} //nolint:gochecknoglobals // a pool is global by design

func newEvents(w http.ResponseWriter, req *request) *events {
	return &events{
		w: w, control: http.NewResponseController(w), req: req, status: http.StatusOK,
		buf: eventBuffers.Get().(*[]byte), //nolint:forcetypeassert // the pool's own
	}
}

// close returns the buffer to the pool.
func (e *events) close() {
	if cap(*e.buf) <= maxPooled {
		*e.buf = (*e.buf)[:0]
		eventBuffers.Put(e.buf)
	}
}

// reply writes the buffer as a non-streaming response.
func (e *events) reply() {
	e.w.Header().Set("Content-Type", "application/json")
	e.w.Header().Set("Content-Length", strconv.Itoa(len(*e.buf)))
	_, _ = e.w.Write(*e.buf) //nolint:gosec // JSON; the client may have disconnected
}

// add appends a response's JSON. It appends nothing if the response failed.
func (e *events) add(resp *inference.Response) error {
	if e.whole && resp.Encoded != nil {
		decoded, err := decodeInfer(resp.Encoded.Materialize())
		if err != nil {
			return err
		}
		resp = decoded
	}
	if resp.Err != nil {
		return resp.Err
	}
	start := len(*e.buf)
	to, err := e.appendGenerated(*e.buf, resp)
	if err != nil {
		*e.buf = to[:start]
		return err
	}
	*e.buf = to
	return nil
}

// fail ends the current event, or a new one, with an error.
func (e *events) fail(err *inference.Error) {
	const prefix = "data: "
	if n := len(*e.buf); n < len(prefix) || string((*e.buf)[n-len(prefix):]) != prefix {
		*e.buf = append(*e.buf, prefix...)
	}
	if !e.started && len(*e.buf) == len(prefix) {
		e.status = wirecode.KServeHTTP(err)
	}
	*e.buf = append(appendError(*e.buf, err), "\n\n"...)
}

// send writes the buffer unless more follows at once. It returns false if the client
// has disconnected.
func (e *events) send(more bool) bool {
	if more && len(*e.buf) < maxBatch {
		return true
	}
	if !e.started {
		e.started = true
		h := e.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no") // proxies must not buffer events
		e.w.WriteHeader(e.status)
	}
	_, err := e.w.Write(*e.buf) //nolint:gosec // an event stream of JSON
	*e.buf = (*e.buf)[:0]
	if err == nil {
		err = e.control.Flush()
	}
	return err == nil
}
