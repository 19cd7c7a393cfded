package rest

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/eventstream"
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
	defer out.Close()
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
	defer out.Close()
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
	defer out.Close()
	rec := server.RecordOf(ctx)
	for resp, err := range h.core.Forward(ctx, *model, inference.InferRequestOf(req.whole())) {
		if err != nil && !out.Started() {
			return err
		}
		switch {
		case err != nil:
			rec.Error = err
			out.fail(inference.AsError(err))
			out.Send(false)
			return nil
		case resp.Idle || resp.End(req.head):
			continue
		}
		first := rec.FirstToken.IsZero()
		if first {
			rec.FirstToken = time.Now()
		}
		out.Buf = append(out.Buf, "data: "...)
		if err := out.add(resp); err != nil {
			rec.Error = err
			out.fail(inference.AsError(err))
		} else {
			out.Buf = append(out.Buf, "\n\n"...)
		}
		if !out.Send(resp.More && !first) {
			rec.Error = inference.AsError(context.Canceled)
			return nil
		}
	}
	out.Send(false)
	return nil
}

// events writes the responses of a request as server-sent events, or one response as JSON.
// An event needs no memory beyond its own bytes.
type events struct {
	eventstream.Writer

	w       http.ResponseWriter
	req     *request
	members []generated // JSON members of the latest response; the slice is reused for the next response
	whole   bool        // the engine's responses may be encoded messages
}

func newEvents(w http.ResponseWriter, req *request) *events {
	return &events{Writer: eventstream.New(w), w: w, req: req}
}

// reply writes the buffer as a non-streaming response.
func (e *events) reply() {
	e.w.Header().Set("Content-Type", "application/json")
	e.w.Header().Set("Content-Length", strconv.Itoa(len(e.Buf)))
	_, _ = e.w.Write(e.Buf) //nolint:gosec // JSON; the client may have disconnected
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
	start := len(e.Buf)
	to, err := e.appendGenerated(e.Buf, resp)
	if err != nil {
		e.Buf = to[:start]
		return err
	}
	e.Buf = to
	return nil
}

// fail ends the current event, or a new one, with an error.
func (e *events) fail(err *inference.Error) {
	const prefix = "data: "
	if n := len(e.Buf); n < len(prefix) || string(e.Buf[n-len(prefix):]) != prefix {
		e.Buf = append(e.Buf, prefix...)
	}
	if !e.Started() && len(e.Buf) == len(prefix) {
		e.Status = wirecode.KServeHTTP(err)
	}
	e.Buf = append(appendError(e.Buf, err), "\n\n"...)
}
