package rest

import (
	"net/http"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// ReadInfer reads a body from several buffers, of a request to a model with this
// configuration. The caller frees the message.
func ReadInfer(header http.Header, config *api.ModelConfig, body mem.BufferSlice) (*inference.InferRequest, error) {
	q := newRequest("m", "")
	defer q.free()
	if err := q.readBody(header, body, func() (*api.ModelConfig, error) { return config, nil }); err != nil {
		return nil, err
	}
	return q.encode()
}

// ReadBody reads a request's body.
func ReadBody(r *http.Request) (mem.BufferSlice, error) { return readBody(r) }

// MessageJSON exports messageJSON for its test.
func MessageJSON(m proto.Message, fields bool) []byte { return messageJSON(m, fields) }

// Compressed returns a handler that compresses responses as those of inferences.
func Compressed(next http.HandlerFunc) http.Handler {
	var c compressor
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, next) })
}
