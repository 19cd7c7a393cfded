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

// eventStream writes server-sent events. What doesn't change from event to
// event is encoded once a request; an event costs its own bytes, and those that
// are ready together leave in one write.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     *[]byte
	started bool
	failed  bool
}

// maxBatch is the size at which waiting events are written though more are ready.
const maxBatch = 16 << 10

// maxPooled keeps the buffers of odd requests out of the pool.
const maxPooled = 64 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }} //nolint:gochecknoglobals // a pool is shared by nature

func newEventStream(w http.ResponseWriter) *eventStream {
	return &eventStream{w: w, control: http.NewResponseController(w), buf: buffers.Get().(*[]byte)} //nolint:forcetypeassert // the pool's own
}

// close gives the buffer back.
func (s *eventStream) close() {
	if cap(*s.buf) <= maxPooled {
		*s.buf = (*s.buf)[:0]
		buffers.Put(s.buf)
	}
	s.buf = nil
}

// start sends nothing yet, but from here on the answer is a stream.
func (s *eventStream) start() {
	if s.started {
		return
	}
	s.started = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // proxies must not collect events
	s.w.WriteHeader(http.StatusOK)
}

// send writes what is in the buffer unless more is coming at once. It is false
// when the client has gone.
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

// comment keeps the connection alive; clients skip it.
func (s *eventStream) comment() bool {
	*s.buf = append(*s.buf, ": keep-alive\n\n"...)
	return s.send(false)
}

// Chunks is how an operation writes its Deltas.
type Chunks interface {
	// AppendDelta adds the events of one Delta.
	AppendDelta(dst []byte, d *inference.Delta) []byte
	// AppendEnd ends an answer that succeeded.
	AppendEnd(dst []byte, u *inference.Usage) []byte
	// AppendError ends one that failed after it began.
	AppendError(dst []byte, err error) []byte
}

// WriteEvents sends the Deltas as they come, in the form of chunks. Those that are there
// together leave in one write, and nothing waits for company. An error before the first
// event is returned, with nothing written; a later one becomes an event. The record
// receives the time of the first token, the usage, and an error after the first event.
func WriteEvents(w http.ResponseWriter, rec *server.Record, c Chunks, deltas iter.Seq2[inference.Delta, error]) error {
	out := newEventStream(w)
	defer out.close()
	var delta inference.Delta // the loop's own would need memory for each, as chunks are an interface
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

// writeDelta is false when the client has gone.
func writeDelta(out *eventStream, rec *server.Record, c Chunks, delta *inference.Delta) bool {
	switch {
	case delta.Idle:
		return out.comment()
	case delta.Usage != nil:
		Usage(delta.Usage, rec)
		*out.buf = c.AppendEnd(*out.buf, delta.Usage)
		return out.send(false)
	case delta.Empty():
		// Nothing to say but that nothing follows at once: what waits must go.
		return len(*out.buf) == 0 || out.send(delta.More)
	}
	*out.buf = c.AppendDelta(*out.buf, delta)
	first := rec.FirstToken.IsZero()
	if first {
		rec.FirstToken = time.Now()
	}
	// The first token waits for nothing, not even for those that are here already.
	return out.send(delta.More && !first)
}
