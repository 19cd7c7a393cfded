package kservetest

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/rest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
)

// Open returns a configuration that allows everything, on free loopback ports.
func Open() kserve.Config {
	config := kserve.Default()
	config.Enabled, config.Host, config.AllowModelUpload, config.AllowSharedMemory = true, "127.0.0.1", true, true
	config.GRPCPort, config.HTTPPort = 0, 0
	return config
}

// NewService returns the frontend over engines. It lasts until the test ends.
func NewService(tb testing.TB, config kserve.Config, engines ...inference.Engine) (*kserve.Service, *serving.Service) {
	tb.Helper()
	core := inferencetest.Service(tb, serving.Default(), engines...)
	service, err := kserve.New(config, core)
	if err != nil {
		tb.Fatal(err)
	}
	return service, core
}

// NewGate returns a gate.
func NewGate(tb testing.TB, access auth.Config) *auth.Gate {
	tb.Helper()
	gate, err := auth.New(access, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	return gate
}

// ServeShared serves engines over gRPC, Connect and REST on a shared loopback port, as the
// program does, and returns its address.
func ServeShared(tb testing.TB, config kserve.Config, engines ...inference.Engine) string {
	tb.Helper()
	return ServeSharedBy(tb, nil, config, engines...)
}

// ServeSharedBy is ServeShared with TLS, unless there are no certificates.
func ServeSharedBy(tb testing.TB, certificates *server.Certificates, config kserve.Config, engines ...inference.Engine) string {
	tb.Helper()
	return ServeSharedAs(tb, server.Default(), certificates, config, engines...)
}

// ServeSharedAs is ServeSharedBy with other settings of the port.
func ServeSharedAs(tb testing.TB, shared server.Config, certificates *server.Certificates, config kserve.Config, engines ...inference.Engine) string {
	tb.Helper()
	service, core := NewService(tb, config, engines...)
	return ServeSharedOf(tb, server.Common{Config: shared, Certificates: certificates}, service, core)
}

// ServeRestricted serves engines on the shared port to clients that a gate admits.
func ServeRestricted(tb testing.TB, access auth.Config, config kserve.Config, engines ...inference.Engine) string {
	tb.Helper()
	service, core := NewService(tb, config, engines...)
	return ServeSharedOf(tb, server.Common{Config: server.Default(), Gate: NewGate(tb, access)}, service, core)
}

// complete adds the common settings of all test servers to c.
func complete(tb testing.TB, c server.Common, core *serving.Service) server.Common {
	tb.Helper()
	c.Core, c.Abort, c.Log = core.Admission(), func(err error) { tb.Error(err) }, slog.New(slog.DiscardHandler)
	return c
}

// ServeSharedOf serves an existing service with the settings, certificates and gate of c.
func ServeSharedOf(tb testing.TB, c server.Common, service *kserve.Service, core *serving.Service) string {
	tb.Helper()
	shared := c.Config
	shared.Host, shared.Port = "127.0.0.1", 0
	c.Config = shared
	listener := server.NewListener(shared)
	if err := listener.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	routes, err := kserve.NewRoutes(service, shared)
	if err != nil {
		tb.Fatal(err)
	}
	handler, err := rest.New(service, core, shared)
	if err != nil {
		tb.Fatal(err)
	}
	routes = append(routes, rest.NewRoutes(handler)...)
	s, err := server.New(complete(tb, c, core), listener, routes)
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return listener.Addr().String()
}

// ServeREST serves engines over REST on a separate port until the test ends, and returns
// the address.
func ServeREST(tb testing.TB, config kserve.Config, engines ...inference.Engine) string {
	tb.Helper()
	return ServeRESTBy(tb, config, server.Default(), auth.Config{}, engines...)
}

// ServeRESTBy is ServeREST with settings of the port, for clients that a gate admits.
func ServeRESTBy(tb testing.TB, config kserve.Config, shared server.Config, access auth.Config, engines ...inference.Engine) string {
	tb.Helper()
	service, core := NewService(tb, config, engines...)
	listener := kserve.NewListener(config, nil)
	if err := listener.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	handler, err := rest.New(service, core, shared)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := rest.NewServer(handler, listener, complete(tb, server.Common{Config: shared, Gate: NewGate(tb, access)}, core))
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
		if err := listener.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return strings.TrimSuffix(strings.TrimPrefix(listener.URL(), "http://"), "/v2")
}
