package fleet

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/pause"
)

// TestFreezeWhileListing checks that an endpoint that freezes while its models are being read again, and again, is
// out as soon as any other.
func TestFreezeWhileListing(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	e := begin(t, fakes.Addresses()...)
	if _, err := e.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-time.After(200 * time.Millisecond) // the endpoints also read their models at the start
	m := e.all()[0]
	for _, f := range fakes {
		if f.Address() == m.address {
			f.Pause()
		}
	}
	defer fakes.Resume()
	began := time.Now()
	out := func() bool {
		m.health.relistNow()
		state, _ := m.health.state(time.Now())
		return state == inference.EndpointOut
	}
	if !pause.Until(3500*time.Millisecond, out) || time.Since(began) < silence-askInterval {
		t.Errorf("the endpoint is out %t after %s, want %s", out(), time.Since(began), silence)
	}
}

// begin returns an engine that is stopped at the end of the test.
func begin(t *testing.T, endpoints ...string) *Engine {
	t.Helper()
	e, err := New(Config{Endpoints: endpoints, Connection: triton.Default()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}
