package grpcconn

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Start makes a call and sends its message. The call ends with the context. Start returns once the
// message is on its way: it waits while the server accepts no further stream, or no more bytes. If
// the call ends meanwhile, the stream has the reason. The outgoing metadata of the context is sent.
// [ErrClosed] means that nothing was sent. Start doesn't free the message, and doesn't use it after
// it has returned.
func (c *Conn) Start(ctx context.Context, s *Stream, method string, message mem.BufferSlice) error {
	if message.Len() > maxLength {
		return status.Errorf(codes.ResourceExhausted, "trying to send message larger than max (%d vs. %d)", message.Len(), maxLength)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && !c.draining && uint32(len(c.streams)) >= c.maxStreams {
		if err := c.wait(ctx); err != nil {
			return contextError(ctx)
		}
	}
	if c.err != nil || c.draining {
		return ErrClosed
	}
	id := c.nextID
	if c.nextID += 2; c.nextID > lastStreamID {
		c.draining = true
	}
	s.begin(ctx, c, id)
	c.streams[id] = s
	c.writeHeaders(ctx, id, method)
	s.watch(ctx, c, id)
	var prefix [prefixSize]byte
	binary.BigEndian.PutUint32(prefix[1:], uint32(message.Len()))
	sender := sender{c: c, s: s, id: id, left: prefixSize + message.Len()}
	sender.send(ctx, prefix[:])
	for _, buffer := range message {
		sender.send(ctx, buffer.ReadOnlyData())
	}
	c.flush()
	return nil
}

// maxLength is the maximum length of a message, in bytes.
const maxLength = 1<<31 - 1 - prefixSize

// sender sends the message of a call in frames.
type sender struct {
	c    *Conn
	s    *Stream
	id   uint32
	left int  // bytes of the message that aren't in a frame yet
	over bool // the call has ended
}

// send appends a part of the message to the pending bytes, as the windows allow. The caller holds
// the connection's mutex.
func (w *sender) send(ctx context.Context, part []byte) {
	c := w.c
	for len(part) > 0 && !w.over {
		n := min(int64(len(part)), int64(c.frame), c.window, w.s.window, int64(maxPending-len(c.out)))
		if n <= 0 {
			c.flush()
			if c.wait(ctx) != nil || c.streams[w.id] != w.s {
				w.over = true // the context's watch, or who took the call off the connection, ends it
			}
			continue
		}
		c.window -= n
		w.s.window -= n
		w.left -= int(n)
		var flags http2.Flags
		if w.left == 0 {
			flags = http2.FlagDataEndStream
		}
		c.out = append(c.out, byte(n>>16), byte(n>>8), byte(n), byte(http2.FrameData), byte(flags))
		c.out = binary.BigEndian.AppendUint32(c.out, w.id)
		c.out = append(c.out, part[:n]...)
		part = part[n:]
	}
}

// writeHeaders appends the headers of a call (PROTOCOL-HTTP2.md, "Requests").
func (c *Conn) writeHeaders(ctx context.Context, id uint32, method string) {
	c.headers.Reset()
	scheme := "http"
	if c.config.Secure {
		scheme = "https"
	}
	c.field(":method", "POST")
	c.field(":scheme", scheme)
	c.field(":path", method)
	c.field(":authority", c.config.Authority)
	c.field("content-type", "application/grpc+proto")
	c.field("user-agent", c.config.UserAgent)
	c.field("te", "trailers")
	if deadline, ok := ctx.Deadline(); ok {
		c.field("grpc-timeout", timeout(time.Until(deadline)))
	}
	if md, ok := metadata.FromOutgoingContext(ctx); ok {
		for name, values := range md {
			for _, value := range values {
				if strings.HasSuffix(name, "-bin") {
					value = base64.RawStdEncoding.EncodeToString([]byte(value))
				}
				c.field(name, value)
			}
		}
	}
	block := c.headers.Bytes()
	first := block[:min(len(block), c.frame)]
	rest := block[len(first):]
	c.writes(c.writer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndHeaders: len(rest) == 0}))
	for len(rest) > 0 {
		part := rest[:min(len(rest), c.frame)]
		rest = rest[len(part):]
		c.writes(c.writer.WriteContinuation(id, len(rest) == 0, part))
	}
}

func (c *Conn) field(name, value string) {
	c.writes(c.encoder.WriteField(hpack.HeaderField{Name: name, Value: value}))
}

// timeout encodes a time limit in at most eight digits (PROTOCOL-HTTP2.md, "Timeout").
func timeout(d time.Duration) string {
	const most = 100_000_000 // the first number of nine digits
	for _, unit := range [...]struct {
		size time.Duration
		name string
	}{{time.Nanosecond, "n"}, {time.Microsecond, "u"}, {time.Millisecond, "m"}, {time.Second, "S"}, {time.Minute, "M"}} {
		if n := (max(d, 0) + unit.size - 1) / unit.size; n < most {
			return strconv.FormatInt(int64(n), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(d/time.Hour), 10) + "H"
}
