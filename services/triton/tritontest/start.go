package tritontest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// StartServer runs a real tritonserver until the test ends. If the test fails,
// it logs the end of the server's log. Without repositories it serves the
// suite's models. StartServer skips the test only with -short.
func StartServer(tb testing.TB, options tritonserver.Options) *tritonserver.Server {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs tritonserver")
	}
	if len(options.Repositories) == 0 {
		options.Repositories = []string{Repository(tb)}
	}
	server, err := tritonserver.Launch(tb.Context(), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("tritonserver's log ends with:\n%s", server.LogTail(60))
		}
		server.Kill() // a regular stop takes seconds
		if err := server.Close(); err != nil {
			tb.Error(err)
		}
	})
	return server
}

// Connect returns an engine for a running tritonserver. The engine stops at the
// end of the test.
func Connect(tb testing.TB, server *tritonserver.Server) *triton.Engine {
	tb.Helper()
	config := triton.Default()
	config.Endpoint = server.GRPC()
	engine, err := triton.New(config, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	if err := engine.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := engine.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return engine
}
