package server

import (
	"net/http"
	"time"
)

// writer remembers the status, and ends an answer whose client takes nothing for
// a while. The clock runs only while a write waits: a deadline that stood would
// end quiet HTTP/2 streams, too.
type writer struct {
	http.ResponseWriter

	control *http.ResponseController
	timeout time.Duration
	timer   *time.Timer // nil until the first write
	status  int
}

func newWriter(w http.ResponseWriter, timeout time.Duration) *writer {
	sw := &writer{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout}
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
		w.timer.Stop()
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
	defer w.timer.Stop()
	return w.control.Flush()
}

// wait starts the clock.
func (w *writer) wait() {
	if w.timer == nil {
		w.timer = time.AfterFunc(w.timeout, func() { _ = w.control.SetWriteDeadline(time.Now()) })
		return
	}
	w.timer.Reset(w.timeout)
}

// end bounds what net/http still writes when the handler has returned.
func (w *writer) end() { _ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) }
