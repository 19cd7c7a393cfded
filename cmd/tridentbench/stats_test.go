package main

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestHistogram checks that the quantiles of a histogram equal the quantiles of the sorted values, up
// to the width of a bin.
func TestHistogram(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []time.Duration
	var even, odd histogram
	for i := range 20000 {
		d := time.Duration(math.Exp(random.Float64() * 28)) // 1 ns to 24 min
		all = append(all, d)
		if i%2 == 0 {
			even.add(d, 1)
		} else {
			odd.add(d, 1)
		}
	}
	even.merge(&odd)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
		got, want := float64(even.quantile(q)), float64(quantile(all, q))
		if math.Abs(got-want) > want/32+1 {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	var zeros histogram
	zeros.add(time.Millisecond, 1)
	zeros.add(0, 99)
	zeros.add(-time.Second, 0)
	if p50, p100 := zeros.quantile(0.5), zeros.quantile(1); p50 > 1 || p100 < time.Millisecond || p100 > time.Millisecond*33/32 {
		t.Errorf("quantiles %v and %v", p50, p100)
	}
	var empty histogram
	if empty.quantile(0.5) != 0 || quantile[time.Duration](nil, 0.5) != 0 {
		t.Error("an empty one has quantiles")
	}
}

func TestBins(t *testing.T) {
	for v := uint64(0); v < 1<<41; v = v*65/64 + 1 {
		b := bin(v)
		if low, next := lower(b), lower(b+1); float64(v) < low || float64(v) >= next {
			t.Fatalf("%d is in bin %d of %v to %v", v, b, low, next)
		}
	}
}

func TestSpread(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   spread
		ok     bool
	}{
		{"none", nil, spread{}, false},
		{"one", []float64{3}, spread{3, 3, 3, 1}, true},
		{"odd", []float64{9, 1, 2}, spread{2, 1, 9, 3}, true},
		{"even", []float64{4, 1, 2, 9}, spread{3, 1, 9, 4}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := spreadOf(tt.values); got != tt.want || ok != tt.ok {
				t.Errorf("got %v %t", got, ok)
			}
		})
	}
}
