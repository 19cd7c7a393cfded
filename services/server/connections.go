package server

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// limitedListener is a listener that closes what is beyond the limits of its port as soon as
// it has been accepted, before anything is read of it. A client learns nothing of why, as
// an answer would take what the limits are to save.
type limitedListener struct {
	net.Listener

	all, each int // limits; 0 is none
	telemetry *Telemetry
	log       *seldom

	mu   sync.Mutex
	open int
	by   map[netip.Addr]int // open ones, of addresses that have some
}

// LimitConnections bounds the open connections of a port by the configuration: all of
// them, and those of one address. Connections from a loopback address count among all
// alone: they are those of this machine, such as a proxy's for all of its clients.
func LimitConnections(l net.Listener, cfg Config, telemetry *Telemetry, log *slog.Logger) net.Listener {
	return &limitedListener{
		Listener: l, all: cfg.MaxConnections, each: cfg.MaxConnectionsPerAddress, telemetry: telemetry, by: map[netip.Addr]int{},
		log: newSeldom(log.With("port", l.Addr().String())),
	}
}

// Accept implements [net.Listener].
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, ok := conn.(*net.TCPConn)
		if !ok {
			return conn, nil // a port is one of TCP; other listeners are those of tests
		}
		address := inference.AddressOf(tcp.RemoteAddr())
		if l.enter(address) {
			return &countedConn{TCPConn: tcp, leave: sync.OnceFunc(func() { l.leave(address) })}, nil
		}
		_ = tcp.SetLinger(0) // what is closed here takes no port for minutes
		_ = tcp.Close()
	}
}

// enter counts a connection if there is room for it.
func (l *limitedListener) enter(address netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.all > 0 && l.open >= l.all:
		l.refuse(refusedConnections, "connections were closed: the port has as many as it may have", "connections", l.open, "flag", "--max-connections")
		return false
	case l.each > 0 && l.by[address] >= l.each && !address.IsLoopback():
		l.refuse(refusedAddress, "connections were closed: their address has as many as it may have", "address", address, "connections", l.by[address], "flag", "--max-connections-per-address")
		return false
	}
	l.open++
	l.by[address]++
	return true
}

func (l *limitedListener) refuse(why refusal, text string, attrs ...any) {
	l.telemetry.refused(why)
	l.log.warn(text, attrs...)
}

func (l *limitedListener) leave(address netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.by[address]--
	if l.by[address] == 0 {
		delete(l.by, address)
	}
}

// countedConn is a connection that counts until it is closed.
type countedConn struct {
	*net.TCPConn

	leave func()
}

// Close implements [net.Conn].
func (c *countedConn) Close() error {
	defer c.leave()
	return c.TCPConn.Close()
}

// TCP is the connection below.
func (c *countedConn) TCP() *net.TCPConn { return c.TCPConn }

// seldomPause is the least time between two lines of a [seldom].
const seldomPause = 10 * time.Second

// seldom logs what clients can bring about as often as they like: at once, and then not
// more often than every [seldomPause], with how often it has happened since.
type seldom struct {
	log *slog.Logger

	mu   sync.Mutex
	last time.Time
	more int
}

func newSeldom(log *slog.Logger) *seldom { return &seldom{log: log} }

func (s *seldom) warn(text string, attrs ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.last.IsZero() || now.Sub(s.last) >= seldomPause {
		s.log.Warn(text, append(attrs, "since_the_last_line", s.more)...) //nolint:sloglint // the callers' are constants
		s.last, s.more = now, 0
		return
	}
	s.more++
}
