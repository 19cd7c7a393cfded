package balance

import (
	"fmt"
	"slices"
	"testing"
)

// homes returns the name of the home of each of n prefixes.
func homes(b *Balancer, n int) []string {
	b.findEligible(&Request{}, b.all)
	var names []string
	for i := range n {
		names = append(names, b.endpoints[b.home(prefixHash(mix(uint64(i+1))), false)].name)
	}
	return names
}

// TestHomesMove removes an endpoint and adds another one: only prefixes of the removed one
// move, and the new one gets its share.
func TestHomesMove(t *testing.T) {
	const n, prefixes = 20, 20_000
	b, e := newBalancer(t, Config{}, n)
	before := homes(b, prefixes)
	b.Remove(e[3])
	after := homes(b, prefixes)
	moved := 0
	for i := range before {
		if before[i] != after[i] {
			moved++
			if before[i] != "e3" {
				t.Fatalf("prefix %d moved from %s, which remains", i, before[i])
			}
		}
	}
	if moved < prefixes/n*8/10 || moved > prefixes/n*12/10 {
		t.Errorf("%d of %d prefixes moved, want a %dth", moved, prefixes, n)
	}
	add(t, b, Spec{Name: "e3"})
	for i, name := range homes(b, prefixes) {
		if name != before[i] {
			t.Fatalf("prefix %d is at %s, not at %s as before", i, name, before[i])
		}
	}
}

// TestHomesAgree adds the endpoints in another order: all homes are the same.
func TestHomesAgree(t *testing.T) {
	one, _ := newBalancer(t, Config{}, 12)
	other, _ := newBalancer(t, Config{}, 0)
	for i := range 12 {
		add(t, other, Spec{Name: fmt.Sprintf("e%d", (7*i+5)%12)})
	}
	if a, b := homes(one, 5000), homes(other, 5000); !slices.Equal(a, b) {
		t.Error("replicas don't agree on the homes of prefixes")
	}
}

// TestHomesOfWeights checks that homes are in proportion to weights.
func TestHomesOfWeights(t *testing.T) {
	b, _ := newBalancer(t, Config{}, 0)
	total := 0.0
	weights := map[string]float64{}
	for i, weight := range []float64{0.5, 1, 1, 2, 4, 8} {
		name := fmt.Sprint(i)
		add(t, b, Spec{Name: name, Weight: weight})
		weights[name] = weight
		total += weight
	}
	const prefixes = 40_000
	counts := map[string]int{}
	for _, name := range homes(b, prefixes) {
		counts[name]++
	}
	for name, weight := range weights {
		if got, want := float64(counts[name]), prefixes*weight/total; got < 0.9*want || got > 1.1*want {
			t.Errorf("an endpoint of weight %v is the home of %v prefixes, want %v", weight, got, want)
		}
	}
}

// TestHomesAreFixed compares homes with those of other versions of Trident, which serve the
// same endpoints during an update. Changing them is a decision.
func TestHomesAreFixed(t *testing.T) {
	b, _ := newBalancer(t, Config{}, 8)
	b.findEligible(&Request{}, b.all)
	got := ""
	for i := range 12 {
		r := &Request{Model: "m", Adapter: "a", Images: [][]byte{{byte(i)}}, Prompt: prompt(0, 0, i, 1)}
		got += b.endpoints[b.home(hashSteps(make([]prefixHash, 0, 1), r)[0], false)].name
	}
	if want := "e5e4e2e6e5e5e2e6e5e4e3e0"; got != want {
		t.Errorf("homes %s, want %s", got, want)
	}
}

// TestDistinct counts prompts that share steps: a common prefix doesn't distinguish them.
func TestDistinct(t *testing.T) {
	s := &shares{}
	common, steps := chain(1, 3), 0
	for i := range 10_000 {
		steps, _ = s.distinct(append(common[:3:3], chain(100+i, 3)...), 8)
	}
	if steps != 4 {
		t.Errorf("a prompt is distinguished by %d steps, want 4, as all share 3", steps)
	}
	if steps, _ := s.distinct(common, 8); steps != 0 {
		t.Errorf("a prompt of common steps is distinguished by %d steps, want none", steps)
	}
	rare := chain(2, 5)
	for range leastCommon - 1 { // the turns of one conversation
		if steps, _ := s.distinct(rare, 1000); steps != 1 {
			t.Fatalf("a conversation is distinguished by %d steps, want 1", steps)
		}
	}
	for range 3 * countedRequests { // the traffic changes
		s.distinct(rare, 8)
	}
	if steps, _ := s.distinct(common, 8); steps != 1 {
		t.Errorf("a prompt that was common is distinguished by %d steps, want 1", steps)
	}
}

// TestDistinctBySize checks the share at which a prefix is common: more than one of n
// endpoints serves.
func TestDistinctBySize(t *testing.T) {
	for n, want := range map[int]int{4: 1, 16: 2} {
		s, steps := &shares{}, 0
		for i := range 8000 {
			if i%8 == 0 { // a share of 1/8
				steps, _ = s.distinct(append(chain(1, 1), chain(100+i, 1)...), n)
			} else {
				s.distinct(chain(100+i, 1), n)
			}
		}
		if steps != want {
			t.Errorf("%d endpoints: a prompt is distinguished by %d steps, want %d", n, steps, want)
		}
	}
}

// TestShared checks that prompts of 14 steps that have their first 11 in common are shared from the
// fifth one on, and that prompts with only 3 steps in common aren't shared.
func TestShared(t *testing.T) {
	s := &shares{}
	for i := range 20 {
		if _, shared := s.distinct(append(chain(1, 11), chain(100+i, 3)...), 8); shared != (i >= leastShared-1) {
			t.Errorf("prompt %d is shared: %t", i, shared)
		}
	}
	for i := range 20 { // the first half differs
		if _, shared := s.distinct(append(chain(2, 3), chain(200+i, 11)...), 8); shared {
			t.Errorf("prompt %d with 3 of 14 steps in common is shared", i)
		}
	}
}
