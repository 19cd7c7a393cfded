package grpcconn

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// prefixSize is the size of what precedes a message: a byte for the compression,
// and its length in four bytes (PROTOCOL-HTTP2.md, "Length-Prefixed-Message").
const prefixSize = 5

// Stream is a call. Its consumer, one goroutine, takes the messages. A stream may be used for
// another call after [Stream.Release]. The zero value is ready for [Conn.Start].
type Stream struct {
	conn     *Conn
	window   int64 // bytes that the server accepts; the connection's mutex guards it
	readable chan struct{}
	stop     func() bool // ends the watch over the call's context

	// The consumer's own state: the messages that it is taking, up to last. The buffer is nil if
	// there are none.
	batch      *buffer
	next, last int

	mu       sync.Mutex
	id       uint32
	max      int
	deadline time.Time // zero if the call has none
	incoming *buffer   // what has arrived since the consumer took the batch; nil if nothing has
	complete int       // the bytes of incoming that are whole messages
	taken    int       // the size of the batch
	credit   int64     // bytes that the server may still send
	starved  bool      // the consumer waits
	dropping bool      // what arrives is dropped
	err      error     // why the call ended: io.EOF for the status OK; nil while it is in progress
	ended    chan struct{}
}

// begin prepares the stream for a call. The caller holds the connection's mutex.
func (s *Stream) begin(ctx context.Context, c *Conn, id uint32) {
	s.window = c.newWindow
	s.Readable()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn, s.id, s.max, s.credit = c, id, c.config.MaxMessage, streamWindow
	s.deadline, _ = ctx.Deadline()
	s.starved, s.dropping, s.err = false, false, nil
	s.ended = make(chan struct{})
}

// Readable returns the channel that has a token when the consumer should look again. Tokens may
// come without a reason, and others may send them, such as a clock.
func (s *Stream) Readable() chan struct{} {
	if s.readable == nil {
		s.readable = make(chan struct{}, 1)
	}
	return s.readable
}

// Ended returns a channel that is closed when the call has ended.
func (s *Stream) Ended() <-chan struct{} { return s.ended }

// receive appends the bytes of a frame that has size bytes in all. It returns an error if the
// call can't go on.
func (s *Stream) receive(id uint32, data []byte, size int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.id != id || s.err != nil:
		return nil
	case int64(size) > s.credit:
		return internal("grpc: the server ignores the flow control")
	}
	s.credit -= int64(size)
	if s.dropping {
		s.announce()
		return nil
	}
	s.incoming = s.incoming.add(data)
	if err := s.scan(); err != nil {
		return err
	}
	if s.complete > 0 && s.starved {
		s.starved = false
		s.conn.woken = append(s.conn.woken, s)
	}
	s.announce()
	return nil
}

// scan finds the end of the last whole message.
func (s *Stream) scan() error {
	for {
		rest := s.incoming.content()[s.complete:]
		if len(rest) < prefixSize {
			return nil
		}
		if rest[0] != 0 {
			return internal("grpc: the server's message is compressed, which no request allowed")
		}
		length := int64(binary.BigEndian.Uint32(rest[1:]))
		if length > int64(s.max) {
			return status.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", length, s.max)
		}
		if int64(len(rest)) < prefixSize+length {
			return nil
		}
		s.complete += prefixSize + int(length)
	}
}

// announce lets the server send more, once that is half of the window. A part
// of a message doesn't count while its consumer has nothing else, as no window may be too small
// for a message. The caller holds the mutex.
func (s *Stream) announce() {
	held := s.taken
	if !s.dropping && (s.complete > 0 || !s.starved) {
		held += len(s.incoming.content())
	}
	free := streamWindow - int64(held) - s.credit
	if free < streamWindow/2 || s.err != nil {
		return
	}
	s.credit += free
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams[s.id] == s {
		c.writes(c.writer.WriteWindowUpdate(s.id, uint32(free)))
		c.flush()
	}
}

// Take returns the next message, which is valid until the next call of Take, and whether another
// one had arrived when the messages of this one's batch were taken over. It returns nil if there is none; then Readable has a token when to look
// again. If err isn't nil, the call has ended and no message follows: [io.EOF] is the status OK.
func (s *Stream) Take() (message []byte, more bool, err error) {
	if s.next == s.last {
		if err := s.refill(); s.next == s.last {
			return nil, false, err
		}
	}
	batch := s.batch.bytes
	length := int(binary.BigEndian.Uint32(batch[s.next+1:]))
	from := s.next + prefixSize
	s.next = from + length
	return batch[from:s.next:s.next], s.next < s.last, nil
}

// refill takes over all messages that have arrived. Without any it returns the end of the call.
func (s *Stream) refill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batch.free()
	s.batch, s.next, s.last, s.taken = nil, 0, 0, 0
	if s.complete == 0 {
		s.starved = true
		s.announce()
		return s.err
	}
	s.batch, s.last, s.taken = s.incoming, s.complete, s.complete
	s.incoming, s.complete = nil, 0
	if rest := s.batch.bytes[s.last:]; len(rest) > 0 {
		s.incoming = s.incoming.add(rest)
	}
	s.announce()
	return nil
}

// Drop drops the messages that have arrived and those that follow, so that the server can end the
// call.
func (s *Stream) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incoming.free()
	s.dropping, s.incoming, s.complete = true, nil, 0
	s.announce()
}

// Cancel ends the call with an error and asks the server to stop working on it. It has no effect
// on a call that has ended.
func (s *Stream) Cancel(reason error) {
	s.mu.Lock()
	id, ended := s.id, s.err != nil
	s.mu.Unlock()
	if ended {
		return
	}
	s.conn.cancel(id, s, reason)
}

// end ends the current call.
func (s *Stream) end(err error) {
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	s.endOf(id, err)
}

// endOf ends the call with the id, unless it has ended.
func (s *Stream) endOf(id uint32, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != id || s.err != nil {
		return
	}
	s.err = err
	close(s.ended)
	s.wake()
}

// terminate ends the call with the id, which the server has reset. A server that knows the call's
// deadline may reset it first.
func (s *Stream) terminate(id uint32, code http2.ErrCode) {
	s.mu.Lock()
	late := s.id == id && !s.deadline.IsZero() && !s.deadline.After(time.Now())
	s.mu.Unlock()
	if late && code == http2.ErrCodeCancel {
		s.endOf(id, status.Error(codes.DeadlineExceeded, context.DeadlineExceeded.Error()))
		return
	}
	s.endOf(id, terminated(code))
}

func (s *Stream) wake() {
	select {
	case s.readable <- struct{}{}:
	default:
	}
}

// Release ends the use of the stream for its call, which must have ended. The stream may then be
// used for another call.
func (s *Stream) Release() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = 0 // the reader may still have the stream
	s.batch.free()
	s.incoming.free()
	s.batch, s.next, s.last, s.taken = nil, 0, 0, 0
	s.incoming, s.complete = nil, 0
}

// watch ends the call with its context.
func (s *Stream) watch(ctx context.Context, c *Conn, id uint32) {
	s.stop = context.AfterFunc(ctx, func() { c.cancel(id, s, contextError(ctx)) })
}

func contextError(ctx context.Context) error {
	code := codes.Canceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = codes.DeadlineExceeded
	}
	return status.Error(code, ctx.Err().Error())
}
