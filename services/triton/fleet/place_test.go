package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

// TestRouting checks that the core's description of requests reaches the choice: requests with the
// same long prompt go to one endpoint, and others to all. From the 32nd request on the prompt is
// common, and its home is that of a longer prefix.
func TestRouting(t *testing.T) {
	fakes := tritontest.NewFakes(t, 4)
	e := run(t, fakes.Addresses()...)
	servers := func(prompt func(int) string) map[string]int {
		counts := map[string]int{}
		for i := range 30 {
			routing := &inference.Routing{Prompt: prompt(i)}
			if _, err := send(inference.WithRouting(t.Context(), routing), e, echo("x")); err != nil {
				t.Fatal(err)
			}
			counts[routing.Server]++
		}
		return counts
	}
	long := strings.Repeat("one and the same prompt ", 1000)
	if got := servers(func(int) string { return long }); len(got) != 1 {
		t.Errorf("requests with one prompt went to %v", got)
	}
	if got := servers(func(i int) string { return fmt.Sprint(i) + long }); len(got) != 4 {
		t.Errorf("requests with many prompts went to %v", got)
	}
}

// TestPlace checks that a request goes to the server that was chosen for it before, and that
// routing has the server that it was moved to.
func TestPlace(t *testing.T) {
	fakes := tritontest.NewFakes(t, 3)
	e := run(t, fakes.Addresses()...)
	for i := range 30 {
		routing := &inference.Routing{Prompt: fmt.Sprint(i)}
		ctx := inference.WithRouting(t.Context(), routing)
		release, err := e.Place(ctx, "echo")
		if err != nil {
			t.Fatal(err)
		}
		chosen := routing.Server
		if i == 29 {
			fakes[slices.Index(fakes.Addresses(), chosen)].Kill()
		}
		if n, err := send(ctx, e, echo("x")); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		release()
		if moved := routing.Server != chosen; moved != (i == 29) {
			t.Errorf("request %d was placed at %s and served at %s", i, chosen, routing.Server)
		}
	}
	routing := &inference.Routing{}
	ctx := inference.WithRouting(t.Context(), routing)
	release, err := e.Place(ctx, "echo")
	if err != nil {
		t.Fatal(err)
	}
	release() // without a request
	first := routing.Server
	for range 20 {
		if release, err = e.Place(ctx, "echo"); err != nil || routing.Server != first {
			t.Fatalf("placed again at %s instead of %s, %v", routing.Server, first, err)
		}
		release()
	}
	for _, one := range e.Endpoints().Endpoints {
		if one.InFlight != 0 {
			t.Errorf("%d requests are in flight at %s", one.InFlight, one.Address)
		}
	}
}
