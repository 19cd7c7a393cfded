package server

import (
	"net/http"
	"sync/atomic"
	"time"
)

// writer records the status, and aborts a response whose client reads nothing for the
// timeout. Only a blocked write has a deadline: a standing deadline would also end idle
// HTTP/2 streams. A write needs no timer of its own: one timer checks, every timeout,
// for how long the current write has been blocked.
type writer struct {
	http.ResponseWriter

	control *http.ResponseController
	timeout time.Duration
	timer   *time.Timer // nil until the first write
	status  int
	conn    *countedConn // connection whose writes can be held, or nil
	began   time.Time
	// since is the start of the current write, in ns after began. It is above 0 during a write;
	// otherwise it is notWriting or hasEnded.
	since atomic.Int64
}

const (
	notWriting = 0
	hasEnded   = -1
)

func newWriter(w http.ResponseWriter, r *http.Request, timeout time.Duration) *writer {
	sw := &writer{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout, conn: holdable(r), began: time.Now()}
	// An earlier request on this connection may have left a deadline.
	_ = sw.control.SetWriteDeadline(time.Time{}) // recorders of tests have no deadlines
	return sw
}

// Unwrap is for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// writePiece is the number of bytes that a client must read within the timeout.
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

// Flush is for handlers that assert [http.Flusher]: grpc and Connect do.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError is for [http.ResponseController].
func (w *writer) FlushError() error {
	w.wait()
	err := w.control.Flush()
	w.since.Store(notWriting)
	return err
}

// wait records the start of a write and starts the timer.
func (w *writer) wait() {
	w.since.Store(int64(time.Since(w.began)) + 1)
	if w.timer == nil {
		w.timer = time.AfterFunc(w.timeout, w.checkBlocked)
		w.timer.Reset(w.timeout) // the reset comes after the assignment, so that checkBlocked sees the field
	}
}

// checkBlocked aborts a write that has been blocked for the timeout.
func (w *writer) checkBlocked() {
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

// end sets a deadline for what net/http still writes after the handler has returned.
func (w *writer) end() {
	w.since.Store(hasEnded)
	if w.timer != nil {
		w.timer.Stop()
	}
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout))
}
