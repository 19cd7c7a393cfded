// Package eventstream writes server-sent events (WHATWG HTML, section 9.2) to clients over
// HTTP. It buffers events and sends those that are ready together in one write. The
// encoding of events belongs to the frontends; the decision when a client has read too
// slowly belongs to services/server.
package eventstream

import (
	"net/http"
	"sync"
)

const (
	// maxBatch is the size, in bytes, at which buffered events are written even if
	// more are ready.
	maxBatch = 16 << 10
	// maxPooled is the maximum size of pooled buffers, which keeps those of unusual
	// requests out of the pool.
	maxPooled = 64 << 10
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }} //nolint:gochecknoglobals // a pool is global by design

// Writer writes the events of one response. A caller appends the bytes of events to Buf
// and calls Send. The methods of Writer must not be called concurrently.
type Writer struct {
	// Buf holds the bytes that haven't been sent.
	Buf []byte
	// Status is the HTTP status of the response. It has no effect after the start. 0
	// means 200.
	Status int

	w       http.ResponseWriter
	control *http.ResponseController
	pooled  *[]byte
	started bool
	failed  bool
}

// New returns a Writer with a buffer from a pool. The caller must call Close.
func New(w http.ResponseWriter) Writer {
	pooled := buffers.Get().(*[]byte) //nolint:forcetypeassert // the pool's own
	return Writer{Buf: *pooled, w: w, control: http.NewResponseController(w), pooled: pooled}
}

// Close returns the buffer to the pool. It sends nothing.
func (s *Writer) Close() {
	if cap(s.Buf) <= maxPooled {
		*s.pooled = s.Buf[:0]
		buffers.Put(s.pooled)
	}
	s.Buf, s.pooled = nil, nil
}

// Started reports whether the header of the response has been written.
func (s *Writer) Started() bool { return s.started }

func (s *Writer) start() {
	if s.started {
		return
	}
	s.started = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // proxies must not buffer events
	if s.Status == 0 {
		s.Status = http.StatusOK
	}
	s.w.WriteHeader(s.Status)
}

// Send writes the buffer, unless more events follow at once and the buffer is small. The
// first call that writes also writes the header. Send returns false if the client has
// disconnected.
func (s *Writer) Send(more bool) bool {
	if more && len(s.Buf) < maxBatch {
		return true
	}
	if s.failed {
		return false
	}
	s.start()
	s.failed = s.write() != nil
	s.Buf = s.Buf[:0]
	return !s.failed
}

func (s *Writer) write() error {
	if w, ok := s.w.(interface{ WriteFlush(b []byte) error }); ok {
		return w.WriteFlush(s.Buf)
	}
	if _, err := s.w.Write(s.Buf); err != nil {
		return err
	}
	return s.control.Flush()
}

// Comment sends the buffer with a comment, which clients skip. It keeps connections open
// while the model sends nothing.
func (s *Writer) Comment() bool {
	s.Buf = append(s.Buf, ": keep-alive\n\n"...)
	return s.Send(false)
}
