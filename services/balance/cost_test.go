package balance

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestConversation sends the turns of a conversation: each goes to the endpoint of the
// previous one, which has all steps except the new ones.
func TestConversation(t *testing.T) {
	b, _ := newBalancer(t, Config{}, 100)
	var first Assignment
	for turn := range 5 {
		r := &Request{Model: "m", Prompt: prompt(7, 100, 0, 10+2*turn), PromptTokens: 1000 + 200*turn}
		a := choose(t, b, r, nil)
		b.Ended(&a)
		if turn == 0 {
			first = a
			if a.Cached != 0 {
				t.Errorf("%d tokens of a new prompt are cached", a.Cached)
			}
			continue
		}
		if want := 1000 + 200*(turn-1); a.Endpoint != first.Endpoint || a.Reason != ByPrefix || a.Cached != want {
			t.Errorf("turn %d: endpoint %v by %v with %d tokens cached, want %v by prefix with %d", turn, a.Endpoint, a.Reason, a.Cached, first.Endpoint, want)
		}
	}
}

// TestPrefixIdentity changes what a cached prefix belongs to.
func TestPrefixIdentity(t *testing.T) {
	text := prompt(1, 4, 0, 4)
	base := Request{Model: "m", Adapter: "a", Images: [][]byte{{1}, {2}}, Prompt: text}
	for name, c := range map[string]struct {
		request Request
		cached  int
	}{
		"the same":         {base, 2048},
		"other model":      {Request{Model: "n", Adapter: "a", Images: base.Images, Prompt: text}, 0},
		"other adapter":    {Request{Model: "m", Images: base.Images, Prompt: text}, 0},
		"other image":      {Request{Model: "m", Adapter: "a", Images: [][]byte{{1}, {3}}, Prompt: text}, 0},
		"other order":      {Request{Model: "m", Adapter: "a", Images: [][]byte{{2}, {1}}, Prompt: text}, 0},
		"other first step": {Request{Model: "m", Adapter: "a", Images: base.Images, Prompt: "b" + text[1:]}, 0},
		"other third step": {Request{Model: "m", Adapter: "a", Images: base.Images, Prompt: text[:2*stepBytes] + "b" + text[2*stepBytes+1:]}, 1024},
		"a step less":      {Request{Model: "m", Adapter: "a", Images: base.Images, Prompt: text[:len(text)-1]}, 1536},
		"shorter":          {Request{Model: "m", Adapter: "a", Images: base.Images, Prompt: text[:stepBytes-1]}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := newBalancer(t, Config{}, 1)
			choose(t, b, &base, nil)
			if a := choose(t, b, &c.request, nil); a.Cached != c.cached {
				t.Errorf("%d tokens are cached, want %d", a.Cached, c.cached)
			}
		})
	}
}

// TestCost compares the choice of two endpoints with the cost computed by hand. The first
// endpoint has 4 steps of 512 tokens of a prompt of 8 steps: 2,048 tokens are missing there,
// which cost 2.5*2048 = 5120, and 4,096 at the second endpoint, which cost 10240.
func TestCost(t *testing.T) {
	for _, c := range []struct {
		name    string
		waiting int // at the first endpoint
		streams int // at the first endpoint, with their first token
		weight  float64
		first   bool
	}{
		{"idle", 0, 0, 1, true},
		{"waiting for less than the prefix saves", 4735, 0, 1, true}, // 4735+384+5120 < 10240
		{"waiting for more than the prefix saves", 4737, 0, 1, false},
		{"13 streams", 0, 13, 1, true}, // 13*384+5120 < 10240
		{"14 streams", 0, 14, 1, false},
		{"twice the weight", 14_000, 0, 2, true}, // (14000+384+5120)/2 < 10240
		{"half the weight", 0, 1, 0.5, false},    // (384+5120)/0.5 > 10240
	} {
		t.Run(c.name, func(t *testing.T) {
			b, e := newBalancer(t, Config{}, 2)
			known := b.Assign(e[0], &Request{Model: "m", Prompt: prompt(3, 8, 0, 4)})
			b.Ended(&known)
			if err := b.SetWeight(e[0], c.weight); err != nil {
				t.Fatal(err)
			}
			if c.waiting > 0 {
				b.Assign(e[0], &Request{PromptTokens: c.waiting})
			}
			for range c.streams {
				a := b.Assign(e[0], &Request{PromptTokens: 1000})
				b.FirstToken(&a)
			}
			// Another replica's home isn't assumed to have the prompt, as the first endpoint is
			// known to have it.
			a := choose(t, b, &Request{Model: "m", Prompt: prompt(3, 8, 0, 8)}, nil)
			if first := a.Endpoint == e[0]; first != c.first {
				t.Errorf("the first endpoint was chosen: %t, want %t", first, c.first)
			}
		})
	}
}

// TestSlowStartOfCost begins a slow start of one of two endpoints. It gets about a tenth of
// the load of the other at the beginning.
func TestSlowStartOfCost(t *testing.T) {
	b, e := newBalancer(t, Config{}, 2)
	b.StartSlowly(e[1], 0)
	for range 110 {
		if _, ok := b.Choose(0, &Request{PromptTokens: 1000}, nil); !ok {
			t.Fatal("no candidate")
		}
	}
	slow, _ := b.Load(e[1], 0)
	if slow.Requests < 5 || slow.Requests > 15 {
		t.Errorf("the endpoint in its slow start got %d of 110 requests, want about 10", slow.Requests)
	}
}

// TestCommonPrefix sends prompts with the same first 6 steps. All endpoints get them, and the
// load is even. Requests find the common part at their endpoint, except the first ones there.
func TestCommonPrefix(t *testing.T) {
	const n, requests = 16, 1600
	b, e := newBalancer(t, Config{}, n)
	hits := 0
	for i := range requests {
		a := choose(t, b, &Request{Model: "m", Prompt: prompt(5, 6, i, 8)}, nil)
		if a.Cached == 6*stepBytes/bytesPerToken {
			hits++
		}
	}
	if hits < requests-2*n {
		t.Errorf("%d of %d requests found the common part", hits, requests)
	}
	for _, endpoint := range e {
		if load, _ := b.Load(endpoint, 0); load.Requests < requests/n*9/10 || load.Requests > requests/n*11/10 {
			t.Errorf("an endpoint got %d requests, want %d", load.Requests, requests/n)
		}
	}
}

// TestEvenLoad sends distinct prompts that don't end: the load of all endpoints is even.
func TestEvenLoad(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		b, _ := newBalancer(t, Config{}, 0)
		weights := map[Endpoint]float64{}
		total := 0.0
		for i := range 10 {
			weight := 1.0
			if weighted && i < 5 {
				weight = 3
			}
			total += weight
			weights[add(t, b, Spec{Name: fmt.Sprint(i), Weight: weight})] = weight
		}
		const requests = 4000
		for i := range requests {
			choose(t, b, &Request{Model: "m", Prompt: prompt(0, 0, i, 2)}, nil)
		}
		for e, weight := range weights {
			load, _ := b.Load(e, 0)
			if got, want := float64(load.Requests), requests*weight/total; got < 0.9*want || got > 1.1*want {
				t.Errorf("weighted %t: an endpoint of weight %v got %v requests, want %v", weighted, weight, got, want)
			}
		}
	}
}

// TestReplicas sends the first turns of conversations to one replica and the second turns to
// another one, which knows nothing of the first. Both have the endpoints in another order,
// and other random numbers.
func TestReplicas(t *testing.T) {
	const n, conversations = 20, 400
	replicas, names := make([]*Balancer, 2), make([]map[Endpoint]string, 2)
	for i := range replicas {
		replicas[i], _ = newBalancer(t, Config{Random: rand.NewPCG(uint64(i), 99)}, 0)
		names[i] = map[Endpoint]string{}
		for j := range n {
			name := fmt.Sprint("endpoint ", (j*7+i*3)%n)
			names[i][add(t, replicas[i], Spec{Name: name})] = name
		}
	}
	same := 0
	for c := range conversations {
		var got [2]string
		for turn := range 2 {
			// A common part of 3 steps is no reason to send all to one endpoint.
			a := choose(t, replicas[turn], &Request{Model: "m", Prompt: prompt(1, 3, c, 8+turn)}, nil)
			got[turn] = names[turn][a.Endpoint]
			replicas[turn].FirstToken(&a)
			replicas[turn].Ended(&a)
		}
		if got[0] == got[1] {
			same++
		}
	}
	if same < conversations*85/100 {
		t.Errorf("%d of %d conversations stayed at their endpoint, want at least 85 of 100", same, conversations)
	}
}

// TestNoAssumptionForKnownPrompts checks that the home isn't preferred to the endpoint that is
// known to have a prompt, even if it has more load.
func TestNoAssumptionForKnownPrompts(t *testing.T) {
	b, e := newBalancer(t, Config{}, 8)
	for c := range 50 {
		text := prompt(0, 0, c, 8)
		other := e[c%8]
		a := b.Assign(other, &Request{Model: "m", Prompt: text})
		b.FirstToken(&a)
		if got := choose(t, b, &Request{Model: "m", Prompt: text}, nil); got.Endpoint != other {
			t.Fatalf("prompt %d went to %v, want %v, which has it", c, got.Endpoint, other)
		}
	}
}

func TestForget(t *testing.T) {
	b, e := newBalancer(t, Config{}, 1)
	r := &Request{Model: "m", Prompt: prompt(0, 0, 1, 8)}
	choose(t, b, r, nil)
	if a := choose(t, b, r, nil); a.Cached != 8*512 {
		t.Fatalf("%d tokens are cached, want all", a.Cached)
	}
	b.Forget(e[0])
	if used, _ := b.Entries(); used != 0 {
		t.Errorf("%d entries remain", used)
	}
	if a, _ := b.Choose(time.Second, r, nil); a.Cached != 0 {
		t.Errorf("%d tokens are cached after a restart", a.Cached)
	}
}
