package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// stopLimit is the maximum time of stops that nothing may delay. Each takes about 100 ms on
// an idle machine. The stops took 5 s and more when idle connections weren't closed.
const stopLimit = 3 * time.Second

// TestStopClosesIdleConnections tests that connections without a request in flight don't
// delay a stop.
func TestStopClosesIdleConnections(t *testing.T) {
	t.Parallel()
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for _, test := range []struct{ name, said string }{
		{"that said nothing", ""},
		{"in the middle of a header", "GET / HTTP/1.1\r\nHost: loc"},
		{"of HTTP/2", preface},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url, _, stop := start(t, Default(), noWork{}, func(http.ResponseWriter, *http.Request) {})
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, test.said); err != nil {
				t.Fatal(err)
			}
			if test.said == preface { // the server's settings show that the connection uses HTTP/2
				if _, err := io.ReadFull(conn, make([]byte, 9)); err != nil {
					t.Fatal(err)
				}
			}
			send(t, http.MethodGet, url, nil, nil) // afterwards the server has accepted both connections
			began := time.Now()
			if err := stop(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > stopLimit {
				t.Errorf("the stop took %s", took)
			}
			rest, err := io.ReadAll(conn)
			if err != nil {
				t.Errorf("the connection isn't closed in order: %v", err)
			}
			const goAway = 7 // type of the frame (RFC 9113, section 6.8)
			if test.said == preface && !bytes.Contains(rest, []byte{0, 0, 8, goAway}) {
				t.Errorf("no GOAWAY in %q", rest)
			}
		})
	}
}

// TestStopEndsUploads tests that a request whose body doesn't arrive is refused once nothing
// else is in flight. Clients can retry after the error.
func TestStopEndsUploads(t *testing.T) {
	t.Parallel()
	reading := make(chan struct{})
	failed := make(chan error, 1)
	url, _, stop := start(t, Default(), noWork{}, func(w http.ResponseWriter, r *http.Request) {
		close(reading)
		_, err := io.ReadAll(r.Body)
		failed <- err
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	<-reading
	began := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > stopLimit {
		t.Errorf("the stop took %s", took)
	}
	refusal, ok := errors.AsType[*inference.Error](<-failed)
	if !ok || refusal.Code != inference.CodeUnavailable || refusal.Reason != inference.ReasonShuttingDown || refusal.RetryAfter == 0 {
		t.Errorf("the body's error is %v", refusal)
	}
	if status, _, err := nextAnswer(bufio.NewReader(conn)); status != http.StatusServiceUnavailable || err != nil {
		t.Errorf("the answer is %d, %v", status, err)
	}
}

// TestStopWaitsForAnswers checks that the stop of the server waits until a response is written,
// although admission counts no request in flight any more.
func TestStopWaitsForAnswers(t *testing.T) {
	t.Parallel()
	writing, stopping := make(chan struct{}), make(chan struct{})
	url, _, stop := start(t, Default(), noWork{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "[1,")
		_ = http.NewResponseController(w).Flush()
		close(writing)
		<-stopping
		<-time.After(3 * closeGrace) // longer than idle connections stay open
		_, _ = io.WriteString(w, "2]")
	})
	resp := open(t, url)
	<-writing
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	close(stopping)
	var list []int
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list) != 2 {
		t.Errorf("the answer is %v, %v", list, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
