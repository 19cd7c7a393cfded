package kserve

import (
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
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

// Reading are credentials whose connections read into memory only when there is something to
// read.
func Reading(security credentials.TransportCredentials) credentials.TransportCredentials {
	return reading{security}
}

// RecordedError is what the log gets of a call's error on the shared port.
func RecordedError(err error) error {
	rec := &server.Record{}
	_ = connectError(rec, err) // the client's
	return rec.Error
}
