package balance

import (
	"math"
	"math/bits"
)

// Bounds of the count of first steps.
const (
	// countedRequests is the number of requests after which counts are halved, so that they
	// show the recent traffic.
	countedRequests = 4096
	// leastCommon is the lowest count of a common prefix. It is higher than the number of
	// requests of one conversation, whose home has to remain the same.
	leastCommon = 32
	// leastShared is the lowest count of a shared prefix. It is low, so that replicas agree on
	// what is shared after few requests.
	leastShared = 5
	// countRows and countColumns are the dimensions of the sketch.
	countRows, countColumns = 4, 4096
)

// shares estimates the share of requests that have a prefix: a count-min sketch of fixed
// size.
type shares struct {
	counts   [countRows][countColumns]uint16
	requests int
}

// add counts a prefix, and returns the estimate of its count, which is never too low.
func (s *shares) add(prefix prefixHash) int {
	lowest := math.MaxInt
	for row := range s.counts {
		n := &s.counts[row][uint64(prefix)>>(12*row)%countColumns]
		if *n < math.MaxUint16 {
			*n++
		}
		lowest = min(lowest, int(*n))
	}
	return lowest
}

// distinct returns the shortest prefix of a prompt that distinguishes it from most requests,
// as its number of steps: fewer requests have it than one of n endpoints serves. It returns
// 0 if all prefixes are common: then the home would serve too many requests.
//
// distinct also reports whether the prefix is shared: leastShared of the recent requests had
// it, and also the prefix of at least half of the prompt. The length of the latter is a power
// of two of steps, so that prompts of similar lengths have the same one. The turns of a
// conversation grow, and so they are shared less often than a long system prompt.
//
// Replicas that get the same kind of traffic agree on both results, because their sketches
// have the same shares.
func (s *shares) distinct(prefixes []prefixHash, n int) (steps int, shared bool) {
	s.requests++
	if s.requests >= countedRequests {
		s.halve()
	}
	for i, prefix := range prefixes {
		if count := s.add(prefix); count < leastCommon || count*n < s.requests {
			if half := 1 << (bits.Len(uint(len(prefixes))) - 1); half > i+1 {
				count = min(count, s.add(prefixes[half-1]))
			}
			return i + 1, count >= leastShared
		}
	}
	return 0, false
}

func (s *shares) halve() {
	s.requests /= 2
	for row := range s.counts {
		for column := range s.counts[row] {
			s.counts[row][column] /= 2
		}
	}
}

// home returns the slot of the endpoint that a prefix belongs to by weighted rendezvous
// hashing: it depends on the names and weights of the candidates only. If a candidate is
// removed, only the prefixes that belonged to it move. For a shared prefix it also depends on
// [Balancer.steer]. b.eligible isn't empty.
func (b *Balancer) home(prefix prefixHash, shared bool) uint32 {
	best, highest := b.eligible[0], -1.0
	for _, slot := range b.eligible {
		e := &b.endpoints[slot]
		// The score is -weight/ln(u) for a random u in (0, 1). As -ln(u) >= 1-u, the logarithm
		// is computed only for the few endpoints that may have the highest score.
		rest := (float64(mix(uint64(prefix)^e.hash)>>11) + 0.5) / (1 << 53) // 1-u
		weight := e.weight
		if shared {
			weight *= e.factor
		}
		if weight < highest*rest {
			continue
		}
		if score := -weight / math.Log1p(-rest); score > highest {
			best, highest = slot, score
		}
	}
	return best
}
