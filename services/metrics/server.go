package metrics

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/server"
)

// Listener is the separate port of the metrics. It opens none without [Config.Own].
type Listener struct {
	own  bool
	port *server.Listener
}

// NewListener returns a listener; Start opens its port. The port is served with TLS if
// there are certificates.
func NewListener(cfg Config, certificates *server.Certificates) *Listener {
	return &Listener{own: cfg.Own, port: server.NewPort(cfg.Host, cfg.Port, "metrics.Port", certificates != nil)}
}

// Start opens the port. Connections wait until the server serves.
func (l *Listener) Start(ctx context.Context) error {
	if !l.own {
		return nil
	}
	return l.port.Start(ctx)
}

// Stop closes the port, unless a stopped server has closed it already.
func (l *Listener) Stop(ctx context.Context) error { return l.port.Stop(ctx) }

// URL returns the URL of the page on its separate port; it is empty if there is none.
func (l *Listener) URL() string {
	if !l.own {
		return ""
	}
	return l.port.URL() + Path
}

// Server serves the page on its separate port.
type Server struct {
	listener *Listener
	http     *server.Server
	log      *slog.Logger
}

// Routes returns the route of the page, unless the metrics are off.
func Routes(cfg Config, page *Page) []server.Route {
	if cfg.Off {
		return nil
	}
	return []server.Route{{Pattern: "GET " + Path, Handler: page}}
}

// NewServer returns a server that doesn't serve yet, with the limits of the shared port.
// Like tritonserver's metrics port it requires no key: only scrapers use the port.
func NewServer(cfg Config, page *Page, listener *Listener, common server.Common) (*Server, error) {
	common.Gate, common.Core = nil, idle{}
	port, err := server.New(common, listener.port, Routes(cfg, page))
	if err != nil {
		return nil, err
	}
	return &Server{listener: listener, http: port, log: common.Log}, nil
}

// idle is the core of a port without requests to models. Scrapes have no bodies worth
// limiting and end by themselves.
type idle struct{}

func (idle) Drain(context.Context)                     {}
func (idle) Arrive(context.Context) *admission.Arrival { return nil }

// ServeHTTP answers a request as the port does, without a connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.http.ServeHTTP(w, r) }

// Start serves on the listener if it has a port.
func (s *Server) Start(context.Context) error {
	if s.listener.own {
		s.http.Serve()
	}
	return nil
}

// Report logs the URL of the page, if it has a separate port.
func (s *Server) Report() {
	if s.listener.own {
		s.log.Info("listening for scrapes of metrics", "url", s.listener.URL())
	}
}

// Stop stops serving.
func (s *Server) Stop(ctx context.Context) error {
	if !s.listener.own {
		return nil
	}
	return s.http.Stop(ctx)
}
