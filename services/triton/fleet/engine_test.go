package fleet_test

import (
	"cmp"
	"log/slog"
	"testing"

	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/fleet"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/tier"
)

func TestSuiteOnOneFake(t *testing.T)   { suiteOnFakes(t, 1) }
func TestSuiteOnFourFakes(t *testing.T) { suiteOnFakes(t, 4) }

func suiteOnFakes(t *testing.T, count int) {
	t.Helper()
	tritontest.RunSuite(t, func(tb testing.TB) tritontest.Subject {
		tb.Helper()
		fakes := tritontest.NewFakes(tb, count)
		return tritontest.Subject{Open: opener(fakes.Addresses()...), Server: fakes}
	})
}

// TestSuiteOnTritonserver runs the suite over one real tritonserver.
func TestSuiteOnTritonserver(t *testing.T) {
	tier.OnlySlow(t) // two minutes; the suite on servers in memory runs in the check tier
	server := tritontest.StartServer(t, tritonserver.Options{Args: []string{"--trace-config=triton,file=" + tritontest.TraceFile(t)}})
	tritontest.RunSuite(t, func(testing.TB) tritontest.Subject {
		return tritontest.Subject{Open: opener(server.GRPC()), Server: server}
	})
}

func opener(endpoints ...string) func(testing.TB, tritontest.Limits) tritontest.Engine {
	return func(tb testing.TB, limits tritontest.Limits) tritontest.Engine {
		tb.Helper()
		return start(tb, config(limits, endpoints...))
	}
}

// config returns the configuration of a fleet.
func config(limits tritontest.Limits, endpoints ...string) fleet.Config {
	c := fleet.Config{Endpoints: endpoints, Connection: triton.Default()}
	c.Connection.KeepAlive, c.Connection.FirstResponse, c.Connection.Inactivity = limits.KeepAlive, limits.FirstResponse, limits.Inactivity
	c.Connection.CallTimeout = cmp.Or(limits.Call, c.Connection.CallTimeout)
	return c
}

// start starts a fleet, which the caller stops.
func start(tb testing.TB, c fleet.Config) *fleet.Engine {
	tb.Helper()
	engine, err := fleet.New(c, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	if err := engine.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return engine
}
