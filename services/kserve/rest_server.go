package kserve

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/server"
)

// RESTServer serves REST on a port of its own.
type RESTServer struct {
	listener *Listener
	http     *server.Server
	log      *slog.Logger
}

// NewRESTServer makes a server that doesn't serve yet, with the limits of the shared
// port. It calls abort when serving ends though nobody had asked for it.
func NewRESTServer(h *RESTHandler, listener *Listener, certificates *server.Certificates, gate *auth.Gate, cfg server.Config, telemetry *server.Telemetry, abort context.CancelCauseFunc, log *slog.Logger) (*RESTServer, error) {
	port, err := server.New(cfg, listener.HTTP(), certificates, gate, []server.Route{{Pattern: "/", Handler: h}}, h.core.Admission(), telemetry, abort, log)
	if err != nil {
		return nil, err
	}
	return &RESTServer{listener: listener, http: port, log: log}, nil
}

// ServeHTTP answers a request as the port does, without a connection.
func (s *RESTServer) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.http.ServeHTTP(w, r) }

// Start serves on the listener, if it is open.
func (s *RESTServer) Start(context.Context) error {
	if s.listener.Enabled() {
		s.http.Serve()
		s.log.Info("listening for KServe v2 by REST", "address", s.listener.HTTP().Addr().String())
	}
	return nil
}

// Stop lets requests in flight end within the shutdown timeout and cancels the rest.
// When it returns all have ended.
func (s *RESTServer) Stop(ctx context.Context) error {
	if !s.listener.Enabled() {
		return nil
	}
	return s.http.Stop(ctx)
}
