package balance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/test/cputime"
	"github.com/trident-inference/trident/test/tier"
)

// prompt returns a prompt of so many steps, whose first steps are those of the family's
// prompts and whose others are its own.
func prompt(family, shared, own, steps int) string {
	var b strings.Builder
	for i := range steps {
		line := fmt.Sprintf("family %08d step %08d\n", family, i)
		if i >= shared {
			line = fmt.Sprintf("prompt %08d step %08d\n", own, i)
		}
		b.WriteString(strings.Repeat(line, stepBytes/len(line)+1)[:stepBytes])
	}
	return b.String()
}

// fullBalancer returns a balancer with 1,000 endpoints, and with an index that is full. Its prompts have a common part of three steps, which all endpoints
// have.
func fullBalancer(tb testing.TB, entries, steps int) (*Balancer, []string) {
	tb.Helper()
	b, _ := newBalancer(tb, Config{IndexEntries: entries}, 1000)
	var prompts []string
	for i := range 256 {
		prompts = append(prompts, prompt(1, 3, i, steps))
	}
	for i := range tier.BenchSize(300, 3000) {
		a := choose(tb, b, &Request{Prompt: prompts[i%len(prompts)]}, nil)
		b.FirstToken(&a)
		if i%2 == 0 {
			b.Ended(&a)
		}
	}
	var prefixes [512]prefixHash
	for n := uint64(1); b.index.used < b.index.capacity()*999/1000; n++ {
		for i := range prefixes {
			prefixes[i] = prefixHash(mix(n<<20 + uint64(i)))
		}
		b.index.record(prefixes[:], uint32(n%1000), 0)
	}
	return b, prompts
}

// benchmarkChoose measures decisions with the hash of the prompt.
func benchmarkChoose(b *testing.B, steps int) {
	b.Helper()
	balancer, prompts := fullBalancer(b, tier.BenchSize(1<<8, 1<<20), steps)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		a, _ := balancer.Choose(time.Second, &Request{Model: "llama", Prompt: prompts[i%len(prompts)]}, nil)
		balancer.FirstToken(&a)
		balancer.Ended(&a)
		i++
	}
}

func BenchmarkChoose8KB(b *testing.B)   { benchmarkChoose(b, 4) }
func BenchmarkChoose32KB(b *testing.B)  { benchmarkChoose(b, 16) }
func BenchmarkChoose400KB(b *testing.B) { benchmarkChoose(b, 200) }

// BenchmarkChooseNew measures decisions for prompts of which the index has nothing: 4 Ki
// models make 4 Ki different prompts of each.
func BenchmarkChooseNew32KB(b *testing.B) {
	balancer, prompts := fullBalancer(b, tier.BenchSize(1<<8, 1<<20), 16)
	models := make([]string, 4096)
	for i := range models {
		models[i] = fmt.Sprint("model ", i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		a, _ := balancer.Choose(time.Second, &Request{Model: models[i%len(models)], Prompt: prompts[i%len(prompts)]}, nil)
		balancer.FirstToken(&a)
		balancer.Ended(&a)
		i += 31
	}
}

// BenchmarkDecide400KB measures the decisions alone, for prompts that were hashed.
func BenchmarkDecide400KB(b *testing.B) {
	balancer, prompts := fullBalancer(b, tier.BenchSize(1<<8, 1<<20), 200)
	decide := hashed(balancer, prompts)
	b.ReportAllocs()
	for b.Loop() {
		decide()
	}
}

// hashed returns a function that decides about the next one of the prompts, which it has hashed.
func hashed(b *Balancer, prompts []string) func() {
	var requests []*Request
	var prefixes [][]prefixHash
	for _, prompt := range prompts {
		r := &Request{Model: "llama", Prompt: prompt}
		requests, prefixes = append(requests, r), append(prefixes, b.hashPrefixes(make([]prefixHash, 0, mostSteps), r))
	}
	i := 0
	return func() {
		a, _ := b.choose(time.Second, requests[i%len(requests)], prefixes[i%len(prefixes)], nil)
		b.FirstToken(&a)
		b.Ended(&a)
		i++
	}
}

func BenchmarkHash400KB(b *testing.B) {
	r := &Request{Model: "llama", Prompt: prompt(1, 0, 1, 200)}
	var space [mostSteps]prefixHash
	b.ReportAllocs()
	b.SetBytes(int64(len(r.Prompt)))
	for b.Loop() {
		hashSteps(space[:0], r)
	}
}

// TestDecisionCost checks the CPU time and the allocations of decisions, with 1,000 endpoints,
// a full index of a million entries and a prefix that all endpoints have. Those for 400 KB are
// without the hash of the prompt.
func TestDecisionCost(t *testing.T) {
	if tier.Race {
		t.Skip("the race detector slows decisions down")
	}
	b, prompts := fullBalancer(t, 1<<20, 16)
	long, longPrompts := fullBalancer(t, 1<<20, 200)
	check := func(name string, policy Policy, decide func()) {
		t.Run(name, func(t *testing.T) {
			b.config.Policy = policy
			if n := testing.AllocsPerRun(1000, decide); n != 0 {
				t.Errorf("a decision allocates %v times", n)
			}
			const rounds = 2000
			used := cputime.Of(t, func() {
				for range rounds {
					decide()
				}
			})
			t.Logf("%v a decision", used/rounds)
			if used/rounds > 100*time.Microsecond {
				t.Errorf("a decision takes %v, more than ten times its aim of 10 µs", used/rounds)
			}
		})
	}
	for _, policy := range Policies() {
		i := 0
		check(string(policy), policy, func() {
			a := choose(t, b, &Request{Model: "llama", Prompt: prompts[i%len(prompts)]}, nil)
			b.FirstToken(&a)
			b.Ended(&a)
			i++
		})
	}
	check("cost of 400 KB", Cost, hashed(long, longPrompts))
}

// TestHashCost holds the hash of a prompt of 400 KB to a bound of CPU time.
func TestHashCost(t *testing.T) {
	r := &Request{Model: "llama", Prompt: prompt(1, 0, 1, 200)}
	var space [mostSteps]prefixHash
	const rounds = 50
	used := cputime.Of(t, func() {
		for range rounds {
			hashSteps(space[:0], r)
		}
	})
	t.Logf("%v for %d bytes", used/rounds, len(r.Prompt))
	if used/rounds > 2*time.Millisecond {
		t.Errorf("a hash takes %v, more than ten times its aim of 0.2 ms", used/rounds)
	}
}
