package wire

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// eventStream writes server-sent events. The constant parts of the events are encoded
// once per request. Events that are ready together are sent in one write.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     *[]byte
	started bool
	failed  bool
}

// maxBatch is the size, in bytes, at which buffered events are written even if more are
// ready.
const maxBatch = 16 << 10

// maxPooled is the maximum size of pooled buffers, which keeps those of unusual requests
// out of the pool.
const maxPooled = 64 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }} //nolint:gochecknoglobals // a pool is global by design

func newEventStream(w http.ResponseWriter) *eventStream {
	return &eventStream{w: w, control: http.NewResponseController(w), buf: buffers.Get().(*[]byte)} //nolint:forcetypeassert // the pool's own
}

// close returns the buffer to the pool.
func (s *eventStream) close() {
	if cap(*s.buf) <= maxPooled {
		*s.buf = (*s.buf)[:0]
		buffers.Put(s.buf)
	}
	s.buf = nil
}

// start writes the header of a stream. Nothing is sent before the first flush.
func (s *eventStream) start() {
	if s.started {
		return
	}
	s.started = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // proxies must not buffer events
	s.w.WriteHeader(http.StatusOK)
}

// send writes the buffer unless more follows at once. It returns false if the client has
// disconnected.
func (s *eventStream) send(more bool) bool {
	if more && len(*s.buf) < maxBatch {
		return true
	}
	if s.failed {
		return false
	}
	s.start()
	_, err := s.w.Write(*s.buf)
	*s.buf = (*s.buf)[:0]
	if err == nil {
		err = s.control.Flush()
	}
	s.failed = err != nil
	return !s.failed
}

// comment sends a keep-alive, which clients skip.
func (s *eventStream) comment() bool {
	*s.buf = append(*s.buf, ": keep-alive\n\n"...)
	return s.send(false)
}

// Chunks encodes the Deltas of an operation.
type Chunks interface {
	// AppendDelta appends the events of one Delta.
	AppendDelta(dst []byte, d *inference.Delta) []byte
	// AppendEnd appends the end of a successful response.
	AppendEnd(dst []byte, u *inference.Usage) []byte
	// AppendError appends the end of a response that failed after its start.
	AppendError(dst []byte, err error) []byte
}

// WriteEvents sends the Deltas as they arrive, encoded by c. Deltas that are ready
// together are sent in one write; none is delayed to wait for others. An error before
// the first event is returned, with nothing written; a later one becomes an event. The
// record receives the time of the first token, the usage, and an error after the first
// event.
func WriteEvents(w http.ResponseWriter, rec *server.Record, c Chunks, deltas iter.Seq2[inference.Delta, error]) error {
	out := newEventStream(w)
	defer out.close()
	var delta inference.Delta // the loop's own variable would be allocated for each Delta, since c is an interface
	for d, err := range deltas {
		if err != nil && !out.started {
			return err
		}
		if err != nil {
			rec.Error = err
			*out.buf = c.AppendError(*out.buf, err)
			out.send(false)
			return nil
		}
		if delta = d; !writeDelta(out, rec, c, &delta) {
			rec.Error = inference.AsError(context.Canceled)
			return nil
		}
	}
	return nil
}

// writeDelta reports false if the client has disconnected.
func writeDelta(out *eventStream, rec *server.Record, c Chunks, delta *inference.Delta) bool {
	switch {
	case delta.Idle:
		return out.comment()
	case delta.Usage != nil:
		Usage(delta.Usage, rec)
		*out.buf = c.AppendEnd(*out.buf, delta.Usage)
		return out.send(false)
	case delta.Empty():
		// An empty Delta only reports that nothing follows at once, so that the buffer
		// must be sent.
		return len(*out.buf) == 0 || out.send(delta.More)
	}
	*out.buf = c.AppendDelta(*out.buf, delta)
	first := rec.FirstToken.IsZero()
	if first {
		rec.FirstToken = time.Now()
	}
	// The first token is sent at once, even if more Deltas are ready.
	return out.send(delta.More && !first)
}
