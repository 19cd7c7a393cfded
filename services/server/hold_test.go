package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// heldServer serves one handler by HTTP on a limited listener, as a port does, and returns the URL.
func heldServer(t *testing.T, protocols *http.Protocols, handle func(*writer)) string {
	t.Helper()
	return heldServerWithin(t, time.Minute, protocols, handle)
}

// heldServerWithin is heldServer with another timeout of writes.
func heldServerWithin(t *testing.T, timeout time.Duration, protocols *http.Protocols, handle func(*writer)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := LimitConnections(l, Config{}, nil, slog.New(slog.DiscardHandler))
	server := &http.Server{ConnContext: withConn, Protocols: protocols, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sw := newWriter(w, r, timeout)
		defer sw.end()
		handle(sw)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(limited)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return "http://" + l.Addr().String()
}

// TestWriteFlush checks that the client has each piece when WriteFlush has returned, whatever its size,
// on connections whose writes are held and on others.
func TestWriteFlush(t *testing.T) {
	var h1, h2 http.Protocols
	h1.SetHTTP1(true)
	h2.SetUnencryptedHTTP2(true)
	for name, test := range map[string]struct {
		protocols *http.Protocols
		holds     bool
	}{"HTTP/1": {&h1, true}, "HTTP/2": {&h2, false}} {
		t.Run(name, func(t *testing.T) {
			sizes := []int{1, leastHeld - 1, leastHeld, 4096, 8192, 16 << 10, mostHeld, mostHeld + 1, 200_000}
			read := make(chan struct{})
			url := heldServer(t, test.protocols, func(w *writer) {
				if (w.conn != nil) != test.holds {
					t.Errorf("its writes can be held: %t", w.conn != nil)
				}
				for i, size := range sizes {
					if err := w.WriteFlush(bytes.Repeat([]byte{byte('a' + i)}, size)); err != nil {
						t.Errorf("%d bytes: %v", size, err)
					}
					<-read
				}
			})
			client := &http.Client{Transport: &http.Transport{Protocols: test.protocols}}
			defer client.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			for i, size := range sizes {
				got := make([]byte, size)
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != strings.Repeat(string(rune('a'+i)), size) {
					t.Fatalf("%d bytes: other content, or %v", size, err)
				}
				read <- struct{}{}
			}
			if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
				t.Errorf("%d bytes more, %v", len(rest), err)
			}
		})
	}
}

// TestHeld checks that a held connection has the whole piece, and nothing of it is sent before.
func TestHeld(t *testing.T) {
	piece := bytes.Repeat([]byte("x"), 10_000)
	var held int
	url := heldServer(t, nil, func(w *writer) {
		w.conn.hold()
		if n, err := w.Write(piece); n != len(piece) || err != nil {
			t.Errorf("%d bytes written, %v", n, err)
		}
		if err := w.FlushError(); err != nil {
			t.Error(err)
		}
		held = len(*w.conn.held)
		if err := w.conn.release(); err != nil || w.conn.held != nil {
			t.Errorf("released with %v", err)
		}
	})
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, piece) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if held < len(piece)+len("HTTP/1.1 200 OK\r\n") {
		t.Errorf("%d bytes were held", held)
	}
}

// TestHeldClientIsGone checks that WriteFlush reports a connection that the client has closed.
func TestHeldClientIsGone(t *testing.T) {
	ended := make(chan error, 1)
	url := heldServer(t, nil, func(w *writer) {
		var err error
		for until := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(until); {
			err = w.WriteFlush(bytes.Repeat([]byte("x"), 16<<10))
		}
		ended <- err
	})
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err := <-ended; err == nil {
		t.Error("writes after the client has disconnected have no error")
	}
}

// TestHeldWriteFails checks that a response of which a piece was written in part doesn't get an end as if
// it were whole.
func TestHeldWriteFails(t *testing.T) {
	ended := make(chan error, 1)
	url := heldServerWithin(t, time.Second, nil, func(w *writer) {
		err := w.conn.SetWriteBuffer(4096)
		for until := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(until); {
			err = w.WriteFlush(bytes.Repeat([]byte("x"), 16<<10))
		}
		ended <- err
	})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if err = errors.Join(err, conn.SetDeadline(time.Now().Add(20*time.Second))); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Fatal("writes to a client that reads nothing have no error")
	}
	got, err := io.ReadAll(conn)
	if !bytes.HasPrefix(got, []byte("HTTP/1.1 200 OK\r\n")) || len(got) < 16<<10 {
		t.Errorf("%d bytes were received: %.100q", len(got), got)
	}
	if err != nil || bytes.HasSuffix(got, []byte("0\r\n\r\n")) {
		t.Errorf("the connection ended with %v after %q", err, got[max(0, len(got)-20):])
	}
}
