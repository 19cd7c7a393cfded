// Package server owns the listeners and the common parts of all HTTP requests: request
// ids, the log line, panics, CORS, limits and the drain. Routes belong to the
// frontends, keys to package auth, and queues to package admission.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/configfield"
)

// Config configures the shared port and what all HTTP ports have in common.
type Config struct {
	// Host and Port are the address to listen on; port 0 takes a free port.
	Host string
	Port int
	// MaxBody is the maximum size of a request's body, in bytes.
	MaxBody int64
	// ShutdownTimeout is how long requests in flight may continue after the start of a
	// shutdown; then they are cancelled.
	ShutdownTimeout time.Duration
	// DrainDelay is how long requests are still served after SIGTERM while the server already
	// reports that it isn't ready. The shutdown starts after it.
	DrainDelay time.Duration
	// WriteTimeout is how long a client may read nothing before its response is aborted.
	WriteTimeout time.Duration
	// TLS configures TLS of all ports except the port of profiles.
	TLS TLS
	// CORSOrigins are the origins from which browsers may call, in addition to this
	// host's own pages. "*" allows all origins, without credentials.
	CORSOrigins []string
	// AllowedHosts are further values of the Host header, without a port, that a loopback
	// port serves while clients need neither an API key nor a certificate. IP addresses
	// and this machine's own names are always served. Requests with another Host are
	// refused, to prevent DNS rebinding. Once clients need a key or a certificate, every
	// Host is served.
	AllowedHosts []string
	// MaxConnections is the maximum number of open connections of a port, and
	// MaxConnectionsPerAddress of those from one address; 0 means no limit.
	MaxConnections, MaxConnectionsPerAddress int
	// ProfileAddress (host:port) is the address of Go's profiles of this process; empty
	// disables them.
	ProfileAddress string
	// Playground enables the page at /.
	Playground bool
	// Names are the operators' names of the fields; nil for the fields' own names.
	Names *configfield.Names
}

// Default returns the configuration without flags, with the values of Triton's own
// frontend.
func Default() Config {
	return Config{Host: "0.0.0.0", Port: 9000, MaxBody: 64 << 20, ShutdownTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, MaxConnections: 16384, MaxConnectionsPerAddress: 4096, Playground: true}
}

// Validate returns an error that names the invalid field.
func (c Config) Validate() error {
	switch {
	case c.Port < 0 || c.Port > 65535:
		return configfield.Errorf("server.Port", "%d is not a port: give a number from 0 to 65535", c.Port)
	case c.MaxBody < 1:
		return configfield.Errorf("server.MaxBody", "%d is not a positive number of bytes", c.MaxBody)
	case c.ShutdownTimeout < 0:
		return configfield.Errorf("server.ShutdownTimeout", "%s is negative: give a duration of 0 or more", c.ShutdownTimeout)
	}
	switch {
	case c.DrainDelay < 0:
		return configfield.Errorf("server.DrainDelay", "%s is negative: give a duration of 0 or more", c.DrainDelay)
	case c.WriteTimeout <= 0:
		return configfield.Errorf("server.WriteTimeout", "%s is not a positive duration", c.WriteTimeout)
	case c.MaxConnections < 0:
		return configfield.Errorf("server.MaxConnections", "%d is negative: give 0 or more", c.MaxConnections)
	case c.MaxConnectionsPerAddress < 0:
		return configfield.Errorf("server.MaxConnectionsPerAddress", "%d is negative: give 0 or more", c.MaxConnectionsPerAddress)
	}
	if err := c.TLS.validate(); err != nil {
		return err
	}
	if err := validateAddress("server.ProfileAddress", c.ProfileAddress); err != nil {
		return err
	}
	for _, name := range c.AllowedHosts {
		if err := validateHost(name); err != nil {
			return err
		}
	}
	for _, origin := range c.CORSOrigins {
		if u, err := url.Parse(origin); origin != "*" && (err != nil || u.Host == "" || origin != u.Scheme+"://"+u.Host) {
			return configfield.Errorf("server.CORSOrigins", "%q is neither * nor an origin such as https://example.com", origin)
		}
	}
	return nil
}

// Core is the part of the service that a port uses.
type Core interface {
	// Drain waits until no request is in flight or ctx ends. It returns when none is
	// left.
	Drain(ctx context.Context)
	// Arrive starts to track a request after authentication. It may return nil, which
	// tracks nothing.
	Arrive(ctx context.Context) *admission.Arrival
}

// Common has the common parts of the HTTP and gRPC ports.
type Common struct {
	Config       Config
	Certificates *Certificates // nil for no TLS
	Gate         *auth.Gate    // nil admits all requests
	Core         Core
	Telemetry    *Telemetry // nil counts nothing
	// Abort is called when serving ends without a shutdown.
	Abort context.CancelCauseFunc
	Log   *slog.Logger
}

// Server serves routes on a port over HTTP/1.1, and over HTTP/2 for Connect and gRPC
// clients, with and without TLS.
type Server struct {
	cfg          Config
	listener     *Listener
	certificates *Certificates
	gate         *auth.Gate
	http         *http.Server
	core         Core
	telemetry    *Telemetry
	log          *slog.Logger
	abort        context.CancelCauseFunc
	serving      sync.WaitGroup
	connections  connections
	uploads      uploads
}

// Limits on slow and idle connections, and on headers.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	// maxStreams is the maximum number of concurrent requests of one HTTP/2 connection. A
	// client can't exceed it by cancelling requests and sending new ones: net/http closes
	// its connection.
	maxStreams = 250
)

// New returns a server of the routes for the listener. It doesn't serve yet.
func New(c Common, listener *Listener, routes []Route) (*Server, error) {
	cfg, telemetry, log := c.Config, c.Telemetry, c.Log
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	mux, err := NewMux(c.Gate, c.Core, routes)
	if err != nil {
		return nil, err
	}
	hostCheck := NewHostCheck(cfg, listener, c.Certificates, c.Gate)
	s := &Server{cfg: cfg, listener: listener, certificates: c.Certificates, gate: c.Gate, core: c.Core, telemetry: telemetry, log: log, abort: c.Abort}
	s.http = &http.Server{
		Handler:           s.uploads.handler(observe(cfg.WriteTimeout, telemetry, log, mux, hardened(limitHeaders(telemetry, hostCheck.handler(crossOrigin(cfg, limitTime(limitBody(cfg, bodyPause, mux.matched())))))))),
		ConnState:         s.connections.changed,
		ConnContext:       withConn,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// ServeHTTP answers requests as the port does, without a connection. It is for tests with
// many requests.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.http.Handler.ServeHTTP(w, r) }

// Start serves on the listener, which must be open.
func (s *Server) Start(context.Context) error {
	s.Serve()
	return nil
}

// Report logs the address, and a warning if all machines that reach the port may use the models. The
// program calls Report once its start has succeeded.
func (s *Server) Report() {
	s.log.Info("listening", "address", s.listener.Addr().String(), "tls", s.certificates != nil)
	s.warnIfOpen()
}

// warnIfOpen logs a warning if all machines that reach the port may use the models.
func (s *Server) warnIfOpen() {
	if !s.listener.Loopback() && !s.gate.Keyed() && !s.certificates.WantsClients() {
		name := s.cfg.Names.Of
		s.log.Warn("the server is open: every client that can reach its port can use the models, because it requires no API key and no client certificate",
			"closed_by", fmt.Sprintf("%s, %s, %s or %s=127.0.0.1", name("auth.APIKeysFile"), name("auth.APIKeys"), name("server.TLS.ClientCAFile"), name("server.Host")))
	}
}

// Serve serves on the listener until Stop.
func (s *Server) Serve() {
	s.serving.Go(func() {
		if err := s.certificates.Serve(s.http, LimitConnections(s.listener.open, s.cfg, s.telemetry, s.log)); !errors.Is(err, http.ErrServerClosed) {
			s.abort(fmt.Errorf("serve HTTP on the OpenAI port: %w", err))
		}
	})
}

// RequestID returns the client's id of a request, or a new one if the client's is missing
// or invalid.
func RequestID(given string) string {
	if ValidRequestID(given) {
		return given
	}
	return newRequestID()
}

// ValidRequestID reports whether a client's x-request-id may be used in logs, headers and
// Triton's request id, which is UTF-8.
func ValidRequestID(id string) bool {
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' })
}
