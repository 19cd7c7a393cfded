package balance

import "math/bits"

// Sizes of the index.
const (
	// DefaultIndexEntries is the default number of entries of the index of prefixes, of 16
	// bytes each.
	DefaultIndexEntries = 1 << 20
	// MaxIndexEntries is the maximum number of entries of the index of prefixes.
	MaxIndexEntries = 1 << 28
	// bucketEntries is the number of entries of a bucket, which has 128 bytes: two cache
	// lines.
	bucketEntries = 8
	// mostListed is the maximum number of endpoints that are listed with a prefix. Further
	// endpoints that have it are found only by asking for one of them.
	mostListed = 4
	// mostGaps is the number of consecutive prefixes without an endpoint after which no
	// longer prefix is looked up. A gap is an entry that others have replaced.
	mostGaps = 4
	// mostSeen is the maximum number of endpoints that are found for a request.
	mostSeen = 32
	// maxCache is the maximum size of a cache.
	maxCache = 1 << 31
)

// An entry says that an endpoint got a prompt with a prefix. An entry without a prefix is
// free.
type entry struct {
	prefix prefixHash
	slot   uint32
	stamp  uint32 // the endpoint's cache.written when the prefix was last used
}

// bucket has entries in no order.
type bucket [bucketEntries]entry

// cache is the state of an endpoint's prefix cache, as far as it is known.
type cache struct {
	written uint32 // tokens that were written to the cache; it overflows
	size    uint32 // age at which a prefix was replaced, in tokens written
	entries int    // number of the endpoint's entries
}

// cacheSize returns the age at which a prefix was replaced in a cache of so many tokens, or of
// the default size if it is 0. It is half of the tokens: running requests occupy a part of the
// cache, and prefixes that are used again replace others without being written.
func cacheSize(tokens int) uint32 {
	if tokens == 0 {
		tokens = DefaultCacheTokens
	}
	return uint32(min(tokens/2+1, maxCache))
}

// index has the prefixes that endpoints got, in a fixed number of entries. It is a hash
// table of buckets. An entry that doesn't fit into its bucket replaces the one that was
// unused for longest.
//
// The entry of a prefix and an endpoint is in the bucket of the prefix, so that one look-up
// lists the endpoints that have the prefix. A bucket lists at most mostListed of them. Other
// endpoints' entries of a common prefix are in the bucket of the prefix and the endpoint.
type index struct {
	buckets []bucket
	shift   uint
	caches  []cache // by slot
	used    int     // number of entries that aren't free
	// places are the positions in the buckets at which find saw the prefixes of its last request,
	// by step. record tries them first.
	places  [mostSteps]uint8
	touched uint64 // result of touch, so that the compiler keeps its reads
}

// newIndex returns an index with at least the given number of entries, rounded up to a power
// of two.
func newIndex(entries int) *index {
	log := bits.Len(uint(max(entries-1, bucketEntries)) / bucketEntries)
	return &index{buckets: make([]bucket, 1<<log), shift: uint(64 - log)}
}

// capacity returns the maximum number of entries.
func (x *index) capacity() int { return len(x.buckets) * bucketEntries }

// list returns the bucket that lists a prefix.
func (x *index) list(prefix prefixHash) *bucket {
	return &x.buckets[uint64(prefix)>>x.shift]
}

// other returns the bucket for the entry of a prefix and an endpoint that isn't listed.
func (x *index) other(prefix prefixHash, slot uint32) *bucket {
	return &x.buckets[mix(uint64(prefix)^(uint64(slot)+1)*0x9e3779b97f4a7c15)>>x.shift]
}

// age returns the number of tokens that were written to the endpoint's cache since the entry
// was used.
func (x *index) age(e *entry) uint32 { return x.caches[e.slot].written - e.stamp }

// current reports whether an entry's prefix should still be in the endpoint's cache.
func (x *index) current(e *entry) bool { return x.age(e) <= x.caches[e.slot].size }

// has reports whether the bucket has a current entry of a prefix and an endpoint.
func (x *index) has(b *bucket, prefix prefixHash, slot uint32) bool {
	for i := range b {
		if b[i].prefix == prefix && b[i].slot == slot {
			return x.current(&b[i])
		}
	}
	return false
}

// record records that an endpoint has the prefixes, and that tokens were written to its cache.
func (x *index) record(prefixes []prefixHash, slot uint32, tokens int) {
	x.caches[slot].written += uint32(tokens)
	for step, prefix := range prefixes {
		b := x.list(prefix)
		if e := &b[x.places[step]%bucketEntries]; e.prefix == prefix && e.slot == slot {
			e.stamp = x.caches[slot].written
			continue
		}
		listed := 0
		found := false
		for i := range b {
			if b[i].prefix != prefix {
				continue
			}
			if b[i].slot == slot {
				b[i].stamp = x.caches[slot].written
				found = true
				break
			}
			if x.current(&b[i]) {
				listed++
			}
		}
		if found {
			continue
		}
		if listed >= mostListed {
			b = x.other(prefix, slot)
		}
		x.put(b, prefix, slot)
	}
}

// put sets the entry of a prefix and an endpoint in a bucket. It takes the entry that both
// have, a free entry, or the entry that was unused for longest.
func (x *index) put(b *bucket, prefix prefixHash, slot uint32) {
	victim, oldest := 0, -1.0
	for i := range b {
		e := &b[i]
		if e.prefix == 0 || e.prefix == prefix && e.slot == slot {
			victim = i
			break
		}
		if age := float64(x.age(e)) / float64(x.caches[e.slot].size); age > oldest {
			victim, oldest = i, age
		}
	}
	x.free(&b[victim])
	b[victim] = entry{prefix: prefix, slot: slot, stamp: x.caches[slot].written}
	x.caches[slot].entries++
	x.used++
}

// free frees an entry, which may be free.
func (x *index) free(e *entry) {
	if e.prefix != 0 {
		x.caches[e.slot].entries--
		x.used--
		*e = entry{}
	}
}

// freeAll frees the entries of an endpoint in the buckets from first on, at most n buckets.
// It returns the first bucket that remains, or 0 if none does.
func (x *index) freeAll(slot uint32, first, n int) int {
	end := min(first+n, len(x.buckets))
	for i := first; i < end && x.caches[slot].entries > 0; i++ {
		b := &x.buckets[i]
		for j := range b {
			if b[j].prefix != 0 && b[j].slot == slot {
				x.free(&b[j])
			}
		}
	}
	if end == len(x.buckets) || x.caches[slot].entries == 0 {
		return 0
	}
	return end
}

// matches has what the index knows of a request's prefixes. It is reused.
type matches struct {
	depths []uint32 // by slot: the number of steps that a listed endpoint has; 0 for others
	seen   []uint32 // the slots with a depth
	common int      // number of steps that have as many endpoints as a list has
}

// find sets m to the endpoints that are listed with prefixes of a prompt. Prefixes that
// several endpoints have may be found with further endpoints by [index.depth].
func (x *index) find(prefixes []prefixHash, m *matches) {
	for _, slot := range m.seen {
		m.depths[slot] = 0
	}
	m.seen, m.common = m.seen[:0], 0
	x.touch(prefixes)
	gaps := 0
	for step, prefix := range prefixes {
		listed := 0
		b := x.list(prefix)
		for i := range b {
			if e := &b[i]; e.prefix == prefix && x.current(e) {
				listed++
				x.places[step] = uint8(i)
				m.see(e.slot, uint32(step+1))
			}
		}
		if listed >= mostListed {
			m.common = step + 1
		}
		gaps++
		if listed > 0 {
			gaps = 0
		}
		if gaps == mostGaps {
			return
		}
	}
}

// touch reads the buckets of prefixes, so that they are in the CPU's cache when find and record
// need them. Its reads don't depend on each other, so that the CPU does several of them at a time.
// With the places of find it halves the time of a decision for 200 steps.
func (x *index) touch(prefixes []prefixHash) {
	sum := uint64(0)
	for _, prefix := range prefixes {
		b := x.list(prefix)
		sum += uint64(b[0].stamp) + uint64(b[bucketEntries-1].stamp)
	}
	x.touched = sum
}

// see sets the depth of an endpoint. If too many endpoints are seen, it replaces the last
// one, so that the endpoints with the longest prefixes remain.
func (m *matches) see(slot, depth uint32) {
	if m.depths[slot] == 0 {
		if len(m.seen) == mostSeen {
			m.depths[m.seen[mostSeen-1]] = 0
			m.seen = m.seen[:mostSeen-1]
		}
		m.seen = append(m.seen, slot)
	}
	m.depths[slot] = depth
}

// depth returns the number of steps of a prompt that an endpoint has. It searches prefixes
// that many endpoints have by bisection, as an endpoint has the shorter prefixes too.
func (x *index) depth(prefixes []prefixHash, m *matches, slot uint32) int {
	low, high := int(m.depths[slot]), m.common
	for low < high {
		middle := (low + high + 1) / 2
		prefix := prefixes[middle-1]
		if x.has(x.other(prefix, slot), prefix, slot) || x.has(x.list(prefix), prefix, slot) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}
