package admission_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
	"github.com/trident-inference/trident/services/ratelimit"
)

// sharedBuckets is a store of rates for controllers of one test.
type sharedBuckets struct {
	buckets map[string]*ratelimit.Bucket
	away    bool
	during  func() // is called while a request waits for the store
}

// Take implements [ratelimit.Store].
func (s *sharedBuckets) Take(_ context.Context, takes []ratelimit.Take) (ratelimit.Taken, error) {
	if s.during != nil {
		s.during()
	}
	if s.away {
		return ratelimit.Taken{}, errors.New("away")
	}
	now, taken := time.Now(), ratelimit.Taken{Refused: -1}
	for i, t := range takes {
		if s.buckets[t.Name] == nil {
			s.buckets[t.Name] = &ratelimit.Bucket{}
		}
		if wait := s.buckets[t.Name].Wait(t.Rate, now, t.Need); t.Need > 0 && wait > 0 && taken.Refused < 0 {
			taken.Refused, taken.Wait = i, wait
		}
	}
	for _, t := range takes {
		if taken.Refused < 0 {
			s.buckets[t.Name].Add(t.Rate, now, t.Units)
		}
		taken.Resets = append(taken.Resets, s.buckets[t.Name].Reset(now))
	}
	return taken, nil
}

// controllers returns two servers whose rates are shared.
func controllers(t *testing.T, b admission.Bounds, shared ratelimit.Store) [2]*admission.Controller {
	t.Helper()
	var all [2]*admission.Controller
	for i := range all {
		all[i] = admission.New(b, metering.New(func(string) bool { return true }))
		if shared != nil {
			all[i].Share(shared)
		}
	}
	return all
}

// TestSharedRates checks that two servers spend from one bucket of a key and one of the server, that a
// refusal by one of them spends nothing of the other, and the headers' numbers at both.
func TestSharedRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := controllers(t, server(inference.Limits{Rate: 1, Burst: 3}), &sharedBuckets{buckets: map[string]*ratelimit.Bucket{}})
		key := of(t, "a", inference.Limits{Rate: 0.1, Burst: 2})
		admit := func(server int, ctx context.Context) *inference.Error {
			a := all[server].Arrive(ctx)
			defer a.Leave()
			if err := a.Admit(); err != nil {
				return inference.AsError(err)
			}
			return nil
		}
		for i := range 2 {
			if e := admit(i, key); e != nil {
				t.Fatal(i, e)
			}
		}
		for i := range all {
			e := admit(i, key)
			wantRefused(t, e, inference.CodeLimited, "too many requests of this API key: the rate limit is 0.1 requests per second")
			if e == nil || e.RetryAfter != 10*time.Second {
				t.Errorf("server %d: %v", i, e)
			}
			if left, _ := all[i].Rate(key); left != (admission.Rate{Limit: 2, Reset: 20 * time.Second}) {
				t.Errorf("server %d: %+v", i, left)
			}
		}
		if e := admit(0, of(t, "b")); e != nil {
			t.Error("the server's third request:", e)
		}
		wantRefused(t, admit(1, of(t, "b")), inference.CodeLimited, "too many requests: the rate limit is 1 requests per second")
		<-time.After(10 * time.Second)
		if e := admit(1, key); e != nil {
			t.Error("after its time:", e)
		}
		if n := all[0].Alone() + all[1].Alone(); n != 0 {
			t.Errorf("%d requests used the servers' own buckets", n)
		}
	})
}

// TestStoreOfRatesAway checks that each server goes on from the last known state of the shared buckets
// by itself while the store is away, and that this is counted.
func TestStoreOfRatesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &sharedBuckets{buckets: map[string]*ratelimit.Bucket{}}
		all := controllers(t, admission.Bounds{}, shared)
		key := of(t, "a", inference.Limits{Rate: 1, Burst: 4})
		passed := func(server int) (n int) {
			for all[server].Arrive(key).Admit() == nil {
				n++
			}
			return n
		}
		if err := all[0].Arrive(key).Admit(); err != nil {
			t.Fatal(err)
		}
		shared.away = true
		if a, b := passed(0), passed(1); a != 3 || b != 4 { // the second server doesn't know yet
			t.Errorf("%d and %d requests passed", a, b)
		}
		if a, b := all[0].Alone(), all[1].Alone(); a != 4 || b != 5 {
			t.Errorf("%d and %d were counted", a, b)
		}
		shared.away = false
		if n := passed(0); n != 3 {
			t.Errorf("of the shared bucket: %d", n)
		}
	})
}

// TestReservedWhileAway checks that tokens that were reserved in a server's own bucket aren't returned to
// the shared one, and that a client that disconnects isn't counted as a store that is away.
func TestReservedWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &sharedBuckets{buckets: map[string]*ratelimit.Bucket{}}
		c := controllers(t, admission.Bounds{}, shared)[0]
		key := of(t, "a", inference.Limits{TokensPerMinute: 600})
		begin := func(ctx context.Context) *admission.Ticket {
			t.Helper()
			ticket := &admission.Ticket{}
			if err := c.Enter(ctx, ticket, admission.Ask{Model: "m"}); err != nil {
				t.Fatal(err)
			}
			return ticket
		}
		first, second := begin(key), begin(key)
		if err := first.Reserve(300); err != nil {
			t.Fatal(err)
		}
		shared.away = true
		if err := second.Reserve(200); err != nil {
			t.Fatal(err)
		}
		shared.away = false
		second.Leave() // it has spent nothing
		for name, b := range shared.buckets {
			if got := b.Reset(time.Now()); got != 30*time.Second {
				t.Errorf("%s is full after %s, want 30s of the first request", name, got)
			}
		}
		first.Leave()
		if n := c.Alone(); n != 1 {
			t.Errorf("own buckets were counted %d times, want 1", n)
		}
		ctx, cancel := context.WithCancel(key)
		third := begin(ctx)
		shared.away, shared.during = true, cancel
		_ = third.Reserve(1)
		if n := c.Alone(); n != 1 {
			t.Errorf("a client that disconnected was counted: %d", n)
		}
		third.Leave()
	})
}

// TestReloadWhileWaiting checks a request of an unknown model whose limits are removed while it waits for
// the store, and that a panic of the store leaves the lock as it was.
func TestReloadWhileWaiting(t *testing.T) {
	shared := &sharedBuckets{buckets: map[string]*ratelimit.Bucket{}}
	bounds := admission.Bounds{Models: map[string]inference.Limits{"": {InFlight: 1}}}
	c := controllers(t, bounds, shared)[0]
	key := of(t, "a", inference.Limits{Rate: 1, Burst: 3})
	shared.during = func() {
		if err := c.SetBounds(admission.Bounds{}); err != nil {
			t.Error(err)
		}
	}
	ticket := &admission.Ticket{}
	if err := c.Enter(key, ticket, admission.Ask{Model: "unknown"}); err != nil {
		t.Fatal(err)
	}
	ticket.Leave()
	shared.during = func() { panic("the store's") }
	func() {
		defer func() {
			if r := recover(); r != "the store's" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = c.Arrive(key).Admit()
	}()
	shared.during = nil
	if err := c.Arrive(key).Admit(); err != nil {
		t.Error(err)
	}
}

// TestStoreOfRatesHoldsNobodyUp checks that other requests are admitted while one waits for the store.
func TestStoreOfRatesHoldsNobodyUp(t *testing.T) {
	shared := &sharedBuckets{buckets: map[string]*ratelimit.Bucket{}}
	c := controllers(t, admission.Bounds{}, shared)[0]
	entered := false
	shared.during = func() {
		ticket := &admission.Ticket{}
		if err := c.Enter(t.Context(), ticket, admission.Ask{Model: "m"}); err != nil {
			t.Error(err)
			return
		}
		ticket.Leave()
		entered = true
	}
	if err := c.Arrive(of(t, "a", inference.Limits{Rate: 1})).Admit(); err != nil || !entered {
		t.Error(err, entered)
	}
}

// TestTokensPerMinute checks the tokens of a key: what is reserved, corrected and refused, with and
// without a store.
func TestTokensPerMinute(t *testing.T) {
	for name, shared := range map[string]*sharedBuckets{"own": nil, "shared": {buckets: map[string]*ratelimit.Bucket{}}} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testTokens(t, shared) }) })
	}
}

func testTokens(t *testing.T, shared *sharedBuckets) {
	t.Helper()
	c := controllers(t, admission.Bounds{}, nil)[0]
	if shared != nil {
		c.Share(shared)
	}
	key := of(t, "a", inference.Limits{TokensPerMinute: 600})
	begin := func(tokens int) (*admission.Ticket, *inference.Error) {
		t.Helper()
		ticket := &admission.Ticket{}
		if err := c.Enter(key, ticket, admission.Ask{Model: "m"}); err != nil {
			return nil, inference.AsError(err)
		}
		if err := ticket.Reserve(tokens); err != nil { //nolint:contextcheck // the ticket is the context
			ticket.Leave() //nolint:contextcheck // the ticket is the context
			return nil, inference.AsError(err)
		}
		return ticket, nil
	}
	left := func(want int) {
		t.Helper()
		if got, ok := c.Tokens(key); !ok || got.Limit != 600 || got.Remaining != want || got.Reset != time.Duration(600-want)*100*time.Millisecond {
			t.Errorf("%+v are left, want %d", got, want)
		}
	}
	first, err := begin(400)
	if err != nil {
		t.Fatal(err)
	}
	left(200)
	_, refused := begin(300)
	wantRefused(t, refused, inference.CodeLimited, "too many tokens of this API key: the limit is 600 tokens per minute, and this request needs 300")
	if refused == nil || refused.RetryAfter != 10*time.Second || refused.Reason != inference.ReasonRateLimit {
		t.Errorf("%v", refused)
	}
	left(200)
	first.Spend(150)
	first.Leave()
	left(450)

	whole, refused := begin(10_000) // needs and takes a whole minute's tokens
	if whole != nil || refused == nil || refused.RetryAfter != 15*time.Second {
		t.Errorf("more than are left: %v", refused)
	}
	<-time.After(15 * time.Second)
	if whole, refused = begin(10_000); refused != nil {
		t.Fatal(refused)
	}
	if err := c.Arrive(key).AdmitModel(); inference.AsError(err).RetryAfter != 100*time.Millisecond {
		t.Errorf("without a token left: %v", err)
	}
	if err := c.Arrive(key).Admit(); err != nil { // runs no model
		t.Error(err)
	}
	whole.Spend(720) // the client owes 120
	whole.Leave()
	if got, _ := c.Tokens(key); got.Remaining != 0 || got.Reset != 72*time.Second {
		t.Errorf("%+v are left", got)
	}
	<-time.After(72 * time.Second)
	left(600)
	unknown, _ := begin(100)
	unknown.SpendReserved()
	unknown.Leave()
	left(500)
	failed, _ := begin(100)
	failed.Leave() // it has spent nothing
	left(500)
	if counts := maps.Collect(c.Refusals()); counts["tokens"] != 1 {
		t.Errorf("refusals: %v", counts)
	}
	if _, ok := c.Tokens(of(t, "b")); ok {
		t.Error("a key without a limit has one")
	}
}
