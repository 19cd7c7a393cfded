// Package server owns the listeners and what every HTTP request shares whatever
// its surface: request ids, the log line, panics, CORS, limits and the drain.
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

// Config of the shared port, and of what all ports of HTTP have in common.
type Config struct {
	// Host and Port to listen on; port 0 takes a free one.
	Host string
	Port int
	// MaxBody bounds a request's body, in bytes.
	MaxBody int64
	// ShutdownTimeout is how long requests in flight may go on after a stop was
	// asked for; then they are cancelled.
	ShutdownTimeout time.Duration
	// WriteTimeout ends an answer whose client takes nothing for this long.
	WriteTimeout time.Duration
	// TLS of all ports but that of profiles.
	TLS TLS
	// CORSOrigins that browsers may call from, besides this host's own pages.
	// "*" allows all, without credentials.
	CORSOrigins []string
	// AllowedHosts are names in Host by which a loopback port may be asked without a key,
	// besides addresses and this machine's own names.
	AllowedHosts []string
	// MaxConnections bounds the open connections of a port, and MaxConnectionsPerAddress
	// those from one address; 0 is no bound.
	MaxConnections, MaxConnectionsPerAddress int
	// ProfileAddress (host:port) is where Go's profiles of this process are
	// served; empty for nowhere.
	ProfileAddress string
	// Playground says whether the page at / is served.
	Playground bool
}

// Default is the configuration without flags, as Triton's own frontend has it.
func Default() Config {
	return Config{Host: "0.0.0.0", Port: 9000, MaxBody: 64 << 20, ShutdownTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, MaxConnections: 16384, MaxConnectionsPerAddress: 4096, Playground: true}
}

// Validate names the field that can't be used.
func (c Config) Validate() error {
	switch {
	case c.Port < 0 || c.Port > 65535:
		return configfield.Errorf("server.Port", "%d is no port", c.Port)
	case c.MaxBody < 1:
		return configfield.Errorf("server.MaxBody", "%d is not a positive number of bytes", c.MaxBody)
	case c.ShutdownTimeout < 0:
		return configfield.Errorf("server.ShutdownTimeout", "%s is negative", c.ShutdownTimeout)
	}
	switch {
	case c.WriteTimeout <= 0:
		return configfield.Errorf("server.WriteTimeout", "%s is not positive", c.WriteTimeout)
	case c.MaxConnections < 0:
		return configfield.Errorf("server.MaxConnections", "%d is negative", c.MaxConnections)
	case c.MaxConnectionsPerAddress < 0:
		return configfield.Errorf("server.MaxConnectionsPerAddress", "%d is negative", c.MaxConnectionsPerAddress)
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

// Core is what a port needs of the service behind it.
type Core interface {
	// Drain lets requests in flight end; it returns when none is left.
	Drain(ctx context.Context)
	// Arrive begins to follow a request whose client is known, if it has one. Nil follows
	// none.
	Arrive(ctx context.Context) *admission.Arrival
}

// Common is what the ports of HTTP and gRPC have in common.
type Common struct {
	Config       Config
	Certificates *Certificates // nil for no TLS
	Gate         *auth.Gate    // nil admits all
	Core         Core
	Telemetry    *Telemetry // nil counts nothing
	// Abort is called when serving ends though nothing has asked for it.
	Abort context.CancelCauseFunc
	Log   *slog.Logger
}

// Server serves routes on a port: HTTP/1.1, and HTTP/2 for Connect and gRPC
// clients, with TLS and without.
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

// readHeaderTimeout and idleTimeout end connections that send nothing.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	// maxStreams are the requests at once of one connection of HTTP/2. A client that
	// cancels and asks anew doesn't get more: net/http ends its connection.
	maxStreams = 250
)

// New makes a server of the routes for the listener. It doesn't serve yet.
func New(c Common, listener *Listener, routes []Route) (*Server, error) {
	cfg, telemetry, log := c.Config, c.Telemetry, c.Log
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	mux, err := NewMux(c.Gate, c.Core, routes)
	if err != nil {
		return nil, err
	}
	door := NewDoor(cfg, listener, c.Certificates, c.Gate)
	s := &Server{cfg: cfg, listener: listener, certificates: c.Certificates, gate: c.Gate, core: c.Core, telemetry: telemetry, log: log, abort: c.Abort}
	s.http = &http.Server{
		Handler:           s.uploads.handler(observe(cfg.WriteTimeout, telemetry, log, mux, hardened(limitHeaders(telemetry, door.handler(crossOrigin(cfg.CORSOrigins, limitTime(limitBody(cfg.MaxBody, bodyPause, mux.matched())))))))),
		ConnState:         s.connections.changed,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// ServeHTTP answers a request as the port does, without a connection: for tests of what
// many requests get.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.http.Handler.ServeHTTP(w, r) }

// Start serves on the listener, which must have been opened, and says so.
func (s *Server) Start(context.Context) error {
	s.Serve()
	s.log.Info("listening", "address", s.listener.Addr().String(), "tls", s.certificates != nil)
	s.warnIfOpen()
	return nil
}

// warnIfOpen logs that nothing keeps other machines from using the models.
func (s *Server) warnIfOpen() {
	if !s.listener.Loopback() && !s.gate.Keyed() && !s.certificates.WantsClients() {
		s.log.Warn("the server is open: whoever reaches its port may use the models, as it asks for no API key and no client certificate",
			"closed_by", "--api-keys-file, --api-key, --tls-client-ca or --host=127.0.0.1")
	}
}

// Serve serves on the listener until Stop.
func (s *Server) Serve() {
	s.serving.Go(func() {
		if err := s.certificates.Serve(s.http, LimitConnections(s.listener.open, s.cfg, s.telemetry, s.log)); !errors.Is(err, http.ErrServerClosed) {
			s.abort(fmt.Errorf("serve: %w", err))
		}
	})
}

// RequestID is what a client has named its request, or a new name where it has none
// that can be used.
func RequestID(given string) string {
	if ValidRequestID(given) {
		return given
	}
	return newRequestID()
}

// ValidRequestID tells whether a client's x-request-id may go into logs, headers
// and Triton's request id, which is UTF-8.
func ValidRequestID(id string) bool {
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' })
}
