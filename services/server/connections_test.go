package server

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/test/logbuffer"
)

// TestConnectionLimit tests that connections beyond the limit of a port are closed at once,
// and that a closed connection makes room for another.
func TestConnectionLimit(t *testing.T) {
	cfg := Default()
	cfg.MaxConnections = 2
	url, log, _ := start(t, cfg, noWork{}, func(http.ResponseWriter, *http.Request) {})
	address := strings.TrimPrefix(url, "http://")
	served := func(conn net.Conn) bool {
		if conn == nil { // the connection was closed before the dial returned
			return false
		}
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			return false
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	open := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if errors.Is(err, syscall.ECONNRESET) {
			return nil
		} else if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	first, second := open(), open()
	if !served(first) || !served(second) {
		t.Fatal("connections within the limit aren't served")
	}
	for range 3 {
		if served(open()) {
			t.Error("a connection beyond the limit is served")
		}
	}
	if !served(first) {
		t.Error("an open connection isn't served any more")
	}
	_ = second.Close()
	for again := false; !again; again = served(open()) { // the loop ends when the server has seen that a connection closed
		if t.Context().Err() != nil {
			t.Fatal("the connection that has ended made no room")
		}
	}
	if text := log.String(); strings.Count(text, "closed new connections") != 1 || !strings.Contains(text, "flag=server.MaxConnections ") {
		t.Errorf("the log has not one line: %s", text)
	}
}

// TestConnectionsOfAddresses tests the limit on the connections of one address. The limit doesn't
// apply to addresses of this machine.
func TestConnectionsOfAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, telemetry := &logbuffer.Buffer{}, NewTelemetry(nil)
		l := &LimitedListener{
			cfg: Config{MaxConnections: 7, MaxConnectionsPerAddress: 2}, telemetry: telemetry, log: newThrottledLog(slog.New(slog.NewTextHandler(log, nil))),
			open: map[*countedConn]struct{}{}, by: map[netip.Addr]int{},
		}
		enter := func(address netip.Addr) bool { return l.enter(&countedConn{of: l, address: address}) }
		one, two, own := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8:1:2::"), netip.MustParseAddr("127.0.0.1")
		for _, step := range []struct {
			address netip.Addr
			enters  bool
		}{{one, true}, {one, true}, {one, false}, {two, true}, {own, true}, {own, true}, {own, true}, {two, true}, {own, false}, {netip.MustParseAddr("192.0.2.9"), false}} {
			if got := enter(step.address); got != step.enters {
				t.Errorf("%s: %t", step.address, got)
			}
		}
		for c := range maps.Clone(l.open) {
			if c.address == one {
				l.leave(c)
				l.leave(c) // only the first call has an effect
				break
			}
		}
		if !enter(one) || enter(one) {
			t.Error("a connection that ended made no room, or too much")
		}
		<-time.After(throttledLogInterval)
		if enter(one) {
			t.Error("beyond both limits")
		}
		if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "since_the_last_line=3") || !strings.Contains(text, "address=192.0.2.1") {
			t.Errorf("log: %s", text)
		}
		if got := maps.Collect(telemetry.Refusals()); got["connections"] != 4 || got["connections_per_address"] != 1 || got["header_lines"] != 0 {
			t.Errorf("counted: %v", got)
		}
		for c := range maps.Clone(l.open) {
			l.leave(c)
		}
		if len(l.open) != 0 || len(l.by) != 0 {
			t.Errorf("%d connections of %v are left", len(l.open), l.by)
		}
	})
}

// TestCloseAll checks that closing all connections of a port frees the limits of their addresses,
// so that the addresses can open others.
func TestCloseAll(t *testing.T) {
	open, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := LimitConnections(open, Config{MaxConnections: 1}, NewTelemetry(nil), slog.New(slog.DiscardHandler))
	defer l.Close()
	for range 2 {
		client, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if tcp := TCPOf(accepted); tcp == nil || TCPOf(tcp) != tcp || tcp.RemoteAddr().String() != client.LocalAddr().String() {
			t.Errorf("the TCP connection is %v", tcp)
		}
		l.CloseAll()
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the client of a closed connection reads: %v", err)
		}
	}
	one, two := net.Pipe()
	defer one.Close()
	defer two.Close()
	if TCPOf(one) != nil {
		t.Error("a pipe has a TCP connection")
	}
}
