package triton_test

import (
	"testing"

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
	server := tritontest.StartServer(t, tritonserver.Options{})
	tritontest.RunSuite(t, func(testing.TB) tritontest.Subject {
		return tritontest.Subject{Open: opener(server.GRPC()), Server: server}
	})
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
