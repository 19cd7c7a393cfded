package balance

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// newBalancer returns a balancer with a fixed seed and n endpoints named e0, e1 and so on.
func newBalancer(tb testing.TB, config Config, n int) (*Balancer, []Endpoint) {
	tb.Helper()
	if config.Random == nil {
		config.Random = rand.NewPCG(1, 2)
	}
	b, err := New(config)
	if err != nil {
		tb.Fatal(err)
	}
	var endpoints []Endpoint
	for i := range n {
		endpoints = append(endpoints, add(tb, b, Spec{Name: fmt.Sprintf("e%d", i)}))
	}
	return b, endpoints
}

func add(tb testing.TB, b *Balancer, spec Spec) Endpoint {
	tb.Helper()
	e, err := b.Add(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func choose(tb testing.TB, b *Balancer, r *Request, among *Set) Assignment {
	tb.Helper()
	a, ok := b.Choose(0, r, among)
	if !ok {
		tb.Fatal("no candidate")
	}
	return a
}

func TestNew(t *testing.T) {
	if _, err := New(Config{Policy: "fastest", Random: rand.NewPCG(0, 0)}); err == nil || !strings.Contains(err.Error(), "cost, tokens, round-robin") {
		t.Errorf("an unknown policy: error %v, which must list the policies", err)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("no error without a source of random numbers")
	}
}

func TestAdd(t *testing.T) {
	b, _ := newBalancer(t, Config{}, 2)
	for name, spec := range map[string]Spec{
		"twice":     {Name: "e1"},
		"negative":  {Name: "e2", Weight: -1},
		"too heavy": {Name: "e2", Weight: 2 * MaxWeight},
		"no cache":  {Name: "e2", CacheTokens: -1},
	} {
		if _, err := b.Add(spec); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestRoundRobin compares the turns with those of nginx's smooth weighted round robin, whose
// documented example has the weights 5, 1 and 1.
func TestRoundRobin(t *testing.T) {
	b, _ := newBalancer(t, Config{Policy: RoundRobin}, 0)
	names := map[Endpoint]string{}
	for _, spec := range []Spec{{Name: "a", Weight: 5}, {Name: "b", Weight: 1}, {Name: "c", Weight: 1}} {
		names[add(t, b, spec)] = spec.Name
	}
	turns := ""
	for range 14 {
		turns += names[choose(t, b, &Request{}, nil).Endpoint]
	}
	if want := "aabacaaaabacaa"; turns != want {
		t.Errorf("turns %s, want %s", turns, want)
	}
}

// TestRoundRobinOfSets takes turns in two sets alternately: each set has its own turns.
func TestRoundRobinOfSets(t *testing.T) {
	b, e := newBalancer(t, Config{Policy: RoundRobin}, 4)
	two, all := NewSet(e[1], e[3]), NewSet(e...)
	counts := map[*Set]map[Endpoint]int{two: {}, all: {}}
	for range 40 {
		for _, set := range []*Set{two, all} {
			counts[set][choose(t, b, &Request{}, set).Endpoint]++
		}
	}
	for set, members := range map[*Set][]Endpoint{two: {e[1], e[3]}, all: e} {
		if len(counts[set]) != len(members) {
			t.Errorf("%d endpoints were chosen of a set of %d", len(counts[set]), len(members))
		}
		for _, member := range members {
			if counts[set][member] != 40/len(members) {
				t.Errorf("an endpoint of a set of %d got %d of 40 requests", len(members), counts[set][member])
			}
		}
	}
}

func TestCandidates(t *testing.T) {
	for _, policy := range Policies() {
		t.Run(string(policy), func(t *testing.T) {
			b, e := newBalancer(t, Config{Policy: policy}, 4)
			b.SetEjected(e[0], true)
			b.Remove(e[1])
			replacement := add(t, b, Spec{Name: "new"})
			if replacement == e[1] {
				t.Fatal("the new endpoint is equal to the removed one")
			}
			old := NewSet(e...) // has the removed endpoint, whose slot is the new one's
			for range 20 {
				if a := choose(t, b, &Request{Tried: []Endpoint{e[3]}}, old); a.Endpoint != e[2] {
					t.Fatalf("%v was chosen, want %v", a.Endpoint, e[2])
				}
			}
			if _, ok := b.Choose(0, &Request{Tried: []Endpoint{e[2], e[3]}}, old); ok {
				t.Error("an endpoint was chosen, though all are ejected, removed or tried")
			}
			b.SetEjected(e[0], false)
			if a := choose(t, b, &Request{Tried: []Endpoint{e[2], e[3]}}, old); a.Endpoint != e[0] {
				t.Errorf("%v was chosen, want %v, which is back", a.Endpoint, e[0])
			}
		})
	}
}

func TestTokens(t *testing.T) {
	b, e := newBalancer(t, Config{Policy: Tokens}, 2)
	if err := b.SetWeight(e[1], 2); err != nil {
		t.Fatal(err)
	}
	counts := map[Endpoint]int{}
	for range 300 {
		counts[choose(t, b, &Request{PromptTokens: 70, AnswerTokens: 30}, nil).Endpoint]++
	}
	if counts[e[0]] != 100 || counts[e[1]] != 200 {
		t.Errorf("the endpoints got %d and %d requests, want 100 and 200", counts[e[0]], counts[e[1]])
	}
}

// TestEvents checks the load of an endpoint after each event, with events repeated and left
// out.
func TestEvents(t *testing.T) {
	b, e := newBalancer(t, Config{}, 1)
	check := func(event string, want workload) {
		t.Helper()
		if got, _ := b.Load(e[0], 0); got != want {
			t.Errorf("after %s: load %+v, want %+v", event, got, want)
		}
	}
	first := choose(t, b, &Request{Prompt: "four tokens here", AnswerTokens: 10}, nil)
	check("choose", workload{Requests: 1, Waiting: 4, Tokens: 14})
	second := b.Assign(e[0], &Request{PromptTokens: 5})
	check("assign", workload{Requests: 2, Waiting: 9, Tokens: 19})
	b.FirstToken(&first)
	b.FirstToken(&first)
	check("first token", workload{Requests: 2, Waiting: 5, Tokens: 19})
	b.Ended(&second)
	b.Ended(&second)
	b.FirstToken(&second)
	check("an end without a first token", workload{Requests: 1, Waiting: 0, Tokens: 14})
	b.Remove(e[0])
	again := add(t, b, Spec{Name: "e0"})
	b.Ended(&first)
	if got, _ := b.Load(again, 0); got != (workload{}) {
		t.Errorf("a request of the removed endpoint changed its successor's load to %+v", got)
	}
}

func TestSlowStart(t *testing.T) {
	b, e := newBalancer(t, Config{Policy: RoundRobin}, 2)
	begin := 100 * time.Second
	b.StartSlowly(e[1], begin)
	for _, step := range []struct {
		passed time.Duration
		share  float64
	}{{-time.Second, 0.1}, {0, 0.1}, {5 * time.Second, 0.55}, {10 * time.Second, 1}, {time.Hour, 1}} {
		if _, share := b.Load(e[1], begin+step.passed); share != step.share {
			t.Errorf("%v after the beginning: share %v, want %v", step.passed, share, step.share)
		}
	}
	b.StartSlowly(e[1], begin)
	counts := map[Endpoint]int{}
	for range 110 {
		a, _ := b.Choose(begin, &Request{}, nil)
		counts[a.Endpoint]++
	}
	if counts[e[0]] != 100 || counts[e[1]] != 10 {
		t.Errorf("at the beginning: %d and %d requests, want 100 and 10", counts[e[0]], counts[e[1]])
	}
}
