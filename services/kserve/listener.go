package kserve

import (
	"context"
	"errors"
	"net"

	"github.com/trident-inference/trident/services/server"
)

// Listener is the ports of gRPC and of REST, opened before anything else starts.
// Without [Config.Enabled] there are none.
type Listener struct {
	enabled    bool
	grpc, http *server.Listener
}

// NewListener makes a listener; Start opens it. The ports will be served with TLS if
// there are certificates.
func NewListener(cfg Config, certificates *server.Certificates) *Listener {
	secure := certificates != nil
	return &Listener{
		enabled: cfg.Enabled,
		grpc:    server.NewPort(cfg.Host, cfg.GRPCPort, "kserve.GRPCPort", secure),
		http:    server.NewPort(cfg.Host, cfg.HTTPPort, "kserve.HTTPPort", secure),
	}
}

// Start opens both ports, or none. Connections wait until the servers serve.
func (l *Listener) Start(ctx context.Context) error {
	if !l.enabled {
		return nil
	}
	if err := l.grpc.Start(ctx); err != nil {
		return err
	}
	if err := l.http.Start(ctx); err != nil {
		return errors.Join(err, l.grpc.Stop(ctx))
	}
	return nil
}

// Stop closes the ports, which servers that have stopped have done already.
func (l *Listener) Stop(ctx context.Context) error {
	return errors.Join(l.http.Stop(ctx), l.grpc.Stop(ctx))
}

// Addr is the address of gRPC, nil without a port.
func (l *Listener) Addr() net.Addr {
	if !l.enabled {
		return nil
	}
	return l.grpc.Addr()
}

// Enabled reports whether there are ports.
func (l *Listener) Enabled() bool { return l.enabled }

// HTTP is REST's port. Without [Config.Enabled] it isn't open.
func (l *Listener) HTTP() *server.Listener { return l.http }

// URL is that of REST's port, empty without one.
func (l *Listener) URL() string {
	if !l.enabled {
		return ""
	}
	return l.http.URL()
}
