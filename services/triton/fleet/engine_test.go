package fleet_test

import (
	"cmp"
	"context"
	"log/slog"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/trident-inference/trident/services/balance"
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

// TestSuiteOnFourTritonservers runs the suite over four real tritonservers. The suite asks the model for
// the state of a request that only one server has, so the servers are asked in turn.
func TestSuiteOnFourTritonservers(t *testing.T) {
	tier.OnlySlow(t) // half a minute
	var all servers
	var list []string
	for range 4 {
		one := tritontest.StartServer(t, tritonserver.Options{Args: []string{"--trace-config=triton,file=" + tritontest.TraceFile(t)}})
		all, list = append(all, one), append(list, one.GRPC())
	}
	tritontest.RunSuite(t, func(testing.TB) tritontest.Subject {
		return tritontest.Subject{Server: all, Several: true, Open: func(tb testing.TB, limits tritontest.Limits) tritontest.Engine {
			tb.Helper()
			c := config(limits, list...)
			c.Policy = balance.RoundRobin
			return start(tb, c)
		}}
	})
}

// servers are tritonservers that fail together.
type servers []*tritonserver.Server

func (all servers) Kill() { all.each((*tritonserver.Server).Kill) }

func (all servers) Pause() { all.each((*tritonserver.Server).Pause) }

func (all servers) Resume() { all.each((*tritonserver.Server).Resume) }

func (all servers) Restart(ctx context.Context) error {
	var starting errgroup.Group
	all.each(func(one *tritonserver.Server) { starting.Go(func() error { return one.Restart(ctx) }) })
	return starting.Wait()
}

func (all servers) each(do func(*tritonserver.Server)) {
	for _, one := range all {
		do(one)
	}
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
