package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Listener is the shared port. It is opened before anything else starts, so that
// a port that can't be had is all that a failed start tells of.
type Listener struct {
	cfg  Config
	open net.Listener
}

// NewListener makes a listener; Start opens it.
func NewListener(cfg Config) *Listener { return &Listener{cfg: cfg} }

// Start opens the port. Connections wait until the server serves.
func (l *Listener) Start(ctx context.Context) error {
	address := net.JoinHostPort(l.cfg.Host, strconv.Itoa(l.cfg.Port))
	var err error
	l.open, err = new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d on %s is in use: stop the other program or choose a port with --openai-port", l.cfg.Port, l.cfg.Host)
	} else if err != nil {
		return fmt.Errorf("listen on %s (--host, --openai-port): %w", address, err)
	}
	return nil
}

// Stop closes the port, which a server that has stopped has done already.
func (l *Listener) Stop(context.Context) error {
	if err := l.open.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// URL is where the port is reached: at the host that was configured, which may
// stand for all addresses of this machine.
func (l *Listener) URL() string {
	_, port, _ := net.SplitHostPort(l.Addr().String()) // it is one of net's own
	return "http://" + net.JoinHostPort(l.cfg.Host, port)
}

// Addr is the address that Start took.
func (l *Listener) Addr() net.Addr { return l.open.Addr() }
