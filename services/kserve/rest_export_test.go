package kserve

import (
	"net/http"

	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// ReadInfer reads a body that lies in several buffers, of a request to a model with
// that configuration; the message is the caller's to free.
func ReadInfer(header http.Header, config *kserve.ModelConfig, body mem.BufferSlice) (*inference.InferRequest, error) {
	q := newRESTRequest("m", "")
	defer q.free()
	if err := q.readBody(header, body, func() (*kserve.ModelConfig, error) { return config, nil }); err != nil {
		return nil, err
	}
	return q.encode()
}

// ReadBody reads a request's body.
func ReadBody(r *http.Request) (mem.BufferSlice, error) { return readBody(r) }
