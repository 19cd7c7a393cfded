package metrics

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/server"
)

// Listener is the port of the metrics alone; there is none without [Config.Own].
type Listener struct {
	own  bool
	port *server.Listener
}

// NewListener makes a listener; Start opens it. The port will be served with TLS if
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

// Stop closes the port, which a server that has stopped has done already.
func (l *Listener) Stop(ctx context.Context) error { return l.port.Stop(ctx) }

// URL of the page on its own port, empty without one.
func (l *Listener) URL() string {
	if !l.own {
		return ""
	}
	return l.port.URL() + Path
}

// Server serves the page on the port of its own.
type Server struct {
	listener *Listener
	http     *server.Server
	log      *slog.Logger
}

// Routes mount the page, if there is one.
func Routes(cfg Config, page *Page) []server.Route {
	if cfg.Off {
		return nil
	}
	return []server.Route{{Pattern: "GET " + Path, Handler: page}}
}

// NewServer makes a server that doesn't serve yet, with the limits of the shared port. It
// requires no key, as tritonserver's doesn't: only scrapers use the port.
func NewServer(cfg Config, page *Page, listener *Listener, common server.Common) (*Server, error) {
	common.Gate, common.Core = nil, idle{}
	port, err := server.New(common, listener.port, Routes(cfg, page))
	if err != nil {
		return nil, err
	}
	return &Server{listener: listener, http: port, log: common.Log}, nil
}

// idle is the core of what has no requests of models: scrapes have no bodies to speak
// of, and end by themselves.
type idle struct{}

func (idle) Drain(context.Context)                     {}
func (idle) Arrive(context.Context) *admission.Arrival { return nil }

// ServeHTTP answers a request as the port does, without a connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.http.ServeHTTP(w, r) }

// Start serves on the listener, if it is open.
func (s *Server) Start(context.Context) error {
	if s.listener.own {
		s.http.Serve()
		s.log.Info("listening for scrapes of metrics", "url", s.listener.URL())
	}
	return nil
}

// Stop ends what is being served.
func (s *Server) Stop(ctx context.Context) error {
	if !s.listener.own {
		return nil
	}
	return s.http.Stop(ctx)
}
