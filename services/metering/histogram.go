package metering

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// Quantiles are quantiles of times, each with an error of at most 1/16.
type Quantiles struct {
	P50, P90, P99 time.Duration
	Count         uint64
}

// The buckets cover times from a microsecond to four hours. Each doubling has as many buckets as
// mantissas. Longer times are counted in the last bucket.
const (
	buckets   = 256
	mantissas = 8
	maxBounds = 16
	// parts is the number of buckets plus the number of buckets that a bound splits in two.
	parts = buckets + maxBounds
)

// bucketOf returns the bucket of a time.
func bucketOf(d time.Duration) int {
	us := uint64(max(d/time.Microsecond, 0))
	if us < mantissas {
		return int(us)
	}
	shift := bits.Len64(us) - bits.Len64(mantissas)
	return min(shift*mantissas+int(us>>shift), buckets-1)
}

// middle returns the middle of a bucket.
func middle(bucket int) time.Duration {
	if bucket < 2*mantissas {
		return time.Duration(bucket) * time.Microsecond
	}
	shift := bucket/mantissas - 1
	low := bucket - shift*mantissas
	return time.Duration((2*low+1)<<shift) * time.Microsecond / 2
}

// scale splits the buckets at bounds, so that counts up to a bound are exact. Quantiles use the
// same counts.
type scale struct {
	bounds []time.Duration
	first  [buckets]int           // index in counts of the first part of each bucket
	cut    [buckets]time.Duration // longer times are counted in the next part
}

// newScale takes bounds in ascending order. Two bounds must not lie in the same bucket.
func newScale(seconds ...float64) *scale {
	s := &scale{}
	for _, bound := range seconds {
		s.bounds = append(s.bounds, time.Duration(math.Round(bound*float64(time.Second))))
	}
	next := 0
	for bucket := range buckets {
		s.first[bucket], s.cut[bucket] = bucket+next, math.MaxInt64
		if next < len(s.bounds) && bucketOf(s.bounds[next]) == bucket {
			s.cut[bucket] = s.bounds[next]
			next++
		}
	}
	return s
}

func (s *scale) part(d time.Duration) int {
	bucket := bucketOf(d)
	if d > s.cut[bucket] {
		return s.first[bucket] + 1
	}
	return s.first[bucket]
}

// The bucket bounds in seconds of OpenTelemetry's conventions for generative AI.
var (
	firstTokenScale = newScale(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)   //nolint:gochecknoglobals // a constant table
	interTokenScale = newScale(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5)                  //nolint:gochecknoglobals // a constant table
	durationScale   = newScale(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92) //nolint:gochecknoglobals // a constant table
)

// histogram counts times since the start. It also keeps an earlier state, from which recent counts
// follow. Adding takes no lock, and the memory is constant.
type histogram struct {
	scale    *scale
	counts   [parts]atomic.Uint64
	nanos    atomic.Uint64 // sum of the times
	past     past[[parts]uint64]
	exemplar atomic.Pointer[Exemplar]
}

// observe counts a time n times.
func (h *histogram) observe(now time.Time, d time.Duration, n uint64) {
	if h.past.due(now) {
		h.past.mark(now, h.read())
	}
	h.add(d, n)
}

// add is observe without support for recent counts.
func (h *histogram) add(d time.Duration, n uint64) {
	h.counts[h.scale.part(d)].Add(n)
	h.nanos.Add(uint64(max(d, 0)) * n)
}

func (h *histogram) read() *[parts]uint64 {
	var all [parts]uint64
	for i := range all {
		all[i] = h.counts[i].Load()
	}
	return &all
}

// recent adds the recent counts to the buckets.
func (h *histogram) recent(now time.Time, to *[buckets]uint64) {
	since := h.past.since(now)
	if since == nil {
		return
	}
	counts := h.read()
	for bucket := range to {
		first, end := h.scale.first[bucket], parts
		if bucket+1 < buckets {
			end = h.scale.first[bucket+1]
		}
		for i := first; i < end; i++ {
			to[bucket] += counts[i] - since.was[i]
		}
	}
}

func quantilesOf(times *[buckets]uint64) Quantiles {
	var q Quantiles
	for _, n := range times {
		q.Count += n
	}
	for _, share := range []struct {
		hundredths uint64
		at         *time.Duration
	}{{50, &q.P50}, {90, &q.P90}, {99, &q.P99}} {
		rank := (q.Count*share.hundredths + 99) / 100
		for i, n := range times {
			if rank > 0 && rank <= n {
				*share.at = middle(i)
				break
			}
			rank -= min(rank, n)
		}
	}
	return q
}

// Histogram has the counts since the start.
type Histogram struct {
	// Bounds are the inclusive upper bounds of the buckets, in seconds or in tokens.
	Bounds []float64
	// Counts are cumulative: the number of values up to each bound. Count is the number of all
	// values.
	Counts []uint64
	Count  uint64
	Sum    float64
	// Exemplar is the latest value with a trace, or nil.
	Exemplar *Exemplar
}

// Exemplar is a counted value with its trace.
type Exemplar struct {
	TraceID string
	Value   float64
	At      time.Time
}

// export returns the counts by the bounds of the scale.
func (h *histogram) export() Histogram {
	out := Histogram{Sum: time.Duration(h.nanos.Load()).Seconds(), Exemplar: h.exemplar.Load()}
	counts := h.read()
	next := 0
	for i, n := range counts {
		out.Count += n
		if next < len(h.scale.bounds) && i == h.scale.part(h.scale.bounds[next]) {
			out.Bounds = append(out.Bounds, h.scale.bounds[next].Seconds())
			out.Counts = append(out.Counts, out.Count)
			next++
		}
	}
	return out
}

// past keeps the value of a count at the start of the current epoch and of the previous epoch.
type past[T any] struct {
	period time.Duration // duration of an epoch
	epochs atomic.Pointer[epochs[T]]
}

type epochs[T any] struct{ now, before *epoch[T] }

type epoch[T any] struct {
	began time.Time
	was   *T
}

// due reports whether a new epoch must start.
func (p *past[T]) due(now time.Time) bool {
	e := p.epochs.Load()
	return e == nil || now.Sub(e.now.began) >= p.period
}

// mark starts an epoch, unless another goroutine has just started one.
func (p *past[T]) mark(now time.Time, was *T) {
	old := p.epochs.Load()
	fresh := &epochs[T]{now: &epoch[T]{now, was}}
	if old != nil {
		switch age := now.Sub(old.now.began); {
		case age < p.period:
			return
		case age < 2*p.period:
			fresh.before = old.now
		}
	}
	p.epochs.CompareAndSwap(old, fresh)
}

// since returns the epoch at which the recent counts start, or nil if there are no recent counts.
func (p *past[T]) since(now time.Time) *epoch[T] {
	e := p.epochs.Load()
	switch {
	case e == nil || now.Sub(e.now.began) >= 2*p.period:
		return nil
	case e.before == nil || now.Sub(e.now.began) >= p.period:
		return e.now
	}
	return e.before
}

// sizes counts numbers of tokens by powers of four, as OpenTelemetry's conventions define.
type sizes struct {
	counts [sizeBounds + 1]atomic.Uint64
	sum    atomic.Uint64
}

const sizeBounds = 14

func (s *sizes) add(tokens int) {
	n := uint64(max(tokens, 0))
	s.sum.Add(n)
	s.counts[min((bits.Len64(max(n, 1)-1)+1)/2, sizeBounds)].Add(1)
}

func (s *sizes) export() Histogram {
	out := Histogram{Sum: float64(s.sum.Load())}
	for i := range s.counts {
		out.Count += s.counts[i].Load()
		if i < sizeBounds {
			out.Bounds = append(out.Bounds, float64(uint64(1)<<(2*i)))
			out.Counts = append(out.Counts, out.Count)
		}
	}
	return out
}
