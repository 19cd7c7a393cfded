package triton

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/triton/grpcconn"
)

// receiver receives the responses of one call of ModelStreamInfer for one consumer.
type receiver interface {
	// begin makes the call and sends its message.
	begin(ctx context.Context, req any) error
	// take releases the consumer's previous frame and returns the next one. more reports whether
	// another one is ready. take returns a nil frame if none is ready; then wakes has a token when
	// the consumer should look again. If err isn't nil, no frame follows.
	take() (f *frame, more bool, err error)
	wakes() chan struct{}
	// drop drops the frames that are left, so that the server can end the call.
	drop()
	// finished is closed when the call has ended. It is nil before begin.
	finished() <-chan struct{}
	// release allows the receiver to be used for another request. Its call must have ended.
	release()
}

// receiver returns a receiver for a request with the id. copies says that the encoded responses
// are used for longer than until the next one; forwards that responses may follow an error.
func (e *Engine) receiver(l *link, id string, forwards bool) receiver {
	if l.direct == nil {
		r, ok := e.rings.Get().(*ring)
		if !ok {
			r = newRing()
		}
		r.names.request, r.engine, r.link, r.forwards = interned(id), e, l, forwards
		return r
	}
	c, ok := e.calls.Get().(*directCall)
	if !ok {
		c = &directCall{}
		c.frame.names = &c.names
	}
	c.names.request, c.engine, c.link, c.copies = interned(id), e, l, forwards
	return c
}

// begin implements receiver by grpc-go. Since ClientStreams is unset, the half-close is sent with
// the request. A goroutine reads the responses into the ring.
func (r *ring) begin(ctx context.Context, req any) error {
	desc := &grpc.StreamDesc{StreamName: "ModelStreamInfer", ServerStreams: true}
	rpc, err := r.link.NewStream(withTrace(ctx), desc, kserve.GRPCInferenceService_ModelStreamInfer_FullMethodName, grpc.ForceCodecV2(r.engine.codec))
	if err != nil {
		return err
	}
	// io.EOF means that the call has failed already. The first receive returns
	// the reason.
	if err := rpc.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	r.done = make(chan struct{})
	go r.read(ctx, rpc)
	return nil
}

// read fills the ring until the call ends. It drops responses after the last
// response or an error.
func (r *ring) read(ctx context.Context, rpc grpc.ClientStream) {
	defer close(r.done)
	for {
		f := r.reserve(ctx.Done())
		if f == nil {
			r.end(ctx.Err())
			return
		}
		if err := rpc.RecvMsg(f); err != nil {
			r.end(err)
			return
		}
		last := f.response.Final || f.failure != "" && !f.mayContinue(r.forwards)
		r.commit(f)
		if last {
			break
		}
	}
	for err := error(nil); err == nil; {
		err = rpc.RecvMsg(&r.spare)
	}
}

// wakes implements receiver.
func (r *ring) wakes() chan struct{} { return r.readable }

// drop implements receiver. The reader drops what follows the last response by itself.
func (*ring) drop() {}

// finished implements receiver.
func (r *ring) finished() <-chan struct{} { return r.done }

// release implements receiver.
func (r *ring) release() {
	e := r.engine
	r.reset()
	e.rings.Put(r)
}

// maxRepeated is the largest message that is kept until the first response, in bytes, to repeat a
// call that the server refused to begin. grpc-go keeps as much.
const maxRepeated = 256 << 10

// directCall is a stream's call on a direct connection. It implements receiver.
type directCall struct {
	stream  grpcconn.Stream
	frame   frame
	names   names
	engine  *Engine
	link    *link
	ctx     context.Context //nolint:containedctx // of the call that may be repeated
	message mem.BufferSlice // kept to repeat the call; nil if it can't be repeated
	copies  bool            // consumers keep the encoded responses
}

// begin makes the call.
func (c *directCall) begin(ctx context.Context, req any) error {
	message, err := c.engine.codec.Marshal(req)
	if err != nil {
		return status.Errorf(codes.Internal, "grpc: error while marshaling: %v", err) // as grpc-go has it
	}
	c.ctx, c.message = withTrace(ctx), message
	err = c.send()
	if err != nil || message.Len() > maxRepeated {
		c.letGo()
	}
	return err
}

// letGo frees the message.
func (c *directCall) letGo() {
	c.message.Free()
	c.message = nil
}

// take implements receiver.
func (c *directCall) take() (f *frame, more bool, err error) {
	message, more, err := c.stream.Take()
	if message == nil {
		if err != nil && c.message != nil && grpcconn.IsUnprocessed(err) {
			return nil, false, c.repeat()
		}
		return nil, false, err
	}
	if c.message != nil {
		c.letGo()
	}
	c.frame.free()
	if c.copies {
		buffer := mem.Copy(message, mem.DefaultBufferPool())
		c.frame.hold(buffer)
		message = buffer.ReadOnlyData()
	}
	if err := c.frame.decode(message); err != nil {
		unreadable := status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err) // as grpc-go has it
		c.stream.Cancel(unreadable)
		return nil, false, unreadable
	}
	return &c.frame, more, nil
}

// repeat makes the call once more, as the server refused to begin it.
func (c *directCall) repeat() error {
	c.stream.Release()
	defer c.letGo()
	return c.send()
}

func (c *directCall) send() error {
	return c.link.direct.start(c.ctx, &c.stream, kserve.GRPCInferenceService_ModelStreamInfer_FullMethodName, c.message)
}

// wakes implements receiver.
func (c *directCall) wakes() chan struct{} { return c.stream.Readable() }

// finished implements receiver.
func (c *directCall) finished() <-chan struct{} { return c.stream.Ended() }

// drop implements receiver.
func (c *directCall) drop() { c.stream.Drop() }

// release implements receiver.
func (c *directCall) release() {
	if c.message != nil {
		c.letGo()
	}
	c.stream.Release()
	c.frame.free()
	e := c.engine
	c.engine, c.link, c.ctx = nil, nil, nil
	e.calls.Put(c)
}
