package eventstream_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/trident-inference/trident/services/eventstream"
)

// recorder counts writes, and fails from a write on.
type recorder struct {
	*httptest.ResponseRecorder

	writes int
	broken bool
}

var errGone = errors.New("the client has disconnected")

func (r *recorder) Write(p []byte) (int, error) {
	if r.broken {
		return 0, errGone
	}
	r.writes++
	return r.ResponseRecorder.Write(p)
}

// TestSend checks that Writer.Send writes events that are ready together in one write, and that the
// response has the headers of an event stream.
func TestSend(t *testing.T) {
	r := &recorder{ResponseRecorder: httptest.NewRecorder()}
	s := eventstream.New(r)
	defer s.Close()
	s.Buf = append(s.Buf, "data: 1\n\n"...)
	if !s.Send(true) || r.writes != 0 || s.Started() {
		t.Errorf("%d writes although more follows", r.writes)
	}
	s.Buf = append(s.Buf, "data: 2\n\n"...)
	if !s.Send(false) || !s.Comment() || r.writes != 2 || !s.Started() {
		t.Errorf("%d writes, started %t", r.writes, s.Started())
	}
	if got, want := r.Body.String(), "data: 1\n\ndata: 2\n\n: keep-alive\n\n"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
	if r.Code != http.StatusOK || r.Header().Get("Content-Type") != "text/event-stream; charset=utf-8" || r.Header().Get("Cache-Control") != "no-cache" || r.Header().Get("X-Accel-Buffering") != "no" || !r.Flushed {
		t.Errorf("status %d, header %v, flushed %t", r.Code, r.Header(), r.Flushed)
	}
}

// TestLargeBuffer checks that Writer.Send writes a buffer of 16 KiB at once, although the caller
// reports that more events follow.
func TestLargeBuffer(t *testing.T) {
	r := &recorder{ResponseRecorder: httptest.NewRecorder()}
	s := eventstream.New(r)
	defer s.Close()
	s.Status = http.StatusBadRequest
	s.Buf = append(s.Buf, bytes.Repeat([]byte("x"), 16<<10)...)
	if !s.Send(true) || r.writes != 1 || len(s.Buf) != 0 || r.Code != http.StatusBadRequest {
		t.Errorf("%d writes, %d bytes left, status %d", r.writes, len(s.Buf), r.Code)
	}
}

// TestDisconnected checks that a Writer writes nothing after a failed write, even if the connection
// accepts writes again.
func TestDisconnected(t *testing.T) {
	r := &recorder{ResponseRecorder: httptest.NewRecorder(), broken: true}
	s := eventstream.New(r)
	defer s.Close()
	if s.Comment() {
		t.Error("a failed write is reported as sent")
	}
	r.broken = false
	if s.Comment() || r.writes != 0 {
		t.Errorf("%d writes after the failure", r.writes)
	}
}

// flusher is a recorder whose connection writes and flushes in one call, as package server's does.
type flusher struct{ recorder }

func (f *flusher) WriteFlush(p []byte) error {
	_, err := f.Write(p)
	return err
}

// TestWriteFlush checks that a Writer uses WriteFlush, if there is one, and learns its failures.
func TestWriteFlush(t *testing.T) {
	f := &flusher{recorder{ResponseRecorder: httptest.NewRecorder()}}
	s := eventstream.New(f)
	defer s.Close()
	s.Buf = append(s.Buf, "data: 1\n\n"...)
	if !s.Send(false) || f.writes != 1 || f.Flushed || f.Body.String() != "data: 1\n\n" {
		t.Errorf("%d writes, flushed again %t, body %q", f.writes, f.Flushed, f.Body)
	}
	f.broken = true
	if s.Comment() {
		t.Error("a failed write is reported as sent")
	}
}

// TestBuffersAreEmpty checks that the Buf of a new Writer is empty. Its memory comes from a pool
// and may have served another response.
func TestBuffersAreEmpty(t *testing.T) {
	for range 100 {
		s := eventstream.New(httptest.NewRecorder())
		if len(s.Buf) != 0 {
			t.Fatalf("a new buffer holds %q", s.Buf)
		}
		s.Buf = append(s.Buf, "data: unsent\n\n"...)
		s.Close()
	}
}
