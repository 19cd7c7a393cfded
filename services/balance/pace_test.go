package balance

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// stream reports the responses of a request of a model at an endpoint, one each interval, until a
// time.
func stream(b *Balancer, e Endpoint, model string, interval, from, until time.Duration) {
	a := b.Assign(e, &Request{Model: model, PromptTokens: 10})
	b.FirstToken(&a)
	for now := from; now < until; now += PaceResponses * interval {
		b.Progress(&a, now)
	}
	b.Ended(&a)
}

// sharesOfHomes returns the number of shared prefixes, of 2,000, that have their home at each
// endpoint.
func sharesOfHomes(b *Balancer, shared bool) map[string]int {
	b.findEligible(&Request{}, b.all)
	homes := map[string]int{}
	for i := range 2000 {
		homes[b.endpoints[b.home(prefixHash(mix(uint64(i+1))), shared)].name]++
	}
	return homes
}

// TestSteer has three endpoints, of which one takes 20 % more time for a step. In 10 seconds the weight of the slow endpoint changes by
// about 2 % * (0.125-0.05) a second, and that of the others by 2 % * (0.0625-0.05): the homes
// of shared prefixes move from the first to the others. The homes of other prefixes remain.
func TestSteer(t *testing.T) {
	b, e := newBalancer(t, Config{}, 3)
	b.steered = time.Second
	before, plain := sharesOfHomes(b, true), sharesOfHomes(b, false)
	for second := range 10 {
		from := time.Duration(second+1) * time.Second
		for i, ms := range []int{24, 20, 20} {
			stream(b, e[i], "m", time.Duration(ms)*time.Millisecond, from, from+time.Second)
		}
		b.steer(from + time.Second)
	}
	slow := b.endpoints[e[0].slot].steering
	if want := -10*0.02*(0.125-0.05)*2/3 - 10*0.02*(0.0625-0.05)/3*2; math.Abs(slow-want) > 0.003 {
		t.Errorf("the logarithm of the slow endpoint's factor is %.4f, want %.4f", slow, want)
	}
	after := sharesOfHomes(b, true)
	if moved := before["e0"] - after["e0"]; moved < 5 || moved > 30 {
		t.Errorf("%d of %d shared prefixes moved from the slow endpoint, want about 2 %%", moved, before["e0"])
	}
	if same := sharesOfHomes(b, false); fmt.Sprint(same) != fmt.Sprint(plain) {
		t.Errorf("other prefixes moved: %v, before %v", same, plain)
	}
	for second := range 3000 { // no further responses
		b.steer(time.Duration(20+second) * time.Second)
	}
	if left := b.endpoints[e[0].slot].steering; left != slow {
		t.Errorf("without responses the factor changed from %v to %v", slow, left)
	}
}

// TestSlowReaders has a client that reads slowly, all of whose requests are at one endpoint: the
// other requests there show that the endpoint isn't slow.
func TestSlowReaders(t *testing.T) {
	b, e := newBalancer(t, Config{}, 3)
	for second := range 30 {
		now := time.Duration(second+1) * time.Second
		for i := range e {
			stream(b, e[i], "m", 20*time.Millisecond, now, now+time.Second)
		}
		for range 10 {
			stream(b, e[0], "m", 100*time.Millisecond, now, now+time.Second)
		}
		b.steer(now + time.Second)
	}
	if s := b.endpoints[e[0].slot].steering; s != 0 {
		t.Errorf("the weight of the endpoint with slow readers changed by %v", s)
	}
}

// TestSteerBounds has an endpoint that is ten times slower for an hour: its weight is halved, and
// the others' isn't more than doubled. Then all are equal: the weights return.
func TestSteerBounds(t *testing.T) {
	b, e := newBalancer(t, Config{}, 4)
	run := func(from, seconds int, slow time.Duration) {
		for second := from; second < from+seconds; second++ {
			now := time.Duration(second) * time.Second
			for i := range e {
				interval := 20 * time.Millisecond
				if i == 0 {
					interval = slow
				}
				stream(b, e[i], "m", interval, now, now+2*time.Second)
			}
			b.steer(now + time.Second)
		}
	}
	run(1, 600, 200*time.Millisecond)
	if f := math.Exp(b.endpoints[e[0].slot].steering); f < 0.49 || f > 0.51 {
		t.Errorf("the factor of the slow endpoint is %.3f, want a half", f)
	}
	run(601, 6000, 20*time.Millisecond)
	if f := math.Exp(b.endpoints[e[0].slot].steering); f < 0.95 || f > 1.01 {
		t.Errorf("the factor is %.3f after 100 minutes, want 1", f)
	}
}

// TestSteerByModel has a model that is ten times slower than another one, each at one endpoint:
// neither endpoint is slow for its model.
func TestSteerByModel(t *testing.T) {
	b, e := newBalancer(t, Config{}, 2)
	for second := range 30 {
		now := time.Duration(second+1) * time.Second
		stream(b, e[0], "large", 100*time.Millisecond, now, now+2*time.Second)
		stream(b, e[1], "small", 10*time.Millisecond, now, now+2*time.Second)
		b.steer(now + time.Second)
	}
	if s := b.endpoints[e[0].slot].steering; s != 0 {
		t.Errorf("the weight of the endpoint with the large model changed by %v", s)
	}
	for i := range 3 * mostUsual { // models come and go
		b.Assign(e[0], &Request{Model: fmt.Sprint(i)})
	}
	if n := len(b.usual); n > mostUsual {
		t.Errorf("intervals of %d models are kept, more than %d", n, mostUsual)
	}
}

// TestSharedHome sends prompts with the same first half: from the fifth on they go to their home,
// though another endpoint is known to have them. The home is left when it has more than
// 2*4000 tokens more load: 21 streams have 21*384 = 8,064.
func TestSharedHome(t *testing.T) {
	b, e := newBalancer(t, Config{}, 8)
	request := func(own int) *Request {
		return &Request{Model: "m", Prompt: prompt(1, 8, own, 10), PromptTokens: 5120}
	}
	b.findEligible(&Request{}, b.all)
	home := b.home(hashSteps(make([]prefixHash, 0, 1), request(0))[0], true)
	var other Endpoint
	for _, x := range e {
		if x.slot != home {
			other = x
		}
	}
	for i := range 12 {
		if i < 4 {
			a := b.Assign(other, request(i))
			b.FirstToken(&a)
			b.Ended(&a)
			b.shares.distinct(hashSteps(make([]prefixHash, 0, mostSteps), request(i)), 8)
			continue
		}
		a := choose(t, b, request(i), nil)
		if a.Endpoint.slot != home || a.Reason != ByHome {
			t.Errorf("request %d went to %v by %v, want the home %d", i, a.Endpoint, a.Reason, home)
		}
		b.FirstToken(&a)
		b.Ended(&a)
	}
	for range 17 {
		loaded := b.Assign(Endpoint{slot: home, generation: 1}, &Request{PromptTokens: 10})
		b.FirstToken(&loaded)
	}
	for i := 17; i < 24; i++ {
		loaded := b.Assign(Endpoint{slot: home, generation: 1}, &Request{PromptTokens: 10})
		b.FirstToken(&loaded)
		a := choose(t, b, request(3), nil)
		if left := a.Endpoint.slot != home; left != (i+1 >= 21) {
			t.Fatalf("with %d streams at the home: left %t", i+1, left)
		}
		b.FirstToken(&a)
		b.Ended(&a)
	}
}

// TestProgress calls Progress for requests that ended, for endpoints that were removed, with
// policies without paces and with a time that doesn't advance.
func TestProgress(t *testing.T) {
	for _, policy := range Policies() {
		b, e := newBalancer(t, Config{Policy: policy}, 2)
		a := choose(t, b, &Request{Model: "m", PromptTokens: 10}, nil)
		for range 3 {
			b.Progress(&a, time.Second)
		}
		b.Ended(&a)
		b.Progress(&a, 2*time.Second)
		b.Remove(e[0])
		b.Remove(e[1])
		b.Progress(&a, 3*time.Second)
		var none Assignment
		b.Progress(&none, time.Second)
	}
}
