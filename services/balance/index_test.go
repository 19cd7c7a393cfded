package balance

import (
	"testing"
)

// testIndex returns an index with caches of so many tokens.
func testIndex(entries, endpoints int, cacheTokens uint32) (*index, *matches) {
	x := newIndex(entries)
	for range endpoints {
		x.caches = append(x.caches, cache{size: cacheTokens})
	}
	return x, &matches{depths: make([]uint32, endpoints), seen: make([]uint32, 0, mostSeen)}
}

func chain(n, steps int) []prefixHash {
	var c []prefixHash
	for i := range steps {
		c = append(c, prefixHash(mix(uint64(n)<<32|uint64(i+1))))
	}
	return c
}

// TestIndexBound fills an index with several times its size, and checks that it has the
// recently used prefixes.
func TestIndexBound(t *testing.T) {
	for _, c := range []struct{ asked, capacity int }{{1, 16}, {1000, 1024}, {1024, 1024}, {1025, 2048}} {
		x, m := testIndex(c.asked, 4, maxCache)
		if x.capacity() != c.capacity {
			t.Fatalf("an index for %d entries has %d, want %d", c.asked, x.capacity(), c.capacity)
		}
		for i := range 5 * c.capacity {
			x.record(chain(i, 4), uint32(i%4), 2048)
			if x.used > x.capacity() {
				t.Fatalf("%d entries, more than %d", x.used, x.capacity())
			}
		}
		if x.used < x.capacity()*95/100 {
			t.Errorf("%d of %d entries are used", x.used, x.capacity())
		}
		recent := 0
		last := c.capacity / 32 // an eighth of the entries
		for i := 5*c.capacity - last; i < 5*c.capacity; i++ {
			x.find(chain(i, 4), m)
			if m.depths[i%4] == 4 {
				recent++
			}
		}
		if recent < last*9/10 {
			t.Errorf("%d of the last %d prompts are known", recent, last)
		}
	}
}

// TestCacheSize checks that a prefix is forgotten when as many tokens as fit into the cache
// were written since its last use, and not before.
func TestCacheSize(t *testing.T) {
	x, m := testIndex(1<<12, 2, 11_000)
	depth := func(c []prefixHash) int {
		x.find(c, m)
		return x.depth(c, m, 0)
	}
	old, used := chain(1, 2), chain(2, 2)
	x.record(old, 0, 1024)
	x.record(used, 0, 1024)
	for i := range 8 {
		x.record(chain(100+i, 2), 0, 1024)
		x.record(chain(100+i, 2), 1, 1<<20) // another endpoint's cache
	}
	x.record(used, 0, 0)
	if depth(old) != 2 || depth(used) != 2 {
		t.Errorf("%d and %d steps are known after 9 Ki tokens, want 2 and 2", depth(old), depth(used))
	}
	for i := range 4 {
		x.record(chain(200+i, 2), 0, 1024)
	}
	if depth(old) != 0 || depth(used) != 2 {
		t.Errorf("%d and %d steps are known after 13 Ki tokens, want 0 and 2", depth(old), depth(used))
	}
}

// TestManyHolders records one prompt at 300 endpoints: each is known to have it, though a
// list has 4 of them.
func TestManyHolders(t *testing.T) {
	const n = 300
	x, m := testIndex(1<<16, n+1, maxCache)
	common := chain(1, 13)
	for slot := range uint32(n) {
		x.record(common, slot, 512)
		x.record(append(append([]prefixHash{}, common[:7]...), chain(int(100+slot), 2)...), slot, 512)
	}
	x.find(common, m)
	if len(m.seen) < mostListed || len(m.seen) > mostSeen {
		t.Errorf("%d endpoints are listed", len(m.seen))
	}
	wrong := 0
	for slot := range uint32(n) {
		if x.depth(common, m, slot) != len(common) {
			wrong++
		}
	}
	if wrong > n/100 { // a full bucket may have replaced some
		t.Errorf("%d of %d endpoints aren't known to have the whole prompt", wrong, n)
	}
	if d := x.depth(common, m, n); d != 0 {
		t.Errorf("an endpoint that never got the prompt has %d steps of it", d)
	}
}

// TestGaps removes entries in the middle of a prompt: the longer prefix is found all the
// same, unless too many entries in a row are missing.
func TestGaps(t *testing.T) {
	for gap, want := range map[int]uint32{1: 20, mostGaps - 1: 20, mostGaps: 5} {
		x, m := testIndex(1<<12, 1, maxCache)
		c := chain(1, 20)
		x.record(c, 0, 512)
		for _, prefix := range c[5 : 5+gap] {
			b := x.list(prefix)
			for i := range b {
				if b[i].prefix == prefix {
					x.free(&b[i])
				}
			}
		}
		x.find(c, m)
		if m.depths[0] != want {
			t.Errorf("%d steps are known beyond a gap of %d, want %d", m.depths[0], gap, want)
		}
	}
}

// TestFreeAll frees the entries of an endpoint in parts.
func TestFreeAll(t *testing.T) {
	x, _ := testIndex(1<<12, 3, maxCache)
	for i := range 300 {
		x.record(chain(i, 4), uint32(i%3), 512)
		x.record(chain(0, 4), uint32(i%3), 512)
	}
	before := x.used
	freed := x.caches[1].entries
	if freed < 300 {
		t.Fatalf("the endpoint has %d entries", freed)
	}
	calls := 0
	for first := 0; ; calls++ {
		if first = x.freeAll(1, first, 100); first == 0 {
			break
		}
	}
	if x.used != before-freed || x.caches[1].entries != 0 || calls < 3 {
		t.Errorf("%d entries remain of %d, %d of them the endpoint's, after %d calls", x.used, before, x.caches[1].entries, calls+1)
	}
	for i := range x.buckets {
		for _, e := range x.buckets[i] {
			if e.prefix != 0 && e.slot == 1 {
				t.Fatal("an entry of the endpoint remains")
			}
		}
	}
}
