package fleet

import (
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/pause"
)

// TestLateAnswer checks that the answer to a question from before a refused connection doesn't take
// the endpoint in again.
func TestLateAnswer(t *testing.T) {
	fake := tritontest.NewFake(t)
	e := begin(t, fake.Address()+"=1")
	if _, err := e.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := e.all()[0]
	late := &watch{refusals: m.health.refusals.Load()}
	fake.Kill()
	if !pause.Until(5*time.Second, m.health.refuses.Load) {
		t.Fatal("the endpoint isn't out")
	}
	m.answered(t.Context(), late, answer{ready: true})
	if !m.health.out.Load() {
		t.Error("a late answer has taken the endpoint in again")
	}
	if n := m.count.outs.Load(); n != 1 {
		t.Errorf("the endpoint was out %d times", n)
	}
}
