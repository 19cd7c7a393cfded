package rest

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/server"
)

// Server serves REST on a separate port.
type Server struct {
	listener *kserve.Listener
	http     *server.Server
	log      *slog.Logger
}

// NewServer returns a server that doesn't serve yet, with the limits of the shared
// port.
func NewServer(h *Handler, listener *kserve.Listener, c server.Common) (*Server, error) {
	port, err := server.New(c, listener.HTTP(), []server.Route{{Pattern: "/", Handler: h}})
	if err != nil {
		return nil, err
	}
	return &Server{listener: listener, http: port, log: c.Log}, nil
}

// ServeHTTP answers a request as the port does, without a connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.http.ServeHTTP(w, r) }

// Start serves on the listener, if it is open.
func (s *Server) Start(context.Context) error {
	if s.listener.Enabled() {
		s.http.Serve()
	}
	return nil
}

// Report logs the address, if the port is open.
func (s *Server) Report() {
	if s.listener.Enabled() {
		s.log.Info("listening for KServe v2 by REST", "address", s.listener.HTTP().Addr().String())
	}
}

// Stop waits for requests in flight until the shutdown timeout and cancels the
// remaining requests. It returns when all have ended.
func (s *Server) Stop(ctx context.Context) error {
	if !s.listener.Enabled() {
		return nil
	}
	return s.http.Stop(ctx)
}
