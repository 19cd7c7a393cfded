package metering

import (
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
)

// TestBuckets checks that the middle of a time's bucket differs from the time by at most 1/16, or
// half a microsecond.
func TestBuckets(t *testing.T) {
	last := -1
	for d := time.Duration(0); d < 2*time.Hour; d += max(time.Microsecond, d/100) {
		bucket := bucketOf(d)
		if bucket < last || bucket >= buckets {
			t.Fatalf("%s is in bucket %d after %d", d, bucket, last)
		}
		last = bucket
		if off := (middle(bucket) - d).Abs(); off > max(d/16, time.Microsecond) {
			t.Errorf("%s comes back as %s", d, middle(bucket))
		}
	}
	if bucketOf(-time.Second) != 0 || bucketOf(1000*time.Hour) != buckets-1 {
		t.Error("times out of range")
	}
}

// TestHistogram checks that histogram.recent and the other methods of histogram return the correct
// counts of the recent past and since the start.
func TestHistogram(t *testing.T) {
	h := histogram{scale: firstTokenScale}
	h.past.period = time.Second
	start := time.Now()
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	quantiles := func(now time.Time) Quantiles {
		var times [buckets]uint64
		h.recent(now, &times)
		return quantilesOf(&times)
	}
	if quantiles(start) != (Quantiles{}) {
		t.Error("an empty histogram has something in it")
	}
	for i := range 100 {
		h.observe(at(0), time.Duration(i+1)*time.Millisecond, 1)
	}
	h.observe(at(1.5), 8*time.Second, 3)
	q := quantiles(at(2))
	for _, c := range []struct{ got, want time.Duration }{{q.P50, 52 * time.Millisecond}, {q.P90, 93 * time.Millisecond}, {q.P99, 8 * time.Second}} {
		if off := (c.got - c.want).Abs(); q.Count != 103 || off > c.want/16 {
			t.Errorf("quantiles %+v", q)
		}
	}
	if q := quantiles(at(2.75)); q.Count != 3 {
		t.Errorf("%d when the first epoch is over", q.Count)
	}
	if q := quantiles(at(3.5)); q.Count != 0 {
		t.Errorf("%d when all is over", q.Count)
	}
	h.observe(at(9), 5*time.Millisecond, 5)
	if q := quantiles(at(9)); q.Count != 5 {
		t.Errorf("%d after a pause", q.Count)
	}
	all := h.export()
	// 1 ms and 5 ms have five more, because bounds are inclusive.
	want := []uint64{1, 10, 15, 25, 45, 65, 85, 105, 105, 105, 105, 105, 105, 105, 105, 108}
	if !slices.Equal(all.Counts, want) || all.Count != 108 || all.Bounds[0] != 0.001 || all.Bounds[15] != 10 {
		t.Errorf("%+v", all)
	}
	if sum := 5.05 + 3*8 + 5*0.005; math.Abs(all.Sum-sum) > 1e-9 {
		t.Errorf("sum %v, not %v", all.Sum, sum)
	}
}

// TestScales checks that each bound separates the times up to the bound from longer times.
func TestScales(t *testing.T) {
	for _, s := range []*scale{firstTokenScale, interTokenScale, durationScale} {
		for i, bound := range s.bounds {
			h := histogram{scale: s}
			h.add(bound, 1)
			h.add(bound+1, 1)
			if got := h.export(); got.Counts[i] != 1 || got.Count != 2 || i > 0 && got.Counts[i-1] != 0 || len(got.Counts) != len(s.bounds) {
				t.Errorf("at %s: %+v", bound, got)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	for tokens, bucket := range map[int]int{0: 0, 1: 0, 2: 1, 4: 1, 5: 2, 16: 2, 17: 3, 1024: 5, 1025: 6, 67108864: 13, 67108865: 14} {
		var s sizes
		s.add(tokens)
		got := s.export()
		for i, n := range got.Counts {
			if want := i >= bucket; (n == 1) != want {
				t.Errorf("%d tokens are not above %v: %v", tokens, got.Bounds[i], n)
			}
		}
		if got.Count != 1 || got.Sum != float64(tokens) {
			t.Errorf("%d: %+v", tokens, got)
		}
	}
}

// BenchmarkStep measures the cost of metering for a single token and for one of sixteen tokens that
// arrive together, and the clock's share of that cost. Compare with benchstat.
func BenchmarkStep(b *testing.B) {
	for _, together := range []int{1, 16} {
		b.Run(strconv.Itoa(together), func(b *testing.B) {
			m := &Measure{meter: newMeter(), Streamed: true, began: time.Now(), span: noop.Span{}}
			var p Pace
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				m.Step(&p, 1, true, i%together != 0)
			}
		})
	}
	b.Run("clock", func(b *testing.B) {
		for b.Loop() {
			_ = time.Now()
		}
	})
}
