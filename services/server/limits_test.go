package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTrickle tests that a client that sends a byte now and then is refused although it
// never pauses for long. A client that is fast enough is served.
func TestTrickle(t *testing.T) {
	seen := make(chan error, 1)
	server := httptest.NewServer(limitBody(Config{MaxBody: 1 << 20}, 300*time.Millisecond, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		seen <- err
	})))
	defer server.Close()
	for _, test := range []struct {
		name  string
		piece int
		ended bool
	}{{"a byte at a time", 1, true}, {"fast enough", 200, false}} {
		t.Run(test.name, func(t *testing.T) {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			pieces := 20
			if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", pieces*test.piece); err != nil {
				t.Fatal(err)
			}
			go func() {
				tick := time.NewTicker(50 * time.Millisecond)
				defer tick.Stop()
				for range pieces {
					<-tick.C
					if _, err := io.WriteString(conn, strings.Repeat("x", test.piece)); err != nil {
						return
					}
				}
			}()
			if err := <-seen; errors.Is(err, os.ErrDeadlineExceeded) != test.ended || !test.ended && err != nil {
				t.Errorf("the body ended with %v", err)
			}
		})
	}
}

// TestSlowHeader tests that the server closes the connection of a client that sends its
// header too slowly, or nothing at all.
func TestSlowHeader(t *testing.T) {
	t.Parallel()
	url, _, _ := start(t, Default(), noWork{}, func(http.ResponseWriter, *http.Request) { t.Error("it was served") })
	var clients sync.WaitGroup
	for name, trickles := range map[string]bool{"a byte a second": true, "nothing": false} {
		clients.Go(func() {
			began := time.Now()
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if trickles {
				clients.Go(func() {
					tick := time.NewTicker(time.Second)
					defer tick.Stop()
					_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
					for {
						select {
						case <-tick.C:
							_, _ = io.WriteString(conn, "x")
						case <-ctx.Done():
							return
						}
					}
				})
			}
			_ = conn.SetReadDeadline(time.Now().Add(4 * readHeaderTimeout))
			_, err = io.ReadAll(conn)
			if took := time.Since(began); errors.Is(err, os.ErrDeadlineExceeded) || took > 3*readHeaderTimeout {
				t.Errorf("%s: it was kept for %s: %v", name, took, err)
			}
		})
	}
	clients.Wait()
}

// TestHeaderLimit tests that both protocols refuse headers that are too large.
func TestHeaderLimit(t *testing.T) {
	url, _, _ := start(t, Default(), noWork{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetHTTP1(!http2)
		transport.Protocols.SetUnencryptedHTTP2(http2)
		for size, served := range map[int]bool{maxHeaderBytes / 2: true, 2 * maxHeaderBytes: false} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Large", strings.Repeat("x", size))
			resp, err := transport.RoundTrip(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			if got := err == nil && resp.StatusCode == http.StatusOK; got != served || err == nil && !served && resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("%s with %d bytes: %v, %v", name, size, resp, err)
			}
		}
		transport.CloseIdleConnections()
	}
}

// TestStreamsOfAConnection tests that the server announces the maximum number of
// concurrent requests of an HTTP/2 connection, and that net/http closes connections that
// exceed it.
func TestStreamsOfAConnection(t *testing.T) {
	url, _, _ := start(t, Default(), noWork{}, func(http.ResponseWriter, *http.Request) {})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 9) // frame header: length, type, flags and stream (RFC 9113, 4.1)
	if _, err := io.ReadFull(conn, head); err != nil || head[3] != 4 {
		t.Fatalf("no SETTINGS: %v, %v", head, err)
	}
	settings := make([]byte, int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(conn, settings); err != nil {
		t.Fatal(err)
	}
	announced := map[uint16]uint32{}
	for ; len(settings) >= 6; settings = settings[6:] {
		announced[binary.BigEndian.Uint16(settings)] = binary.BigEndian.Uint32(settings[2:])
	}
	if streams, header := announced[3], announced[6]; streams != maxStreams || header > 2*maxHeaderBytes || header == 0 {
		t.Errorf("the settings are %v", announced)
	}
}

// TestSecurityHeaders tests that responses that browsers may display have the security
// headers, whatever their status. The headers of a page itself take precedence.
func TestSecurityHeaders(t *testing.T) {
	url, _, _ := start(t, Default(), noWork{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/panic":
			panic("a defect")
		case "/page":
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
		}
	})
	for path, policy := range map[string]string{
		"/v1/models": "default-src 'none'; frame-ancestors 'none'", "/panic": "default-src 'none'; frame-ancestors 'none'",
		"/": "frame-ancestors 'none'", "/assets/a.js": "frame-ancestors 'none'", "/page": "default-src 'self'", "/trident.v1.ChatService/Chat": "",
	} {
		resp, _ := send(t, http.MethodGet, url+path, nil, nil)
		h := resp.Header
		if h.Get("Content-Security-Policy") != policy || policy != "" && (h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") != "no-referrer") {
			t.Errorf("%s: %v", path, h)
		}
	}
	resp, _ := send(t, http.MethodPost, url+"/v1/models", nil, map[string]string{"Origin": "https://evil.example"})
	if resp.StatusCode != http.StatusForbidden || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("refused: %d %v", resp.StatusCode, resp.Header)
	}
}
