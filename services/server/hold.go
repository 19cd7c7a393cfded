package server

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// net/http writes through a buffer of 4 KiB: a larger piece of a response becomes three writes to the
// connection, of which the last one has two bytes. WriteFlush holds the writes of pieces from
// leastHeld to mostHeld bytes and makes one write of them.
const (
	leastHeld = 4000
	mostHeld  = writePiece
)

var heldWrites = sync.Pool{New: func() any { b := make([]byte, 0, 20<<10); return &b }} //nolint:gochecknoglobals // a pool is global by design

// WriteFlush is Write and Flush with one write to the connection, where that is possible: on a
// connection of HTTP/1 without TLS.
func (w *writer) WriteFlush(b []byte) error {
	if w.conn == nil || len(b) < leastHeld || len(b) > mostHeld {
		if _, err := w.Write(b); err != nil {
			return err
		}
		return w.FlushError()
	}
	w.conn.hold()
	_, err := w.Write(b)
	if err == nil {
		err = w.FlushError()
	}
	w.wait()
	held := w.conn.release()
	w.since.Store(notWriting)
	if err == nil {
		err = held
	}
	return err
}

// hold keeps what is written until release. Only the goroutine that calls both may write meanwhile.
func (c *countedConn) hold() {
	c.held = heldWrites.Get().(*[]byte) //nolint:forcetypeassert // the pool's own
}

// release writes what was held. net/http doesn't see a failure of this write: the connection is closed,
// so that nothing follows the part that was written, such as the end of the response.
func (c *countedConn) release() error {
	held := c.held
	c.held = nil
	_, err := c.TCPConn.Write(*held)
	if err != nil {
		_ = c.Close() // the failure of the write is reported
	}
	if *held = (*held)[:0]; cap(*held) <= mostHeld {
		heldWrites.Put(held)
	}
	return err
}

// Write implements [net.Conn].
func (c *countedConn) Write(b []byte) (int, error) {
	if c.held == nil {
		return c.TCPConn.Write(b)
	}
	*c.held = append(*c.held, b...)
	return len(b), nil
}

type connKey struct{}

// withConn stores a connection without TLS in the context of its requests.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	if counted, ok := conn.(*countedConn); ok {
		return context.WithValue(ctx, connKey{}, counted)
	}
	return ctx
}

// holdable returns the connection of a request whose writes can be held, or nil. Requests of HTTP/2
// share a connection.
func holdable(r *http.Request) *countedConn {
	if r.ProtoMajor != 1 {
		return nil
	}
	conn, _ := r.Context().Value(connKey{}).(*countedConn)
	return conn
}
