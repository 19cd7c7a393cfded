package main

import (
	"math/bits"
	"slices"
	"time"
)

// histogram counts durations in bins, up to hours. The width of a bin is at
// most 1/64 of its durations.
type histogram struct {
	bins  [(42 - binBits + 1) << binBits]uint32
	count uint64
}

const binBits = 6

func (h *histogram) add(d time.Duration, times int) {
	if times <= 0 {
		return
	}
	h.bins[min(bin(uint64(max(d, 0))), len(h.bins)-1)] += uint32(times)
	h.count += uint64(times)
}

// bin returns the bin of a duration. Bin numbers are like floats: the exponent
// is above the leading bits.
func bin(v uint64) int {
	shift := max(bits.Len64(v)-binBits-1, 0)
	return shift<<binBits + int(v>>shift)
}

// lower returns the smallest duration of a bin.
func lower(bin int) float64 {
	shift := max(bin>>binBits-1, 0)
	return float64(uint64(bin-shift<<binBits) << shift)
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.bins {
		h.bins[i] += n
	}
	h.count += other.count
}

// quantile returns a quantile with the precision of a bin, or 0 without data.
func (h *histogram) quantile(q float64) time.Duration {
	rank := q * float64(h.count)
	var below float64
	for i, n := range h.bins {
		if below+float64(n) >= rank && n > 0 {
			return time.Duration(lower(i) + (lower(i+1)-lower(i))*(rank-below)/float64(n))
		}
		below += float64(n)
	}
	return 0
}

// quantile sorts list and returns a quantile of it, or 0 without data.
func quantile[T time.Duration | float64](list []T, q float64) T {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[min(int(q*float64(len(list))), len(list)-1)]
}

// spread is the distribution of the rounds' values.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Rounds int     `json:"rounds"`
}

// spreadOf returns false without data.
func spreadOf(values []float64) (spread, bool) {
	if len(values) == 0 {
		return spread{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1], Rounds: n}, true
}
