package triton_test

import (
	"context"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

func TestSuiteOnFake(t *testing.T) {
	tritontest.RunSuite(t, func(tb testing.TB) tritontest.Subject {
		tb.Helper()
		fake := tritontest.NewFake(tb)
		return tritontest.Subject{Open: opener(fake.Address()), Server: fake}
	})
}

func TestSuiteOnTritonserver(t *testing.T) {
	server := tritontest.StartServer(t, tritonserver.Options{Args: []string{"--trace-config=triton,file=" + tritontest.TraceFile(t)}})
	tritontest.RunSuite(t, func(testing.TB) tritontest.Subject {
		return tritontest.Subject{Open: opener(server.GRPC()), Server: server}
	})
}

// TestAwayIsToldAtOnce: nobody listens, so a probe needs no patience.
func TestAwayIsToldAtOnce(t *testing.T) {
	config := triton.Default()
	config.Endpoint, config.ConnectTimeout = "127.0.0.1:1", time.Hour
	engine, err := triton.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := engine.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for range 3 { // the first may meet the attempt of the start, or the test times out
		if err := engine.Ready(t.Context()); inference.AsError(err).Reason != inference.ReasonEngineGone {
			t.Errorf("got %v", err)
		}
	}
}

func opener(endpoint string) func(testing.TB, tritontest.Limits) tritontest.Engine {
	return func(tb testing.TB, limits tritontest.Limits) tritontest.Engine {
		tb.Helper()
		return start(tb, endpoint, limits)
	}
}

func start(tb testing.TB, endpoint string, limits tritontest.Limits) *triton.Engine {
	tb.Helper()
	config := triton.Default()
	config.Endpoint = endpoint
	config.KeepAlive, config.Inactivity = limits.KeepAlive, limits.Inactivity
	engine, err := triton.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	if err := engine.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return engine
}
