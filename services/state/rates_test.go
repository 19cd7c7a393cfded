package state_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/ratelimit"
	"github.com/trident-inference/trident/services/state"
	"github.com/trident-inference/trident/services/state/statetest"
	"github.com/trident-inference/trident/test/tier"
)

// slow is a rate whose bucket fills by nothing during a test.
var slow = ratelimit.Rate{PerSecond: 0.001, Size: 10}

func take(name string, need, units float64) ratelimit.Take {
	return ratelimit.Take{Name: name, Rate: slow, Need: need, Units: units}
}

// rates returns the buckets in a store, as one Trident has them.
func rates(t *testing.T, server *statetest.Server) *state.Rates {
	t.Helper()
	r := state.NewRates(server.Open())
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.Background()) })
	return r
}

// TestSharedBuckets has two Tridents take from the same buckets alternately, and checks what is left.
func TestSharedBuckets(t *testing.T) {
	server := statetest.Start(t)
	both := []*state.Rates{rates(t, server), rates(t, server)}
	const unit = 1000 * time.Second // the time in which a unit comes
	for i, step := range []struct {
		takes   []ratelimit.Take
		refused int
		wait    time.Duration
		resets  []time.Duration
	}{
		{[]ratelimit.Take{take("a", 1, 1), take("b", 1, 8)}, -1, 0, []time.Duration{unit, 8 * unit}},
		{[]ratelimit.Take{take("a", 1, 1), take("b", 3, 3)}, 1, unit, []time.Duration{unit, 8 * unit}}, // nothing is taken from a
		{[]ratelimit.Take{take("a", 1, 1), take("b", 2, 2)}, -1, 0, []time.Duration{2 * unit, 10 * unit}},
		{[]ratelimit.Take{take("b", 0, -4)}, -1, 0, []time.Duration{6 * unit}},
		{[]ratelimit.Take{take("b", 0, 14)}, -1, 0, []time.Duration{20 * unit}}, // more than there is
		{[]ratelimit.Take{take("b", 1, 1)}, 0, 11 * unit, []time.Duration{20 * unit}},
		{[]ratelimit.Take{take("b", 0, -100)}, -1, 0, []time.Duration{0}}, // never more than full
		{[]ratelimit.Take{take("b", 10, 10)}, -1, 0, []time.Duration{10 * unit}},
		{[]ratelimit.Take{take("a", 1, 0), take("b", 1, 0)}, 1, unit, []time.Duration{2 * unit, 10 * unit}},
	} {
		taken, err := both[i%2].Take(t.Context(), step.takes)
		if err != nil {
			t.Fatal(i, err)
		}
		near := func(a, b time.Duration) bool { return (a - b).Abs() < 20*time.Second } // the test's own time
		same := taken.Refused == step.refused && near(taken.Wait, step.wait) && len(taken.Resets) == len(step.resets)
		for j := range step.resets {
			same = same && near(taken.Resets[j], step.resets[j])
		}
		if !same {
			t.Errorf("step %d: %+v", i, taken)
		}
	}
}

// TestSharedResize changes the rates of empty buckets, and checks what they have and how fast they fill
// then: the units of a bucket stay, up to its new size.
func TestSharedResize(t *testing.T) {
	r := rates(t, statetest.Start(t))
	for i, test := range []struct {
		before, after ratelimit.Rate
		units         float64       // taken under the rate before
		wait          time.Duration // for one unit under the rate after
		reset         time.Duration
	}{
		{ratelimit.Rate{PerSecond: 1, Size: 100}, ratelimit.Rate{PerSecond: 10, Size: 10}, 100, 100 * time.Millisecond, time.Second},
		{ratelimit.Rate{PerSecond: 10, Size: 10}, ratelimit.Rate{PerSecond: 0.1, Size: 100}, 10, 10 * time.Second, 1000 * time.Second},
		{ratelimit.Rate{PerSecond: 1, Size: 100}, ratelimit.Rate{PerSecond: 0.1, Size: 10}, 20, 0, 0}, // 80 are left, of which 10 stay
	} {
		name := fmt.Sprint("resized", i)
		use := func(rate ratelimit.Rate, need, units float64) ratelimit.Taken {
			t.Helper()
			taken, err := r.Take(t.Context(), []ratelimit.Take{{Name: name, Rate: rate, Need: need, Units: units}})
			if err != nil {
				t.Fatal(err)
			}
			return taken
		}
		use(test.before, test.units, test.units)
		taken := use(test.after, 1, 0)
		// The test's own time fills the bucket by little.
		if (taken.Wait-test.wait).Abs() > 50*time.Millisecond+test.wait/2 || taken.Wait > test.wait || (taken.Resets[0]-test.reset).Abs() > test.reset/10 {
			t.Errorf("step %d: %+v", i, taken)
		}
		if test.wait > time.Second {
			// It fills by the new rate, although the take under it was refused, and doesn't expire by the old one.
			<-time.After(1100 * time.Millisecond)
			if later := use(test.after, 1, 1); later.Refused < 0 || later.Resets[0] < test.reset*9/10 {
				t.Errorf("step %d: %+v after a second", i, later)
			}
			continue
		}
		<-time.After(test.wait)
		if later := use(test.after, 1, 1); later.Refused >= 0 {
			t.Errorf("step %d: %+v after its wait", i, later)
		}
	}
}

// TestUnusableStores checks that a store that answers, but can't have buckets, isn't ready with the reason,
// and that one that has had them stays ready.
func TestUnusableStores(t *testing.T) {
	for name, test := range map[string]struct {
		options []string
		reason  string
	}{
		"read-only replica": {[]string{"--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "yes"}, "READONLY"},
		"no scripts":        {[]string{"--rename-command", "EVALSHA", "renamed"}, "unknown command"},
		"cluster":           {[]string{"--cluster-enabled", "yes", "--cluster-config-file", filepath.Join(t.TempDir(), "nodes.conf"), "--port", freePort(t)}, "CLUSTERDOWN"},
		"usable":            {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := statetest.Start(t, test.options...)
			r := rates(t, server)
			e := r.Ready(t.Context())
			if test.reason == "" {
				server.Stop()
				if again := r.Ready(t.Context()); e != nil || again != nil {
					t.Errorf("%v, and after it went away %v", e, again)
				}
				return
			}
			if known := inference.AsError(e); known == nil || known.Code != inference.CodeUnavailable || !strings.Contains(known.Message, test.reason) {
				t.Errorf("the reason is %v", e)
			}
		})
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	_, port, _ := net.SplitHostPort(free.Addr().String())
	return port
}

// TestSharedRate checks that three Tridents together let as many requests through as the rate.
func TestSharedRate(t *testing.T) {
	server := statetest.Start(t)
	rate := ratelimit.Rate{PerSecond: 30, Size: 30}
	var passed atomic.Int64
	var group sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	empty := make(chan struct{}, 3)
	for range 3 {
		r := rates(t, server)
		group.Go(func() {
			for told := false; ctx.Err() == nil; {
				taken, err := r.Take(ctx, []ratelimit.Take{{Name: "one", Rate: rate, Need: 1, Units: 1}})
				switch {
				case err != nil && ctx.Err() == nil:
					t.Error(err)
					return
				case taken.Refused < 0:
					passed.Add(1)
				case !told:
					told = true
					empty <- struct{}{}
				}
				<-time.After(time.Millisecond)
			}
		})
	}
	for range 3 {
		<-empty // the burst is used up
	}
	began, before := time.Now(), passed.Load()
	<-time.After(time.Duration(tier.Size(1, 10)) * time.Second)
	got, want := float64(passed.Load()-before), rate.PerSecond*time.Since(began).Seconds()
	stop()
	group.Wait()
	t.Logf("%v requests, by the rate %.1f", got, want)
	if math.Abs(got-want) > max(2, 0.05*want) {
		t.Errorf("%v requests, by the rate %.1f", got, want)
	}
}

// TestRatesAway checks that only one request waits for a store that is away, and that the buckets are
// used again once it is back.
func TestRatesAway(t *testing.T) {
	server := statetest.Start(t)
	r := rates(t, server)
	ask := func() error {
		_, err := r.Take(t.Context(), []ratelimit.Take{take("a", 1, 1)})
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	if err := ask(); err == nil {
		t.Fatal("a stopped store answers")
	}
	began := time.Now()
	for range 1000 {
		if err := ask(); err == nil {
			t.Fatal("a stopped store answers")
		}
	}
	if took := time.Since(began); took > 200*time.Millisecond {
		t.Errorf("1000 requests waited %s", took)
	}
	server.Resume()
	await(t, func() bool { return ask() == nil })
}

// TestSilentStore checks how long a request waits for a store that doesn't answer.
func TestSilentStore(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	store, err := state.Open("redis://"+silent.Addr().String(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Stop(context.Background()) }()
	r := state.NewRates(store)
	for _, most := range []time.Duration{500 * time.Millisecond, 20 * time.Millisecond} {
		began := time.Now()
		_, err := r.Take(t.Context(), []ratelimit.Take{take("a", 1, 1)})
		if took := time.Since(began); err == nil || took > most {
			t.Errorf("%v after %s", err, took)
		}
	}
}

// TestFullStore checks that a store that takes no records is away, although it answers.
func TestFullStore(t *testing.T) {
	server := statetest.Start(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction")
	r := rates(t, server)
	ask := func() error {
		_, err := r.Take(t.Context(), []ratelimit.Take{take("a", 1, 1)})
		return err
	}
	if err := ask(); err == nil {
		t.Fatal("a full store takes records")
	}
	<-time.After(50 * time.Millisecond) // the first attempt has failed too
	began := time.Now()
	if err := ask(); err == nil || time.Since(began) > 20*time.Millisecond {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

func await(t *testing.T, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Error("it didn't happen within 10 seconds")
}
