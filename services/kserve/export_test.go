package kserve

import (
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
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

// Gathering are credentials whose connections gather answers to pings.
func Gathering(busy bool, wait time.Duration) credentials.TransportCredentials {
	return GatheringBy(insecure.NewCredentials(), busy, wait)
}

// GatheringBy are those of a protocol.
func GatheringBy(security credentials.TransportCredentials, busy bool, wait time.Duration) credentials.TransportCredentials {
	return gathering{security, func() bool { return busy }, wait}
}

// PongWait is how long a pong waits for company.
const PongWait = pongWait

// RecordedError is what the log gets of a call's error on the shared port.
func RecordedError(err error) error {
	rec := &server.Record{}
	_ = connectError(rec, err) // the client's
	return rec.Error
}
