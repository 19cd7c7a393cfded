package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync"
	"syscall"

	"github.com/trident-inference/trident/services/configfield"
)

// Profiler serves Go's profiles of this process (net/http/pprof) on a separate
// address. Profiles are for the operator and never on the port for clients.
// Without an address it serves nothing.
type Profiler struct {
	address string
	url     string // URL of the profiles once the address is open
	log     *slog.Logger
	http    *http.Server
	serving sync.WaitGroup
}

// NewProfiler returns a profiler for [Config.ProfileAddress]; Start opens it.
func NewProfiler(cfg Config, log *slog.Logger) *Profiler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index) // this path also serves the named profiles
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	// The command line isn't served, since it may contain secrets.
	host, _, _ := net.SplitHostPort(cfg.ProfileAddress) // Validate has checked the address
	hostCheck := NewHostCheck(cfg, NewPort(host, 0, "server.ProfileAddress", false), nil, nil)
	return &Profiler{address: cfg.ProfileAddress, log: log, http: &http.Server{
		Handler:           hostCheck.handler(mux),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
}

// Start opens the address and serves until Stop.
func (p *Profiler) Start(ctx context.Context) error {
	if p.address == "" {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", p.address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return configfield.Textf("%s is in use: stop the other program or choose another address with %s", p.address, configfield.Field("server.ProfileAddress"))
	} else if err != nil {
		return configfield.Textf("listen on %s (%s): %w", p.address, configfield.Field("server.ProfileAddress"), err)
	}
	p.serving.Go(func() {
		if err := p.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("the server of Go profiles has failed", "error", err)
		}
	})
	p.url = "http://" + l.Addr().String() + "/debug/pprof/"
	return nil
}

// Report logs the URL of the profiles, if they are served.
func (p *Profiler) Report() {
	if p.url != "" {
		p.log.Info("serving profiles", "url", p.url)
	}
}

// Stop closes the address and aborts profiles that are being taken.
func (p *Profiler) Stop(context.Context) error {
	err := p.http.Close()
	p.serving.Wait()
	return err
}

// validateAddress returns an error if an address to listen on isn't valid.
func validateAddress(field configfield.Field, address string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return configfield.Errorf(field, "%q is not HOST:PORT, such as localhost:6060", address)
	}
	return nil
}
