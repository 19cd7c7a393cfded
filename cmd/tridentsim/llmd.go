package main

import (
	"container/list"
	"math/rand/v2"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Defaults of llm-d's endpoint picker (gateway-api-inference-extension pkg/epp).
const (
	// llmdScrape is --refresh-metrics-interval.
	llmdScrape = 50 * time.Millisecond
	// llmdBlock is the number of bytes of a block: 16 tokens of 4 characters (autoTune with
	// vLLM's block size).
	llmdBlock = 64
	// llmdMostBlocks is maxPrefixBlocksToMatch.
	llmdMostBlocks = 256
)

// llmdWeights are the weights of scorers.
type llmdWeights struct{ prefix, queue, usage float64 }

// llmd is llm-d's endpoint picker: it takes the endpoint with the highest sum of weighted
// scores, by the metrics of the last scrape, and a random one of equal ones.
type llmd struct {
	counts

	fleet   *fleet
	random  *rand.Rand
	weights llmdWeights
	// prefix returns the score of the prefix for each endpoint.
	prefix func(r *request) []float64
	index  []*llmdIndex // by endpoint, of the approximate scorer
	hashes []uint64     // of the current prompt
	scores []float64
}

// llmdIndex is the approximate scorer's record of one endpoint's blocks: a list of the least
// recently used ones, with as many blocks as the GPU has.
type llmdIndex struct {
	blocks map[uint64]*list.Element
	recent *list.List
	size   int
}

func newLLMD(f *fleet, frontend int) (rule, error) {
	return newApproximate(f, frontend, llmdWeights{prefix: 3, queue: 2, usage: 2}), nil
}

func newApproximate(f *fleet, frontend int, weights llmdWeights) *llmd {
	x := &llmd{counts: make(counts, len(f.servers)), fleet: f, random: f.newSource(frontend), weights: weights}
	x.scores = make([]float64, len(f.servers))
	x.prefix = x.approximate
	for _, s := range f.servers {
		x.index = append(x.index, &llmdIndex{blocks: map[uint64]*list.Element{}, recent: list.New(), size: s.cache.capacity / 16})
	}
	return x
}

func newLLMDPrecise(f *fleet, frontend int) (rule, error) {
	x := &llmd{counts: make(counts, len(f.servers)), fleet: f, random: f.newSource(frontend), weights: llmdWeights{prefix: 2, queue: 1, usage: 1}}
	x.scores = make([]float64, len(f.servers))
	x.prefix = x.precise
	return x, nil
}

// precise scores the share of the prompt that a server's cache has.
func (x *llmd) precise(r *request) []float64 {
	for e, s := range x.fleet.servers {
		_, tokens := s.cache.matched(r.parts)
		x.scores[e] = float64(tokens) / float64(r.prompt)
	}
	return x.scores
}

// approximate scores the share of the prompt's first 256 blocks that an endpoint was sent.
func (x *llmd) approximate(r *request) []float64 {
	x.hashes = llmdHashes(x.hashes[:0], r.text())
	clear(x.scores)
	alive := make([]bool, len(x.scores))
	for e := range alive {
		alive[e] = true
	}
	for _, hash := range x.hashes {
		found := false
		for e, index := range x.index {
			if alive[e] = alive[e] && index.blocks[hash] != nil; alive[e] {
				x.scores[e]++
				found = true
			}
		}
		if !found {
			break
		}
	}
	for e := range x.scores {
		x.scores[e] /= float64(max(len(x.hashes), 1))
	}
	return x.scores
}

// llmdHashes appends the chained hashes of a prompt's blocks.
func llmdHashes(hashes []uint64, text string) []uint64 {
	previous := uint64(0)
	for ; len(text) >= llmdBlock && len(hashes) < llmdMostBlocks; text = text[llmdBlock:] {
		previous = mix(previous) ^ xxhash.Sum64String(text[:llmdBlock])
		hashes = append(hashes, previous)
	}
	return hashes
}

func (x *llmd) choose(now time.Duration, r *request) (int, error) {
	e := x.pick(x.prefix(r), x.fleet.scrape(now))
	if x.index != nil {
		x.index[e].add(x.hashes)
	}
	x.counts[e]++
	return e, nil
}

// pick returns the endpoint with the highest score.
func (x *llmd) pick(prefix []float64, scraped []metrics) int {
	low, high := scraped[0].waiting, scraped[0].waiting
	for _, m := range scraped {
		low, high = min(low, m.waiting), max(high, m.waiting)
	}
	best, highest, equal := 0, -1.0, 0
	for e, m := range scraped {
		queue := 1.0
		if high > low {
			queue = float64(high-m.waiting) / float64(high-low)
		}
		score := x.weights.prefix*prefix[e] + x.weights.queue*queue + x.weights.usage*(1-m.usage)
		switch {
		case score > highest:
			best, highest, equal = e, score, 1
		case score == highest:
			equal++
			if x.random.IntN(equal) == 0 {
				best = e
			}
		}
	}
	return best
}

// add records blocks as the most recently used ones.
func (i *llmdIndex) add(hashes []uint64) {
	for _, hash := range hashes {
		if element := i.blocks[hash]; element != nil {
			i.recent.MoveToFront(element)
			continue
		}
		i.blocks[hash] = i.recent.PushFront(hash)
		if i.recent.Len() > i.size {
			oldest := i.recent.Back()
			if hash, ok := oldest.Value.(uint64); ok {
				delete(i.blocks, hash)
			}
			i.recent.Remove(oldest)
		}
	}
}

// scrape returns the servers' metrics, which are at most llmdScrape old.
func (f *fleet) scrape(now time.Duration) []metrics {
	if f.snapshot == nil || now-f.scraped >= llmdScrape {
		f.snapshot = f.snapshot[:0]
		for _, s := range f.servers {
			f.snapshot = append(f.snapshot, metrics{waiting: len(s.waiting), usage: s.usage()})
		}
		f.scraped = now - now%llmdScrape
	}
	return f.snapshot
}
