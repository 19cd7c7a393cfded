package kserve

import (
	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// EncodeInfer is for the benchmark and the test of the encoding.
func EncodeInfer(req *kserve.ModelInferRequest, resp *inference.Response) (mem.BufferSlice, error) {
	return encodeInfer(req, resp)
}

// EncodeStream is the same in a stream.
func EncodeStream(req *kserve.ModelInferRequest, resp *inference.Response) (mem.BufferSlice, error) {
	return encodeStream(req, resp)
}

// NewBufferPool is for the test of the pool.
func NewBufferPool() mem.BufferPool { return new(bufferPool) }
