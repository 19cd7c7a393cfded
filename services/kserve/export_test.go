package kserve

import (
	"log/slog"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// EncodeInfer exports encodeInfer for the test and the benchmark of the encoding.
func EncodeInfer(req *kserve.ModelInferRequest, resp *inference.Response) (mem.BufferSlice, error) {
	return encodeInfer(req, resp)
}

// EncodeStream exports encodeStream.
func EncodeStream(req *kserve.ModelInferRequest, resp *inference.Response) (mem.BufferSlice, error) {
	return encodeStream(req, resp)
}

// StreamEncoder encodes the responses of one request.
type StreamEncoder struct{ request *streamRequest }

// NewStreamEncoder returns the encoder of a request.
func NewStreamEncoder(req *kserve.ModelInferRequest) *StreamEncoder {
	return &StreamEncoder{&streamRequest{head: req}}
}

// Encode returns the response encoded by its known head, or nil for responses that need other code.
func (e *StreamEncoder) Encode(resp *inference.Response) []byte {
	size := e.request.known.sizeOf(e.request.head, resp)
	if size == 0 {
		return nil
	}
	return e.request.known.encode(resp, size).Materialize()
}

// Join encodes a response as those that are sent together, and drops them when they would be sent.
func (e *StreamEncoder) Join(resp *inference.Response) {
	e.request.joinKnown(resp, nil)
	if len(*e.request.pending) >= mostJoined {
		replies.Put(e.request.pending)
		e.request.pending = nil
	}
}

// TransportWriter exports transportWriter.
func TransportWriter(stream any) func(mem.BufferSlice) error { return transportWriter(stream) }

// NewBufferPool returns the pool for its test.
func NewBufferPool() mem.BufferPool { return new(bufferPool) }

// Reading returns credentials whose connections allocate memory to read into only when there
// is something to read.
func Reading(security credentials.TransportCredentials) credentials.TransportCredentials {
	return reading{security}
}

// RecordedError returns the error that is recorded for a call's error on the shared port.
func RecordedError(err error) error {
	rec := &server.Record{}
	_ = connectError(rec, err) // the error for the client
	return rec.Error
}

// LevelOf exports levelOf.
func LevelOf(code codes.Code, err error) slog.Level { return levelOf(code, err) }

// ErrorText exports errorText.
func ErrorText(err error, panicked bool) string { return errorText(err, panicked) }
