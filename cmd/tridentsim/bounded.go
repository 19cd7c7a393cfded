package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Defaults of KubeAI's PrefixHash: prefixCharLength, replication and meanLoadFactor.
const (
	boundedChars    = 100
	boundedReplicas = 256
	boundedLoad     = 1.25
)

// boundedHash is consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam,
// 2018): a prompt goes to the first endpoint on the ring that has less than 1.25 times the
// mean load with it.
type boundedHash struct {
	counts

	ring  []ringPoint
	total int
}

type ringPoint struct {
	hash     uint64
	endpoint int
}

func newBoundedHash(f *fleet, _ int) (rule, error) {
	x := &boundedHash{counts: make(counts, len(f.servers))}
	for e := range f.servers {
		for replica := range boundedReplicas {
			x.ring = append(x.ring, ringPoint{xxhash.Sum64String(fmt.Sprintf("endpoint-%d-%d", e, replica)), e})
		}
	}
	slices.SortFunc(x.ring, func(a, b ringPoint) int { return cmp.Compare(a.hash, b.hash) })
	return x, nil
}

func (x *boundedHash) choose(_ time.Duration, r *request) (int, error) {
	text := r.text()
	e := x.place(xxhash.Sum64String(text[:min(len(text), boundedChars)]))
	x.counts[e]++
	x.total++
	return e, nil
}

// place returns the endpoint for a hash.
func (x *boundedHash) place(hash uint64) int {
	first, _ := slices.BinarySearchFunc(x.ring, hash, func(p ringPoint, hash uint64) int { return cmp.Compare(p.hash, hash) })
	limit := boundedLoad * float64(x.total+1) / float64(len(x.counts))
	for i := range x.ring {
		e := x.ring[(first+i)%len(x.ring)].endpoint
		if float64(x.counts[e]+1) <= limit || x.counts[e] == 0 {
			return e
		}
	}
	return x.ring[first%len(x.ring)].endpoint
}

func (x *boundedHash) ended(r *request) {
	x.counts.ended(r)
	x.total--
}
