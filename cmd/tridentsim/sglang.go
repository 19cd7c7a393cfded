package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Defaults of sglang-router 0.3.2 (router_args.py).
const (
	sglangCacheThreshold = 0.3
	sglangAbsThreshold   = 64
	sglangRelThreshold   = 1.5
	sglangEviction       = 60 * time.Second
	sglangTreeSize       = 1 << 26 // characters of an endpoint
)

// sglang is SGLang's cache-aware policy: with an even load it takes an endpoint that has the
// longest prefix, if that is more than 0.3 of the prompt, and else the endpoint with the
// smallest tree. With an uneven load it takes the endpoint with the fewest requests.
//
// Its tree is one of parts of prompts instead of characters: prompts of the simulation differ
// at the beginning of parts only.
type sglang struct {
	counts

	random  *rand.Rand
	nodes   map[uint64]*treeNode
	sizes   []int // characters by endpoint
	evicted time.Duration
}

// treeNode is a part of a prompt, with the endpoints that got it and when.
type treeNode struct {
	used  map[int]time.Duration
	chars int
	depth int
}

func newSGLang(f *fleet, frontend int) (rule, error) {
	return &sglang{
		counts: make(counts, len(f.servers)), random: f.newSource(frontend),
		nodes: map[uint64]*treeNode{}, sizes: make([]int, len(f.servers)),
	}, nil
}

func (x *sglang) choose(now time.Duration, r *request) (int, error) {
	if now-x.evicted >= sglangEviction {
		x.evicted = now
		x.evict()
	}
	e := x.pick(now, r)
	x.insert(now, r, e)
	x.counts[e]++
	return e, nil
}

func (x *sglang) pick(now time.Duration, r *request) int {
	low, high := slices.Min(x.counts), slices.Max(x.counts)
	if high-low > sglangAbsThreshold && float64(high) > float64(low)*sglangRelThreshold {
		return slices.Index(x.counts, low)
	}
	var last *treeNode
	matched := 0
	for _, p := range r.parts {
		node := x.nodes[p.key]
		if node == nil {
			break
		}
		last = node
		matched += p.tokens
	}
	if last != nil && float64(matched) > sglangCacheThreshold*float64(r.prompt) {
		// The policy takes the first of a hash map's keys.
		var tenants []int
		for e := range last.used {
			tenants = append(tenants, e)
		}
		slices.Sort(tenants)
		e := tenants[x.random.IntN(len(tenants))]
		last.used[e] = now
		return e
	}
	return slices.Index(x.sizes, slices.Min(x.sizes))
}

func (x *sglang) insert(now time.Duration, r *request, e int) {
	for i, p := range r.parts {
		node := x.nodes[p.key]
		if node == nil {
			node = &treeNode{used: map[int]time.Duration{}, chars: p.tokens * tokenBytes, depth: i}
			x.nodes[p.key] = node
		}
		if _, ok := node.used[e]; !ok {
			x.sizes[e] += node.chars
		}
		node.used[e] = now
	}
}

// evict removes an endpoint from the nodes that it used least recently, leaves first, until its
// tree fits.
func (x *sglang) evict() {
	type use struct {
		key  uint64
		node *treeNode
	}
	for e := range x.sizes {
		if x.sizes[e] <= sglangTreeSize {
			continue
		}
		var uses []use
		for key, node := range x.nodes {
			if _, ok := node.used[e]; ok {
				uses = append(uses, use{key, node})
			}
		}
		slices.SortFunc(uses, func(a, b use) int {
			if d := a.node.used[e] - b.node.used[e]; d != 0 {
				return int(d)
			}
			if a.node.depth != b.node.depth {
				return b.node.depth - a.node.depth
			}
			return int(int64(a.key>>1) - int64(b.key>>1))
		})
		for _, u := range uses {
			if x.sizes[e] <= sglangTreeSize {
				break
			}
			x.sizes[e] -= u.node.chars
			delete(u.node.used, e)
			if len(u.node.used) == 0 {
				delete(x.nodes, u.key)
			}
		}
	}
}
