package tokenizer

import (
	"cmp"
	"slices"
	"sort"
	"unicode"
)

// set is a set of code points with fast lookup.
type set struct {
	low    [1024]uint64 // bitmap of the set's code points below 0x10000
	ranges []span32     // the whole set, sorted and disjoint
}

// span32 is the range of code points from lo to hi, both included.
type span32 struct{ lo, hi rune }

func newSet(ranges []span32) *set {
	s := &set{ranges: ranges}
	for _, r := range ranges {
		for c := r.lo; c <= min(r.hi, 0xffff); c++ {
			s.low[c>>6] |= 1 << (c & 63)
		}
	}
	return s
}

func (s *set) has(r rune) bool {
	if r < 0x10000 {
		return s.low[r>>6]&(1<<(r&63)) != 0
	}
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].hi >= r })
	return i < len(s.ranges) && s.ranges[i].lo <= r
}

// union sorts ranges and joins adjacent and overlapping ones.
func union(parts ...[]span32) []span32 {
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b span32) int { return cmp.Compare(a.lo, b.lo) })
	var out []span32
	for _, r := range all {
		if n := len(out); n > 0 && r.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, r.hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// complement returns the code points outside of the sorted ranges.
func complement(ranges []span32) []span32 {
	var out []span32
	next := rune(0)
	for _, r := range ranges {
		if r.lo > next {
			out = append(out, span32{next, r.lo - 1})
		}
		next = r.hi + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, span32{next, unicode.MaxRune})
	}
	return out
}

// without returns the code points in a and not in b, both sorted.
func without(a, b []span32) []span32 {
	return complement(union(complement(a), b))
}

// table returns the code points of Go's tables.
func table(tables ...*unicode.RangeTable) []span32 {
	var out []span32
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			out = append(out, span32{lo, hi})
			return
		}
		for c := lo; c <= hi; c += stride {
			out = append(out, span32{c, c})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return union(out)
}

// fold adds the other cases of each code point, as (?i) does for a single
// character.
func fold(ranges []span32) []span32 {
	out := slices.Clone(ranges)
	for _, r := range ranges {
		for c := r.lo; c <= r.hi; c++ {
			for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
				out = append(out, span32{other, other})
			}
		}
	}
	return union(out)
}
