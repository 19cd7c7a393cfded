package kserve

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/services/admission"
)

// source is grpc-go's stream below a [grpc.ServerStream]. grpc-go reads a whole message
// before its size is visible, and meanwhile lets the client send all of it, whatever the
// window is. grpc-go's stream can also read only the head of a message, so that the
// announced size is counted before more is read.
type source interface {
	ReadMessageHeader(head []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
}

// sourceOf returns the stream of a call; ok is false for calls that aren't grpc-go's.
func sourceOf(ctx context.Context) (s source, ok bool) {
	s, ok = grpc.ServerTransportStreamFromContext(ctx).(source)
	return s, ok
}

// messageHead is the size of a message's head in bytes: the compression flag and the
// length.
const messageHead = 5

// maxUncounted is the maximum length of a message that is read before it is counted: grpc-go
// buffers as many bytes of each call in any case. A longer message is counted first.
const maxUncounted = streamWindow

// receiver reads the messages of a call.
type receiver struct {
	source  source
	codec   grpcCodec
	arrival *admission.Arrival
	most    int  // maximum bytes of a message, compressed or not
	open    bool // the call needs no key, and its message is too short to be counted
	single  bool // the client sends one message

	head [messageHead]byte
}

// receive reads the next message into m. The errors are those of [grpc.ServerStream], and
// the core's error if there is no room for the message.
func (r *receiver) receive(m any) error {
	data, err := r.read()
	if err != nil {
		if r.single && errors.Is(err, io.EOF) {
			return status.Error(codes.Internal, "cardinality violation: received no request message from non-client-streaming RPC")
		}
		return err
	}
	defer data.Free()
	if err := r.codec.Unmarshal(data, m); err != nil {
		return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
	}
	if !r.single {
		return nil
	}
	return r.ended()
}

// ended waits until a client with one message has ended its sending.
func (r *receiver) ended() error {
	switch err := r.source.ReadMessageHeader(r.head[:]); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return unexpected(err)
	}
	return status.Error(codes.Internal, "cardinality violation: received multiple request messages for non-client-streaming RPC")
}

// read reads and decompresses a message.
func (r *receiver) read() (mem.BufferSlice, error) {
	if err := r.source.ReadMessageHeader(r.head[:]); err != nil {
		return nil, unexpected(err)
	}
	length := binary.BigEndian.Uint32(r.head[1:])
	if int64(length) > int64(r.most) {
		return nil, status.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", length, r.most)
	}
	counted := int64(0)
	if !r.open && (r.single || length > maxUncounted) {
		if err := r.arrival.Take(int64(length)); err != nil {
			return nil, err
		}
		counted = int64(length)
	}
	data, err := r.source.Read(int(length))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, unexpected(err)
	}
	if !r.single && counted > 0 {
		r.arrival.Return(counted) // the request's own arrival counts it from here on
	}
	return r.inflate(r.head[0], data)
}

// inflate decompresses a message if it is compressed.
func (r *receiver) inflate(format byte, data mem.BufferSlice) (mem.BufferSlice, error) {
	if format == 0 {
		return data, nil
	}
	defer data.Free()
	name := r.source.RecvCompress()
	compressor := encoding.GetCompressor(name)
	switch {
	case format != 1:
		return nil, status.Errorf(codes.Internal, "grpc: received unexpected payload format %d", format)
	case name == "" || name == encoding.Identity:
		return nil, status.Error(codes.Internal, "grpc: compressed flag set with identity or empty encoding")
	case compressor == nil:
		return nil, status.Errorf(codes.Unimplemented, "grpc: Decompressor is not installed for grpc-encoding %q", name)
	}
	compressed := data.Reader()
	defer func() { _ = compressed.Close() }() // Close never fails here
	inflated, err := compressor.Decompress(compressed)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "grpc: failed to decompress the message: %v", err)
	}
	if closer, ok := inflated.(io.Closer); ok {
		defer func() { _ = closer.Close() }() // all has been read, or the call fails
	}
	whole, err := mem.ReadAll(io.LimitReader(inflated, int64(r.most)+1), replies)
	switch {
	case err != nil:
		whole.Free()
		return nil, status.Errorf(codes.Internal, "grpc: failed to read decompressed data: %v", err)
	case whole.Len() > r.most:
		whole.Free()
		return nil, status.Errorf(codes.ResourceExhausted, "grpc: received message after decompression larger than max %d", r.most)
	}
	return whole, nil
}

// unexpected returns grpc-go's status for a truncated message.
func unexpected(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return status.Error(codes.Internal, io.ErrUnexpectedEOF.Error())
	}
	return err
}
