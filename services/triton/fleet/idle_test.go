package fleet_test

import (
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/cputime"
	"github.com/trident-inference/trident/test/tier"
)

// TestIdleCost checks that 100 idle endpoints take at most a tenth of a core. The CPU time includes
// that of the servers, which run in the same process.
func TestIdleCost(t *testing.T) {
	fakes := tritontest.NewFakes(t, 100)
	e := run(t, fakes.Addresses()...)
	if _, err := e.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	span := tier.Size(3*time.Second, 20*time.Second)
	before := cputime.Process(t)
	<-time.After(span)
	share := (cputime.Process(t) - before).Seconds() / span.Seconds()
	t.Logf("100 idle endpoints take %.3f of a core", share)
	if limit := map[bool]float64{false: 0.1, true: 0.5}[tier.Race]; share > limit {
		t.Errorf("100 idle endpoints take %.3f of a core, at most %.1f is expected", share, limit)
	}
}
