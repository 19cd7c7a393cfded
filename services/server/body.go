package server

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// bodyPause is how long a client may send nothing in the middle of a body.
const bodyPause = 30 * time.Second

// drainLimit and drainTime bound what is still read of a body that was refused
// for its size, so that a client which writes before it reads gets its answer.
const (
	drainLimit = 64 << 20
	drainTime  = 5 * time.Second
)

// limitBody bounds bodies, chunked ones too, and their pauses. Handlers see a
// [http.MaxBytesError] or [os.ErrDeadlineExceeded].
func limitBody(limit int64, pause time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			body := &limitedBody{
				ReadCloser: http.MaxBytesReader(w, r.Body, limit), rest: r.Body, limit: limit, announced: r.ContentLength, pause: pause,
				expecting: r.Header.Get("Expect") != "", header: w.Header(), control: http.NewResponseController(w),
			}
			body.patience(pause) // for handlers that never read
			r.Body = body
		}
		next.ServeHTTP(w, r)
	})
}

// limitedBody moves the connection's read deadline along while the body comes.
type limitedBody struct {
	io.ReadCloser

	rest             io.Reader // what lies below; nil once it has been drained
	limit, announced int64     // announced is -1 for a chunked body
	pause            time.Duration
	expecting        bool // the client waits to be told to send
	header           http.Header
	control          *http.ResponseController
}

func (b *limitedBody) Read(p []byte) (n int, err error) {
	if b.announced > b.limit { // nothing of it needs to be kept
		err = &http.MaxBytesError{Limit: b.limit}
	} else {
		b.patience(b.pause)
		n, err = b.ReadCloser.Read(p)
	}
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		_ = b.control.SetReadDeadline(time.Time{}) // from here on the connection is only watched
	default:
		// The deadline stays: net/http reads on before it answers otherwise.
		b.header.Set("Connection", "close")
		if isTooLarge {
			b.drain()
			err = tooLarge
		}
	}
	return n, err
}

func (b *limitedBody) patience(d time.Duration) {
	_ = b.control.SetReadDeadline(time.Now().Add(d)) // tests' recorders have none
}

func (b *limitedBody) drain() {
	if b.rest == nil || b.expecting {
		return
	}
	b.patience(drainTime)
	_, _ = io.CopyN(io.Discard, b.rest, drainLimit) // the error that counts is the size
	b.rest = nil
}

// OpenBody is for handlers of streams, which go on and may stay silent for as long
// as their clients like: what they read is neither bounded nor timed. Such a handler
// bounds each message by itself.
func OpenBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, limited := r.Body.(*limitedBody); limited {
			if open, ok := body.rest.(io.ReadCloser); ok {
				_ = body.control.SetReadDeadline(time.Time{})
				r.Body = open
			}
		}
		next.ServeHTTP(w, r)
	})
}
