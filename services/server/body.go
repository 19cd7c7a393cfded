package server

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
)

// bodyPause is the maximum time for which a client may send nothing within a body.
// leastRate is a minimum rate in bytes per second: a body may arrive at most bodyPause
// later than it would at leastRate. A client that sends a byte now and then thus can't hold
// resources for long.
const (
	bodyPause = 30 * time.Second
	leastRate = 1 << 10
)

// drainLimit and drainTime limit how much is still read of a body that was refused for its
// size. A client that writes the whole request before it reads then gets its response. The
// limit is twice the default of [Config.MaxBody]: a connection that is closed with unread
// bytes is reset, which can discard the response.
const (
	drainLimit = 128 << 20
	drainTime  = 5 * time.Second
)

// MaxOpenBody is the maximum size, in bytes, of bodies and messages of routes that need no
// key. These are requests of probes, which at most name a service.
const MaxOpenBody = 8 << 10

// limitBody limits the size of bodies, also of chunked ones, and their pauses. Through the
// request's arrival it also limits the memory of all bodies that are read or served.
// Handlers get a [TooLargeError], an [os.ErrDeadlineExceeded] or the core's error.
func limitBody(cfg Config, pause time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			limit := cfg.MaxBody
			if route := RecordOf(r.Context()).match.record; route != nil && route.Access == auth.Open {
				limit = min(limit, MaxOpenBody)
			}
			body := &limitedBody{
				ReadCloser: http.MaxBytesReader(w, r.Body, limit), rest: r.Body, limit: limit, announced: r.ContentLength, pause: pause,
				expecting: r.Header.Get("Expect") != "", header: w.Header(), control: http.NewResponseController(w), rec: RecordOf(r.Context()), setting: cfg.Names.Of("server.MaxBody"),
			}
			body.setReadTimeout(pause) // this time limit applies even if the handler never reads
			r.Body = body
		}
		next.ServeHTTP(w, r)
	})
}

// TooLargeError is the error of a body that is larger than the limit. It wraps the
// [http.MaxBytesError].
type TooLargeError struct {
	*http.MaxBytesError

	// Setting is the operators' name of the field of the limit.
	Setting string
}

// Unwrap returns the error of net/http.
func (e *TooLargeError) Unwrap() error { return e.MaxBytesError }

// Refusal returns the error for the client.
func (e *TooLargeError) Refusal() *inference.Error {
	return &inference.Error{
		Code: inference.CodeInvalid, Reason: inference.ReasonBodyTooLarge,
		Message: fmt.Sprintf("the request body is larger than this server's limit of %d bytes (%s)", e.Limit, e.Setting), Err: e.MaxBytesError,
	}
}

// limitedBody extends the connection's read deadline while the body arrives.
type limitedBody struct {
	io.ReadCloser

	rest             io.Reader // the underlying body; nil once drained
	limit, announced int64     // announced is -1 for a chunked body
	pause            time.Duration
	waited           time.Duration // total time of the reads
	expecting        bool          // the client waits for 100 Continue
	header           http.Header
	control          *http.ResponseController
	rec              *Record
	setting          string // operators' name of the field that sets the limit
	read, taken      int64  // taken is the number of bytes that the arrival has counted
}

// bodyStep is the step, in bytes, in which a body of unknown length is counted.
const bodyStep = 64 << 10

// take makes the arrival count the body before it is read. It counts all of a body of known
// length, and otherwise bodyStep more than has been read.
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

// bodyError is the error of a request body that the server refuses. It also wraps a Connect error,
// because Connect's handlers report an error without one as an internal error.
type bodyError struct {
	error
	connect *connect.Error
}

func refusedBody(err error) error {
	return bodyError{err, connect.NewError(connect.CodeUnavailable, errors.New(inference.AsError(err).Message))}
}

// Unwrap returns both errors.
func (e bodyError) Unwrap() []error { return []error{e.error, e.connect} }

func (b *limitedBody) Read(p []byte) (n int, err error) {
	if b.announced > b.limit { // the body is refused without reading it
		err = &http.MaxBytesError{Limit: b.limit}
	} else if err = b.take(); err == nil {
		began := time.Now()
		b.setReadTimeout(min(b.pause, b.pause+time.Duration(b.read)*(time.Second/leastRate)-b.waited))
		n, err = b.rec.receive(b.ReadCloser, p[:min(len(p), b.readable())])
		b.read += int64(n)
		b.waited += time.Since(began)
	}
	_, refused := errors.AsType[bodyError](err)
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		_ = b.control.SetReadDeadline(time.Time{}) // the connection is only watched from here on
	default:
		// The deadline stays, since net/http otherwise reads on before it responds.
		b.header.Set("Connection", "close")
		if isTooLarge || refused {
			b.drain()
		}
		if isTooLarge {
			err = &TooLargeError{tooLarge, b.setting}
		}
	}
	return n, err
}

// readable returns how many bytes may be read of those that were taken. It returns no limit for
// a body of known length, since net/http doesn't read beyond the length.
func (b *limitedBody) readable() int {
	if b.announced >= 0 {
		return math.MaxInt
	}
	return int(b.taken - b.read)
}

func (b *limitedBody) setReadTimeout(d time.Duration) {
	_ = b.control.SetReadDeadline(time.Now().Add(d)) // recorders of tests have no deadlines
}

func (b *limitedBody) drain() {
	if b.rest == nil || b.expecting {
		return
	}
	b.setReadTimeout(drainTime)
	_, _ = io.CopyN(io.Discard, b.rest, drainLimit) // the error to return is the size
	b.rest = nil
}

// receive reads a part of a body and waits for a decode slot before the part is decoded. A
// request whose client sends nothing releases its slot.
func (rec *Record) receive(body io.Reader, p []byte) (int, error) {
	if !rec.decodes {
		n, err := body.Read(p)
		if errors.Is(err, io.EOF) {
			rec.arrival.Decoded() // a long-lived request such as a watch no longer counts as being read
		}
		return n, err
	}
	rec.arrival.Await()
	n, err := body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, err // there is nothing to decode
	}
	if refused := rec.arrival.Decode(); refused != nil {
		return 0, refusedBody(refused)
	}
	return n, err
}

// OpenBody is for handlers of streams, which stay open and may be idle as long as their
// clients like. Their bodies have neither a size limit nor a time limit. Such a handler
// limits each message itself, and reports when it has decoded one.
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

// openBody is the request body of a bidirectional stream.
type openBody struct {
	io.ReadCloser

	rec *Record
}

func (b openBody) Read(p []byte) (int, error) { return b.rec.receive(b.ReadCloser, p) }
