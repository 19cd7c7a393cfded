package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"google.golang.org/grpc/mem"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/tensorjson"
	"github.com/trident-inference/trident/services/server"
)

// headerLength is the header with the number of JSON bytes in a body with binary
// tensors (Triton's binary tensor data extension).
const headerLength = "Inference-Header-Content-Length"

// answerInfer serves POST /v2/models/{model}[/versions/{version}]/infer. The body
// must be limited and decompressed.
func (h *Handler) answerInfer(w http.ResponseWriter, r *http.Request, model, version string) {
	server.RecordOf(r.Context()).Model = model
	answer, err := h.replyTo(r, model, version)
	if err != nil {
		fail(w, r, err)
		return
	}
	defer answer.free()
	answer.write(w)
}

func (h *Handler) replyTo(r *http.Request, model, version string) (*reply, error) {
	ctx, target := r.Context(), h.core.ResolveOwn(model)
	if target.Decoupled(ctx) {
		return nil, &inference.Error{
			Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Triton: inference.TritonUnsupported,
			Message: "HTTP end point doesn't support models with decoupled transaction policy",
		}
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	defer body.Free()
	req := newRequest(model, version)
	defer req.free()
	config := func() (*api.ModelConfig, error) { return target.Config(ctx) }
	if err := req.readBody(r.Header, body, config); err != nil {
		return nil, orOfModel(ctx, &target, version, err)
	}
	req.head.Parameters = h.service.ForwardHTTP(req.head.GetParameters(), r)
	message, err := req.encode()
	if err != nil {
		return nil, err
	}
	defer message.Free()
	var answer *reply
	err = h.core.Infer(ctx, target, message, func(resp *inference.Response) (err error) {
		answer, err = req.reply(resp)
		return err
	})
	if err != nil {
		answer.free()
		return nil, err
	}
	return answer, nil
}

// readBody reads a body, which is JSON, JSON and tensors, or a tensor alone. Only
// the last needs the model's configuration.
func (q *request) readBody(header http.Header, body mem.BufferSlice, config func() (*api.ModelConfig, error)) error {
	size := body.Len()
	length := size
	if text := header.Get(headerLength); text != "" {
		if length = leadingNumber(text); length < 0 || length > size {
			return tensorjson.Invalid("inference header size should be in range (0, %d), got: %s", size, text)
		}
	}
	if length == 0 {
		config, err := config()
		if err != nil {
			return err
		}
		return q.readRaw(config, body)
	}
	parsed, err := tensorjson.Parse(prefixOf(body, length))
	if err != nil {
		return err
	}
	return q.read(parsed.Root(), &tensorData{rest: body, at: length})
}

// orOfModel returns err, an error about the request's body. If the model doesn't
// exist, orOfModel returns the error of an unknown model instead, since tritonserver
// checks the model first.
func orOfModel(ctx context.Context, model *catalog.Resolution, version string, err error) error {
	engine, away := model.Engine(ctx)
	if away != nil {
		return away
	}
	describer, ok := engine.(inference.Describer)
	if !ok {
		return err
	}
	if _, wrong := describer.ModelConfig(ctx, &api.ModelConfigRequest{Name: model.Name, Version: version}); wrong != nil {
		return wrong
	}
	return err
}

// leadingNumber parses a number as C's atoi does: it ignores what follows the
// number, and returns 0 without a number. leadingNumber returns a negative number if
// the number is out of range.
func leadingNumber(text string) int {
	end := 0
	for end < len(text) && (text[end]-'0' <= 9 || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	n, err := strconv.Atoi(text[:end])
	if errors.Is(err, strconv.ErrRange) {
		return -1
	}
	return n
}

// firstBuffer is the maximum size of a body's first buffer, in bytes, whatever
// length the request announces.
const firstBuffer = 1 << 20

// readBody reads a request's body into buffers, whose total size is at most twice
// the body's. The caller frees them.
func readBody(r *http.Request) (mem.BufferSlice, error) {
	const least = 512
	pool := mem.DefaultBufferPool()
	var body mem.BufferSlice
	announced := int(max(r.ContentLength, 0))
	next := min(max(announced, least), firstBuffer)
	for total := 0; ; {
		buffer := pool.Get(next)
		n, err := fill(*buffer, r.Body)
		*buffer = (*buffer)[:n]
		total += n
		if n > 0 {
			body = append(body, mem.NewBuffer(buffer, pool))
		} else {
			pool.Put(buffer)
		}
		switch {
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			body.Free()
			return nil, bodyError(err)
		}
		next = max(total, least)
		if announced >= total {
			next = max(min(next, announced-total), least)
		}
	}
}

// fill reads until the buffer is full or an error occurs.
func fill(buffer []byte, r io.Reader) (n int, err error) {
	for n < len(buffer) && err == nil {
		var more int
		more, err = r.Read(buffer[n:])
		n += more
	}
	return n, err
}

// prefixOf returns the first n bytes of the body as one slice. It copies them only
// if they are in several buffers.
func prefixOf(body mem.BufferSlice, n int) []byte {
	if n == 0 {
		return nil
	}
	if first := body[0].ReadOnlyData(); n <= len(first) {
		return first[:n:n]
	}
	whole := make([]byte, n)
	for at, i := 0, 0; at < n; i++ {
		at += copy(whole[at:], body[i].ReadOnlyData())
	}
	return whole
}

// tensorData is the part of a body after its JSON.
type tensorData struct {
	rest mem.BufferSlice
	at   int // number of bytes of rest[0] that have been taken
}

// take returns the next n bytes as views, which the caller frees, and the number of
// missing bytes.
func (d *tensorData) take(n uint64) (content mem.BufferSlice, missing uint64) {
	for n > 0 && d.more() {
		buffer := d.rest[0]
		end := d.at + int(min(n, uint64(buffer.Len()-d.at)))
		content = append(content, buffer.Slice(d.at, end))
		n -= uint64(end - d.at)
		d.at = end
	}
	return content, n
}

// more reports whether any bytes are left.
func (d *tensorData) more() bool {
	for len(d.rest) > 0 && d.at >= d.rest[0].Len() {
		d.at -= d.rest[0].Len()
		d.rest = d.rest[1:]
	}
	return len(d.rest) > 0
}
