// Package ratelimit has the arithmetic of rates: buckets that fill at a rate and from which requests
// take. It is the generic cell rate algorithm (GCRA): a bucket is the time at which it will be full.
// Which buckets a request takes from belongs to package admission, and the buckets that several
// servers share belong to package state.
package ratelimit

import (
	"context"
	"math"
	"time"
)

// Rate is the rate at which a bucket fills, in units per second, and the number of units of a full
// bucket. Both are above 0.
type Rate struct {
	PerSecond float64
	Size      float64
}

// Bucket is a bucket of units. The zero value is full. A bucket belongs to one Rate; see Resize.
type Bucket struct{ full time.Time }

// slack is the number of units by which a sum of times, which are whole nanoseconds, may be wrong.
const slack = 1e-3

// Whole returns the number of whole units in the bucket, which is 0 if more were taken than it had.
func (b *Bucket) Whole(r Rate, now time.Time) int {
	return int(min(max(0, b.Left(r, now)+slack), r.Size))
}

// Left returns the number of units in the bucket, which is negative if more were taken than it had.
func (b *Bucket) Left(r Rate, now time.Time) float64 {
	return r.Size - max(0, b.full.Sub(now).Seconds())*r.PerSecond
}

// Wait returns the time until the bucket has the units, which are at most its size. It is 0 if the
// bucket has them now.
func (b *Bucket) Wait(r Rate, now time.Time, units float64) time.Duration {
	missing := units - b.Left(r, now)
	if missing <= slack {
		return 0
	}
	return Seconds(missing / r.PerSecond)
}

// Add takes units, of which the bucket may have fewer. It returns units if the number is negative.
func (b *Bucket) Add(r Rate, now time.Time, units float64) {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(Seconds(units / r.PerSecond))
}

// Reset returns the time until the bucket is full if nothing more is taken.
func (b *Bucket) Reset(now time.Time) time.Duration { return max(0, b.full.Sub(now)) }

// SetReset sets the time until the bucket is full.
func (b *Bucket) SetReset(now time.Time, reset time.Duration) { b.full = now.Add(reset) }

// Resize changes the rate of the bucket. The units in it stay, up to its new size.
func (b *Bucket) Resize(before, after Rate, now time.Time) {
	left := min(b.Left(before, now), after.Size)
	b.full = now.Add(Seconds((after.Size - left) / after.PerSecond))
}

// Seconds returns a duration of seconds. It doesn't overflow.
func Seconds(seconds float64) time.Duration {
	const most = float64(math.MaxInt64 / 4)
	return time.Duration(min(max(seconds*float64(time.Second), -most), most))
}

// Take describes the units that a request takes from a bucket.
type Take struct {
	// Name is the bucket's name in a [Store].
	Name string
	Rate Rate
	// Need is the number of units that the bucket must have, or else nothing is taken from any bucket.
	// 0 or less is always there.
	Need float64
	// Units are taken. A negative number returns them.
	Units float64
}

// Taken is the result of taking from several buckets.
type Taken struct {
	// Refused is the index of the first bucket that didn't have enough, or -1 if the units were taken
	// from all buckets. Wait is the time until that bucket has enough.
	Refused int
	Wait    time.Duration
	// Resets has the time until each bucket is full.
	Resets []time.Duration
}

// Store has buckets that several servers share. Take takes from all buckets or, if one of them has too
// few units, from none. An error means that the store can't be reached. Take returns soon even then,
// because requests wait for it. It may be called concurrently.
type Store interface {
	Take(ctx context.Context, takes []Take) (Taken, error)
}
