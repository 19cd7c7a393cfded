package server

import (
	"net/http"
	"sync/atomic"
	"time"
)

// writer remembers the status, and ends an answer whose client takes nothing for
// a while. Only a write that waits is bounded: a deadline that stood would end quiet
// HTTP/2 streams, too. A write costs no timer: one looks every timeout how long the
// write under way has waited.
type writer struct {
	http.ResponseWriter

	control *http.ResponseController
	timeout time.Duration
	timer   *time.Timer // nil until the first write
	status  int
	began   time.Time
	// since is when the write under way began, in ns after began and above 0; or one of
	// notWriting and hasEnded.
	since atomic.Int64
}

const (
	notWriting = 0
	hasEnded   = -1
)

func newWriter(w http.ResponseWriter, timeout time.Duration) *writer {
	sw := &writer{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout, began: time.Now()}
	// An earlier request on this connection may have left a deadline.
	_ = sw.control.SetWriteDeadline(time.Time{}) // tests' recorders have none
	return sw
}

// Unwrap serves [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// writePiece is what a client must take within the timeout.
const writePiece = 64 << 10

func (w *writer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	written := 0
	for {
		w.wait()
		n, err := w.ResponseWriter.Write(b[written:min(written+writePiece, len(b))])
		w.since.Store(notWriting)
		written += n
		if err != nil || written == len(b) {
			return written, err
		}
	}
}

// Flush serves handlers that assert [http.Flusher]: grpc and Connect do.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError serves [http.ResponseController].
func (w *writer) FlushError() error {
	w.wait()
	err := w.control.Flush()
	w.since.Store(notWriting)
	return err
}

// wait begins to bound a write.
func (w *writer) wait() {
	w.since.Store(int64(time.Since(w.began)) + 1)
	if w.timer == nil {
		w.timer = time.AfterFunc(w.timeout, w.look)
		w.timer.Reset(w.timeout) // look must see the field
	}
}

// look ends a write that has waited for too long.
func (w *writer) look() {
	next := w.timeout
	switch since := w.since.Load(); since {
	case hasEnded:
		return
	case notWriting:
	default:
		next = w.timeout - time.Since(w.began) + time.Duration(since)
	}
	if next <= 0 {
		_ = w.control.SetWriteDeadline(time.Now())
		next = w.timeout
	}
	w.timer.Reset(next)
}

// end bounds what net/http still writes when the handler has returned.
func (w *writer) end() {
	w.since.Store(hasEnded)
	if w.timer != nil {
		w.timer.Stop()
	}
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout))
}
