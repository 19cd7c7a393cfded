package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/balance"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/pause"
)

// TestRestartForgets checks that a restarted endpoint isn't assumed to have prompts in its cache, and
// that one that didn't answer for a while is.
func TestRestartForgets(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fail, recover func(*tritontest.Fake) error
		keeps         bool
	}{
		"restarted": {func(f *tritontest.Fake) error { f.Kill(); return nil }, func(f *tritontest.Fake) error { return f.Restart(t.Context()) }, false},
		"frozen":    {func(f *tritontest.Fake) error { f.Pause(); return nil }, func(f *tritontest.Fake) error { f.Resume(); return nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := tritontest.NewFake(t)
			e := begin(t, fake.Address()+"=1")
			if _, err := e.ServerLive(t.Context(), &kserve.ServerLiveRequest{}); err != nil {
				t.Fatal(err)
			}
			m := e.all()[0]
			request := &balance.Request{Model: "m", Prompt: strings.Repeat("a long prompt ", 1000)}
			cached := func() int {
				a := e.balancer.Assign(m.endpoint, request)
				e.balancer.Ended(&a)
				return a.Cached
			}
			if first, second := cached(), cached(); first != 0 || second < 3000 {
				t.Fatalf("%d and then %d tokens are assumed to be cached", first, second)
			}
			if err := test.fail(fake); err != nil {
				t.Fatal(err)
			}
			if !pause.Until(10*time.Second, m.health.out.Load) {
				t.Fatal("the endpoint isn't out")
			}
			if err := test.recover(fake); err != nil {
				t.Fatal(err)
			}
			if !pause.Until(10*time.Second, func() bool { return !m.health.out.Load() }) {
				t.Fatal("the endpoint isn't back")
			}
			if n := cached(); (n > 0) != test.keeps {
				t.Errorf("%d tokens are assumed to be cached", n)
			}
		})
	}
}
