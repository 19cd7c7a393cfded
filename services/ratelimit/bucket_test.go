package ratelimit_test

import (
	"math"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/ratelimit"
)

// TestBucket takes from a bucket and checks what is left and how long a request must wait.
func TestBucket(t *testing.T) {
	r, b, now := ratelimit.Rate{PerSecond: 0.5, Size: 2}, ratelimit.Bucket{}, time.Unix(1_800_000_000, 0)
	want := func(left float64, wait, reset time.Duration) {
		t.Helper()
		if l, w, s := b.Left(r, now), b.Wait(r, now, 1), b.Reset(now); math.Abs(l-left) > 1e-6 || w != wait || s != reset {
			t.Errorf("%v left, wait %s, reset %s", l, w, s)
		}
	}
	want(2, 0, 0)
	b.Add(r, now, 1)
	want(1, 0, 2*time.Second)
	b.Add(r, now, 1)
	want(0, 2*time.Second, 4*time.Second)
	now = now.Add(time.Second)
	want(0.5, time.Second, 3*time.Second)
	b.Add(r, now, 2) // more than there is
	want(-1.5, 5*time.Second, 7*time.Second)
	b.Add(r, now, -2)
	want(0.5, time.Second, 3*time.Second)
	b.Add(r, now, -100) // a bucket is never more than full
	want(2, 0, 0)
	b.SetReset(now, 4*time.Second)
	want(0, 2*time.Second, 4*time.Second)
	now = now.Add(time.Hour)
	want(2, 0, 0)
}

// TestResize checks that the units of a bucket stay when its rate changes, up to its new size.
func TestResize(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	before := ratelimit.Rate{PerSecond: 1, Size: 10}
	for _, test := range []struct {
		after ratelimit.Rate
		left  float64
	}{
		{ratelimit.Rate{PerSecond: 5, Size: 20}, 7},
		{ratelimit.Rate{PerSecond: 0.1, Size: 5}, 5},
		{ratelimit.Rate{PerSecond: 1e6, Size: 7}, 7},
	} {
		var b ratelimit.Bucket
		b.Add(before, now, 3)
		b.Resize(before, test.after, now)
		if left := b.Left(test.after, now); math.Abs(left-test.left) > 1e-3 {
			t.Errorf("%+v: %v left, want %v", test.after, left, test.left)
		}
	}
}

// TestExtremeRates checks that very small and very large rates don't overflow.
func TestExtremeRates(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, r := range []ratelimit.Rate{{PerSecond: 1e-9, Size: 1}, {PerSecond: math.MaxFloat64, Size: 1}, {PerSecond: 1e9, Size: math.MaxInt32}} {
		var b ratelimit.Bucket
		b.Add(r, now, r.Size)
		if wait := b.Wait(r, now, 1); wait < 0 || r.PerSecond < 1 && wait < 24*time.Hour {
			t.Errorf("%+v: wait %s", r, wait)
		}
		b.Add(r, now, -r.Size)
		if left := b.Left(r, now); math.Abs(left-r.Size) > 1 {
			t.Errorf("%+v: %v left", r, left)
		}
	}
}
