package server

import (
	"errors"
	"io"
	"math"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
)

// bodyPause is how long a client may send nothing in the middle of a body, and how much
// later a body may come than it would at leastRate, in bytes a second: who sends a byte
// now and then holds nothing for long.
const (
	bodyPause = 30 * time.Second
	leastRate = 1 << 10
)

// drainLimit and drainTime bound what is still read of a body that was refused
// for its size, so that a client which writes before it reads gets its answer.
const (
	drainLimit = 64 << 20
	drainTime  = 5 * time.Second
)

// MaxOpenBody bounds the bodies and messages of routes that need no key, in bytes: those of
// probes, which name a service at most.
const MaxOpenBody = 8 << 10

// limitBody bounds bodies, chunked ones too, their pauses, and by the request's arrival
// what all take that are being read or served. Handlers see a [http.MaxBytesError],
// [os.ErrDeadlineExceeded] or the core's error.
func limitBody(limit int64, pause time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			limit := limit
			if route := RecordOf(r.Context()).match.record; route != nil && route.Access == auth.Open {
				limit = min(limit, MaxOpenBody)
			}
			body := &limitedBody{
				ReadCloser: http.MaxBytesReader(w, r.Body, limit), rest: r.Body, limit: limit, announced: r.ContentLength, pause: pause,
				expecting: r.Header.Get("Expect") != "", header: w.Header(), control: http.NewResponseController(w), rec: RecordOf(r.Context()),
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
	waited           time.Duration // for what has been read
	expecting        bool          // the client waits to be told to send
	header           http.Header
	control          *http.ResponseController
	rec              *Record
	read, taken      int64 // taken is what the arrival has counted
}

// bodyStep is how many bytes of a body of unknown length are counted at a time.
const bodyStep = 64 << 10

// take has the arrival count the body before it is read: all of it, or where nobody has
// said how much that is, a little more than has come.
func (b *limitedBody) take() error {
	more := b.announced
	if more < 0 {
		more = b.read + bodyStep
	}
	if more <= b.taken {
		return nil
	}
	if err := b.rec.arrival.Take(more - b.taken); err != nil {
		return refusedBody(err)
	}
	b.taken = more
	return nil
}

// bodyError is the core's error, and Connect's for handlers of Connect's own, which
// take another for a defect.
type bodyError struct {
	error
	connect *connect.Error
}

func refusedBody(err error) error {
	return bodyError{err, connect.NewError(connect.CodeUnavailable, errors.New(inference.AsError(err).Message))}
}

// Unwrap gives both.
func (e bodyError) Unwrap() []error { return []error{e.error, e.connect} }

func (b *limitedBody) Read(p []byte) (n int, err error) {
	if b.announced > b.limit { // nothing of it needs to be kept
		err = &http.MaxBytesError{Limit: b.limit}
	} else if err = b.take(); err == nil {
		began := time.Now()
		b.patience(min(b.pause, b.pause+time.Duration(b.read)*(time.Second/leastRate)-b.waited))
		n, err = b.rec.receive(b.ReadCloser, p[:min(len(p), b.room())])
		b.read += int64(n)
		b.waited += time.Since(began)
	}
	_, refused := errors.AsType[bodyError](err)
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		_ = b.control.SetReadDeadline(time.Time{}) // from here on the connection is only watched
	default:
		// The deadline stays: net/http reads on before it answers otherwise.
		b.header.Set("Connection", "close")
		if isTooLarge || refused {
			b.drain()
		}
		if isTooLarge {
			err = tooLarge
		}
	}
	return n, err
}

// room is how much may be read of what has been taken: all where the length is known,
// as net/http reads no further.
func (b *limitedBody) room() int {
	if b.announced >= 0 {
		return math.MaxInt
	}
	return int(b.taken - b.read)
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

// receive reads a piece of a body and waits for a decode slot before it is decoded. While
// the client sends nothing the request has none for long.
func (rec *Record) receive(body io.Reader, p []byte) (int, error) {
	if !rec.decodes {
		n, err := body.Read(p)
		if errors.Is(err, io.EOF) {
			rec.arrival.Decoded() // what goes on for long, as a watch does, isn't being read
		}
		return n, err
	}
	rec.arrival.Await()
	n, err := body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, err // nothing is decoded
	}
	if refused := rec.arrival.Decode(); refused != nil {
		return 0, refusedBody(refused)
	}
	return n, err
}

// OpenBody is for handlers of streams, which go on and may stay silent for as long
// as their clients like: what they read is neither bounded nor timed. Such a handler
// bounds each message by itself, and says when it has decoded one.
func OpenBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, limited := r.Body.(*limitedBody); limited {
			if open, ok := body.rest.(io.ReadCloser); ok {
				_ = body.control.SetReadDeadline(time.Time{})
				r.Body = openBody{open, body.rec}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// openBody is a stream's.
type openBody struct {
	io.ReadCloser

	rec *Record
}

func (b openBody) Read(p []byte) (int, error) { return b.rec.receive(b.ReadCloser, p) }
