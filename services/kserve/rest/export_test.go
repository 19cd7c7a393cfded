package rest

import (
	"net/http"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// ReadInfer reads a body that lies in several buffers, of a request to a model with
// that configuration; the message is the caller's to free.
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

// MessageJSON is for the test of JSON.
func MessageJSON(m proto.Message, fields bool) []byte { return messageJSON(m, fields) }

// Compressed is what compresses the answers of inferences.
func Compressed(next http.HandlerFunc) http.Handler {
	var c compressor
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, next) })
}
