package kserve

import (
	"context"
	"encoding/binary"
	"reflect"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/services/inference"
)

// Responses of a request that have arrived together are sent together: grpc-go spends more on a
// message of its own than on the response. mostJoined is the maximum size of a joined response,
// and the size from which on joined responses are sent, in bytes. Together they fit in a frame of
// HTTP/2, which has 16 KiB.
const (
	joinedSize = 16 << 10
	mostJoined = joinedSize/2 - 2*messageHead
)

// join adds an encoded response to the pending ones and frees it. It returns false if the response
// is too large.
func (r *streamRequest) join(encoded mem.BufferSlice) bool {
	size := encoded.Len()
	if size > mostJoined {
		return false
	}
	b := r.open(size)
	for _, piece := range encoded {
		b = append(b, piece.ReadOnlyData()...)
	}
	encoded.Free()
	*r.pending = b
	return true
}

// joinKnown encodes an item that the engine has yielded, and adds it to the pending responses. It
// returns false for items that [knownHead] doesn't encode.
func (r *streamRequest) joinKnown(resp *inference.Response, err error) bool {
	if err != nil {
		return false
	}
	size := r.known.sizeOf(r.head, resp)
	if size == 0 {
		return false
	}
	r.answered = true
	*r.pending = r.known.append(r.open(wholeSize(size)), resp, size)
	return true
}

// open returns the pending bytes with the prefix of the next message, of the size
// (PROTOCOL-HTTP2.md, "Length-Prefixed-Message").
func (r *streamRequest) open(size int) []byte {
	if r.pending == nil {
		r.pending = replies.Get(joinedSize)
		*r.pending = (*r.pending)[:0]
	}
	return binary.BigEndian.AppendUint32(append(*r.pending, 0), uint32(size))
}

// flushUnless sends the pending responses, unless there is room for more, which will follow without
// a wait.
func (r *streamRequest) flushUnless(ctx context.Context, more bool) error {
	if more && len(*r.pending) < mostJoined {
		return nil
	}
	return r.flush(ctx)
}

// flush sends the pending responses. An error ends the stream.
func (r *streamRequest) flush(ctx context.Context) error {
	if r.pending == nil {
		return nil
	}
	var joined mem.Buffer
	if len(*r.pending) < joinedSize/2 { // a slow client may have many of them waiting, which count by their lengths
		joined = mem.Copy(*r.pending, replies)
		replies.Put(r.pending)
	} else {
		joined = mem.NewBuffer(r.pending, replies)
	}
	r.pending = nil
	return r.send(ctx, &reply{encoded: mem.BufferSlice{joined}, stream: true, joined: true})
}

// joinedWriter returns a function that sends joined messages and frees them. It returns nil if that
// isn't possible, and if messages must be compressed. The function doesn't call SendMsg of the stream
// below begunStream: interceptors and stats handlers there wouldn't see the messages, so that the server
// has none.
func (s *begunStream) joinedWriter() func(mem.BufferSlice) error {
	stream := grpc.ServerTransportStreamFromContext(s.Context())
	if c, ok := stream.(interface{ SendCompress() string }); !ok || c.SendCompress() != "" {
		return nil
	}
	write := transportWriter(stream)
	if write == nil {
		return nil
	}
	return func(joined mem.BufferSlice) error {
		defer joined.Free()
		s.answer()
		err := write(joined)
		if _, known := status.FromError(err); !known {
			err = status.Error(codes.Unavailable, err.Error()) // as grpc-go does after SendMsg
		}
		return err
	}
}

// transportWriter returns the method Write of grpc-go's stream, which takes the bytes of any number
// of messages; SendMsg takes one message. The type of the method's last parameter, a pointer to
// options of which all are left out, can't be named outside of grpc-go. transportWriter returns nil
// if the method isn't as described.
func transportWriter(stream any) func(mem.BufferSlice) error {
	const parameters, options = 3, 2
	method := reflect.ValueOf(stream).MethodByName("Write")
	if !method.IsValid() {
		return nil
	}
	t := method.Type()
	if t.NumIn() != parameters || t.In(0) != reflect.TypeFor[[]byte]() || t.In(1) != reflect.TypeFor[mem.BufferSlice]() ||
		t.In(options).Kind() != reflect.Pointer || t.NumOut() != 1 || t.Out(0) != reflect.TypeFor[error]() {
		return nil
	}
	arguments := [parameters]reflect.Value{reflect.Zero(t.In(0)), {}, reflect.New(t.In(options).Elem())}
	return func(data mem.BufferSlice) error {
		arguments[1] = reflect.ValueOf(data)
		err, _ := reflect.TypeAssert[error](method.Call(arguments[:])[0])
		return err
	}
}
