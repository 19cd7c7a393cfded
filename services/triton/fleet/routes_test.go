package fleet

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// config returns the configuration of a model with an input.
func modelConfig(input string) *kserve.ModelConfig {
	return &kserve.ModelConfig{Name: "m", Backend: "python", Input: []*kserve.ModelInput{{Name: input}}}
}

// ready returns a model that is ready.
func ready(version string, config *kserve.ModelConfig) inference.Model {
	return inference.Model{Name: "m", Version: version, Versions: []string{version}, State: inference.ModelReady, Config: config}
}

// listingOf returns an endpoint that lists models.
func lists(address string, models ...inference.Model) *member {
	m := &member{place: place{address: address}}
	l := &listing{models: models}
	for i := range models {
		l.groups = append(l.groups, groupOf(&models[i]))
	}
	m.listing.Store(l)
	return m
}

func addresses(members []*member) string {
	var list []string
	for _, m := range members {
		list = append(list, m.address)
	}
	return strings.Join(list, " ")
}

// TestRoutes checks which endpoints get the requests for a model.
func TestRoutes(t *testing.T) {
	old, fresh := modelConfig("A"), modelConfig("B")
	machine := modelConfig("A")
	machine.InstanceGroup = []*kserve.ModelInstanceGroup{{Count: 8}}
	machine.Parameters = map[string]*kserve.ModelParameter{"gpu_device_ids": {StringValue: "0,1"}}
	unavailable := inference.Model{Name: "m", Version: "1", Versions: []string{"1"}, State: inference.ModelUnavailable, Reason: "no GPU"}
	for _, test := range []struct {
		name      string
		members   []*member
		version   string
		want      string
		differing string
	}{
		{"all alike", []*member{lists("a", ready("1", old)), lists("b", ready("1", old))}, "", "a b", ""},
		{"not everywhere", []*member{lists("a"), lists("b", ready("1", old))}, "", "b", ""},
		{"most", []*member{lists("a", ready("1", old)), lists("b", ready("1", fresh)), lists("c", ready("1", fresh))}, "", "b c", "a: another configuration"},
		{"machines differ", []*member{lists("a", ready("1", old)), lists("b", ready("1", machine))}, "", "a b", ""},
		{"versions", []*member{lists("a", ready("1", old)), lists("b", ready("2", old)), lists("c", ready("2", old))}, "", "b c", "a: version 1 instead of 2"},
		{"a version of one", []*member{lists("a", ready("1", old)), lists("b", ready("2", old)), lists("c", ready("2", old))}, "1", "a", "a: version 1 instead of 2"},
		{"broken on one", []*member{lists("a", unavailable), lists("b", ready("1", old))}, "", "b", "a: unavailable: no GPU"},
		{"broken everywhere", []*member{lists("a", unavailable), lists("b", unavailable)}, "", "a b", ""},
		{"unknown", []*member{lists("a"), lists("b")}, "", "a b", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := routesOf(test.members, nil)
			g, listed := r.of("m", test.version)
			if got := addresses(g.members); got != test.want || listed != (test.name != "unknown") {
				t.Errorf("got %q, listed %t; want %q", got, listed, test.want)
			}
			if !listed {
				return
			}
			if got := strings.Join(r.models["m"].model.Differing, "; "); got != test.differing {
				t.Errorf("differing: %q, want %q", got, test.differing)
			}
		})
	}
}

// TestMajorityIsStable checks that requests stay with a configuration while as many endpoints have
// another one, and that endpoints that are out don't vote.
func TestMajorityIsStable(t *testing.T) {
	old, fresh := modelConfig("A"), modelConfig("B")
	for _, first := range []*kserve.ModelConfig{old, fresh} {
		second := fresh
		if first == fresh {
			second = old
		}
		before := routesOf([]*member{lists("a", ready("1", first)), lists("b", ready("1", first))}, nil)
		half := []*member{lists("a", ready("1", first)), lists("b", ready("1", second))}
		after := routesOf(half, before)
		if g, _ := after.of("m", ""); addresses(g.members) != "a" {
			t.Errorf("half of the endpoints are updated: %q serve", addresses(g.members))
		}
		half[0].health.out.Store(true)
		if g, _ := routesOf(half, after).of("m", ""); addresses(g.members) != "b" {
			t.Errorf("the old endpoint is out: %q serve", addresses(g.members))
		}
		half[0].health.out.Store(false)
		half[0].health.drained.Store(true)
		if g, _ := routesOf(half, after).of("m", ""); addresses(g.members) != "b" {
			t.Errorf("the old endpoint is drained: %q serve", addresses(g.members))
		}
	}
}

// TestCandidates checks which endpoints of a group get requests by their health.
func TestCandidates(t *testing.T) {
	const in, unready, out, failing, refusing, drained = "in", "unready", "out", "failing", "refusing", "drained"
	for _, test := range []struct {
		states []string
		want   string
	}{
		{[]string{in, in, in, in}, "e0 e1 e2 e3"},
		{[]string{in, out, in, out}, "e0 e2"},
		{[]string{in, out, out, out}, "e0 e1 e2 e3"}, // more than half are out
		{[]string{in, failing, in}, "e0 e2"},
		{[]string{in, unready, in}, "e0 e2"},
		{[]string{unready, unready, out}, "e0 e1"},
		{[]string{out, out}, "e0 e1"},
		{[]string{out}, "e0"},
		{[]string{in, refusing, refusing, refusing}, "e0"},
		{[]string{in, refusing, out, out}, "e0 e2 e3"},
		{[]string{refusing, refusing}, "e0 e1"},
		{[]string{in, drained, in}, "e0 e2"},
		{[]string{in, drained, drained, drained}, "e0"},
		{[]string{out, drained, drained}, "e0"},
		{[]string{unready, drained}, "e0"},
		{[]string{drained, drained}, ""},
	} {
		now := time.Now()
		g := &group{model: "m"}
		for i, state := range test.states {
			m := &member{place: place{address: fmt.Sprint("e", i)}}
			m.health.out.Store(state == out || state == refusing)
			m.health.refuses.Store(state == refusing)
			m.health.unready.Store(state == unready)
			m.health.drained.Store(state == drained)
			for range map[bool]int{true: outcomeLeast}[state == failing] {
				m.health.models.record("m", true, now)
			}
			g.members = append(g.members, m)
		}
		c := g.candidates(1, now)
		if got := addresses(c.members); got != test.want {
			t.Errorf("%v: got %q, want %q", test.states, got, test.want)
		}
		if g.candidates(1, now) != c {
			t.Errorf("%v: the candidates were computed again without a change", test.states)
		}
		if all := addresses(g.members); slices.Contains(test.states, failing) && addresses(g.candidates(1, now.Add(firstPause)).members) != all {
			t.Errorf("%v: the failing endpoint isn't back after %s", test.states, firstPause)
		}
	}
}

// TestHomes checks that sequences are spread over the endpoints, and that only the sequences of an
// endpoint that goes away move.
func TestHomes(t *testing.T) {
	c := &candidates{}
	for i := range 4 {
		m := &member{place: place{address: fmt.Sprint("10.0.0.", i, ":8001")}}
		m.weight.Store(math.Float64bits(1))
		c.members = append(c.members, m)
	}
	counts, homes := map[*member]int{}, map[string]*member{}
	for i := range 4000 {
		id := fmt.Sprint(i)
		homes[id] = homeOf(c.members, id)
		counts[homes[id]]++
	}
	for _, m := range c.members {
		if n := counts[m]; n < 850 || n > 1150 {
			t.Errorf("%s has %d of 4000 sequences", m.address, n)
		}
	}
	c.members[1].weight.Store(math.Float64bits(2))
	heavy := 0
	for id, home := range homes {
		switch now := homeOf(c.members, id); {
		case now == c.members[1]:
			heavy++
		case now != home:
			t.Fatalf("the sequence %s moved from %s to %s, which has its old weight", id, home.address, now.address)
		}
	}
	if heavy < 1450 || heavy > 1750 {
		t.Errorf("an endpoint with 2 of 5 weights has %d of 4000 sequences", heavy)
	}
	c.members[1].weight.Store(math.Float64bits(1))
	gone := c.members[2]
	rest := &candidates{members: slices.DeleteFunc(slices.Clone(c.members), func(m *member) bool { return m == gone })}
	for id, home := range homes {
		if now := homeOf(rest.members, id); home != gone && now != home {
			t.Fatalf("the sequence %s moved from %s to %s", id, home.address, now.address)
		}
	}
}

// TestOutcomes checks the rule by which a model of an endpoint is taken out, and its pauses.
func TestOutcomes(t *testing.T) {
	var o outcomes
	now := time.Unix(1_000_000, 0)
	fail := func(n int) (out bool) {
		for range n {
			out = o.record("m", true, now) || out
		}
		return out
	}
	if fail(outcomeLeast-1) || !o.outUntil("m", now).IsZero() {
		t.Fatal("out after too few answers")
	}
	now = now.Add(windowSeconds * time.Second)
	out := fail(1)
	for range outcomeLeast + 1 {
		out = o.record("m", false, now) || out
	}
	if fail(outcomeLeast-1) || out {
		t.Fatal("out although more than half succeeded")
	}
	for i, pause := range []time.Duration{firstPause, 2 * firstPause, 4 * firstPause} {
		now = now.Add(windowSeconds * time.Second)
		if !fail(outcomeLeast) || o.outUntil("m", now) != now.Add(pause) {
			t.Fatalf("time out %d ends %s, want a pause of %s", i, o.outUntil("m", now), pause)
		}
		early := o.takeBack(now)
		if now = now.Add(pause); !o.outUntil("m", now).IsZero() || early || !o.takeBack(now) || o.takeBack(now) {
			t.Fatalf("time out %d doesn't end, or isn't reported once", i)
		}
	}
	now = now.Add(lastPause + time.Second)
	o.record("m", false, now)
	if len(o.models) != 0 || o.blocked.Load() != 0 {
		t.Errorf("%d records are left, %d models blocked", len(o.models), o.blocked.Load())
	}
}

// TestBudget checks the limits of repeats: a minimum, and a fifth of the requests of ten seconds.
func TestBudget(t *testing.T) {
	var b budget
	now := time.Unix(1_000_000, 0)
	taken := func() (n int) {
		for b.take(now) {
			n++
		}
		return n
	}
	if n := taken(); n != budgetLeast {
		t.Errorf("%d repeats without requests, want %d", n, budgetLeast)
	}
	for second := range 10 {
		now = time.Unix(1_000_100+int64(second), 0)
		for range 100 {
			b.request(now)
		}
	}
	if n := taken(); n != 200 {
		t.Errorf("%d repeats for 1000 requests, want 200", n)
	}
	if now = now.Add(windowSeconds * time.Second); b.take(now) != true {
		t.Error("the budget isn't renewed")
	}
}

// TestOutcomesOfOutages checks which answers take a model of an endpoint out, and when it is in again.
func TestOutcomesOfOutages(t *testing.T) {
	var o outcomes
	now := time.Unix(1_000_000, 0)
	record := func(count int, failed bool) (out bool) {
		for range count {
			out = o.record("m", failed, now) || out
		}
		return out
	}
	if record(9, true) {
		t.Error("9 failures took the model out")
	}
	if record(9, false) {
		t.Error("a success took the model out")
	}
	if !record(2, true) || o.outUntil("m", now) != now.Add(firstPause) {
		t.Errorf("half of the answers failed, and the model is out until %s", o.outUntil("m", now))
	}
	record(20, true) // requests that were sent before
	now = now.Add(firstPause)
	if !o.outUntil("m", now).IsZero() || record(9, true) {
		t.Error("failures of the time in which the model was out count")
	}
	if !record(1, true) || o.outUntil("m", now) != now.Add(2*firstPause) {
		t.Errorf("the second time out ends at %s", o.outUntil("m", now))
	}
	o.forgive()
	if !o.outUntil("m", now).IsZero() || record(9, true) {
		t.Error("the model of an endpoint that is back isn't as new")
	}
}
