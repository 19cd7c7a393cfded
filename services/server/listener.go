package server

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"

	"github.com/trident-inference/trident/services/configfield"
)

// Listener is a port. It is opened before anything else starts, so that a port that can't be opened is
// the only error of a failed start.
type Listener struct {
	host   string
	port   int
	field  configfield.Field
	secure bool
	open   net.Listener
}

// NewListener returns the listener of the shared port; Start opens it.
func NewListener(cfg Config) *Listener {
	return NewPort(cfg.Host, cfg.Port, "server.Port", cfg.TLS.Enabled())
}

// NewPort returns the listener of a frontend's own port, which field configures. Port 0 takes a free
// port. secure states whether the port will be served with TLS.
func NewPort(host string, port int, field configfield.Field, secure bool) *Listener {
	return &Listener{host: host, port: port, field: field, secure: secure}
}

// Start opens the port. Connections wait until a server serves it.
func (l *Listener) Start(ctx context.Context) error {
	address := net.JoinHostPort(l.host, strconv.Itoa(l.port))
	var err error
	l.open, err = new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return configfield.Textf("port %d on %s is in use: stop the other program or choose a port with %s", l.port, l.host, l.field)
	} else if err != nil {
		return configfield.Textf("listen on %s (%s, %s): %w", address, configfield.Field("server.Host"), l.field, err)
	}
	return nil
}

// Stop closes the port unless a stopped server has closed it already. It does nothing if the port was
// never opened.
func (l *Listener) Stop(context.Context) error {
	if l.open == nil {
		return nil
	}
	if err := l.open.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// URL returns the URL of the port. Its host is the configured one, which may stand for all addresses of
// this machine.
func (l *Listener) URL() string {
	_, port, _ := net.SplitHostPort(l.Addr().String()) // net formatted the address
	scheme := "http"
	if l.secure {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(l.host, port)
}

// Loopback reports whether only this machine can reach the port. After Start that depends on the
// address of the port, before Start on the configured host.
func (l *Listener) Loopback() bool {
	if l.open != nil {
		address, ok := l.open.Addr().(*net.TCPAddr)
		return ok && address.IP.IsLoopback()
	}
	return loopback(l.host)
}

// loopback reports whether a host to listen on is this machine's loopback.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Addr returns the address that Start opened.
func (l *Listener) Addr() net.Addr { return l.open.Addr() }

// Open returns the open port for a server, after Start.
func (l *Listener) Open() net.Listener { return l.open }
