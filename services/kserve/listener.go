package kserve

import (
	"context"
	"errors"
	"net"

	"github.com/trident-inference/trident/services/server"
)

// Listener has the ports of gRPC and REST, which are opened before anything else
// starts. Without [Config.Enabled] there are no ports.
type Listener struct {
	enabled    bool
	grpc, http *server.Listener
}

// NewListener returns a listener; Start opens it. The ports are served with TLS if
// there are certificates.
func NewListener(cfg Config, certificates *server.Certificates) *Listener {
	secure := certificates != nil
	return &Listener{
		enabled: cfg.Enabled,
		grpc:    server.NewPort(cfg.Host, cfg.GRPCPort, "kserve.GRPCPort", secure),
		http:    server.NewPort(cfg.Host, cfg.HTTPPort, "kserve.HTTPPort", secure),
	}
}

// Start opens both ports or neither. Connections wait until the servers serve.
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

// Stop closes the ports unless stopped servers have closed them already.
func (l *Listener) Stop(ctx context.Context) error {
	return errors.Join(l.http.Stop(ctx), l.grpc.Stop(ctx))
}

// Addr returns the address of gRPC's port, or nil if there is none.
func (l *Listener) Addr() net.Addr {
	if !l.enabled {
		return nil
	}
	return l.grpc.Addr()
}

// Enabled reports whether there are ports.
func (l *Listener) Enabled() bool { return l.enabled }

// HTTP returns REST's port. Without [Config.Enabled] it isn't open.
func (l *Listener) HTTP() *server.Listener { return l.http }

// URL returns the URL of REST's port; it is empty if there is none.
func (l *Listener) URL() string {
	if !l.enabled {
		return ""
	}
	return l.http.URL()
}
