package server

import (
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// LimitedListener is a listener that limits the number of open connections. It accepts a
// connection beyond a limit and closes it at once, before it reads anything. The client gets no
// reason, since a response would cost what the limits are to save. The methods of
// LimitedListener may be called concurrently.
type LimitedListener struct {
	net.Listener

	cfg       Config
	telemetry *Telemetry
	log       *throttledLog

	mu   sync.Mutex
	open map[*countedConn]struct{}
	by   map[netip.Addr]int // number of open connections by address
}

// LimitConnections returns a listener that limits the open connections of a port as
// configured, in total and by address. Connections from loopback addresses have only the
// total limit, since a proxy on this machine has the connections of all its clients.
func LimitConnections(l net.Listener, cfg Config, telemetry *Telemetry, log *slog.Logger) *LimitedListener {
	return &LimitedListener{
		Listener: l, cfg: cfg, telemetry: telemetry,
		log: newThrottledLog(log.With("port", l.Addr().String())), open: map[*countedConn]struct{}{}, by: map[netip.Addr]int{},
	}
}

// Accept implements [net.Listener].
func (l *LimitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, ok := conn.(*net.TCPConn)
		if !ok {
			return conn, nil // ports are TCP ports; only tests have other listeners
		}
		accepted := &countedConn{TCPConn: tcp, of: l, address: inference.AddressOf(tcp.RemoteAddr())}
		if l.enter(accepted) {
			return accepted, nil
		}
		_ = tcp.SetLinger(0) // without this, the closed connection holds a port for minutes
		_ = tcp.Close()
	}
}

// CloseAll closes all open connections.
func (l *LimitedListener) CloseAll() {
	l.mu.Lock()
	all := slices.Collect(maps.Keys(l.open))
	l.mu.Unlock()
	for _, conn := range all {
		_ = conn.Close() // the connection isn't used any more
	}
}

// enter counts a connection and reports whether it is within the limits.
func (l *LimitedListener) enter(c *countedConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, each := l.cfg.MaxConnections, l.cfg.MaxConnectionsPerAddress // 0 is no limit
	switch {
	case all > 0 && len(l.open) >= all:
		l.refuse(refusedConnections, "closed new connections: the port has reached its limit of connections", "connections", len(l.open), "flag", l.cfg.Names.Of("server.MaxConnections"))
		return false
	case each > 0 && l.by[c.address] >= each && !c.address.IsLoopback():
		l.refuse(refusedAddress, "closed new connections: their address has reached its limit of connections", "address", c.address, "connections", l.by[c.address], "flag", l.cfg.Names.Of("server.MaxConnectionsPerAddress"))
		return false
	}
	l.open[c] = struct{}{}
	l.by[c.address]++
	return true
}

func (l *LimitedListener) refuse(why refusal, text string, attrs ...any) {
	l.telemetry.refused(why)
	l.log.warn(text, attrs...)
}

// leave removes a connection. Further calls do nothing.
func (l *LimitedListener) leave(c *countedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, there := l.open[c]; !there {
		return
	}
	delete(l.open, c)
	l.by[c.address]--
	if l.by[c.address] == 0 {
		delete(l.by, c.address)
	}
}

// countedConn is a connection that is counted until it is closed.
type countedConn struct {
	*net.TCPConn

	of      *LimitedListener
	address netip.Addr
	held    *[]byte // bytes of held writes; nil unless writes are held
}

// Close implements [net.Conn].
func (c *countedConn) Close() error {
	defer c.of.leave(c)
	return c.TCPConn.Close()
}

// TCPOf returns the TCP connection of a port's connection without TLS, and nil for other
// connections.
func TCPOf(conn net.Conn) *net.TCPConn {
	switch c := conn.(type) {
	case *net.TCPConn:
		return c
	case *countedConn:
		return c.TCPConn
	}
	return nil
}

// throttledLogInterval is the minimum interval between log lines of a [throttledLog].
const throttledLogInterval = 10 * time.Second

// throttledLog logs events that clients can cause at any rate. It logs the first event at once,
// and then at most one line every [throttledLogInterval] with the number of events since.
type throttledLog struct {
	log *slog.Logger

	mu         sync.Mutex
	last       time.Time
	suppressed int
}

func newThrottledLog(log *slog.Logger) *throttledLog { return &throttledLog{log: log} }

func (s *throttledLog) warn(text string, attrs ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.last.IsZero() || now.Sub(s.last) >= throttledLogInterval {
		s.log.Warn(text, append(attrs, "since_the_last_line", s.suppressed)...) //nolint:sloglint // the callers' messages are constants
		s.last, s.suppressed = now, 0
		return
	}
	s.suppressed++
}
