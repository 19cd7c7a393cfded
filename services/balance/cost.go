package balance

import "time"

// Terms of the cost, in prompt tokens. They were chosen by cmd/tridentsim, for the lowest 90th
// percentile of the time to the first token in all of its workloads.
const (
	// missingFactor is the cost of a prompt token that isn't in the endpoint's cache. It is more
	// than that of a token that waits there: computing it replaces another prefix, which is
	// computed again later. With a factor of 1, a short queue sends prompts to endpoints that
	// don't have them, which makes other queues longer, and at last all caches have the same.
	missingFactor = 2.5
	// streamTokens is the cost of a request that an endpoint serves: a stream slows down the
	// steps in which an endpoint computes prompts, and takes space of its cache.
	streamTokens = 384
	// homeShare is the share of a prompt that its home is assumed to have, if no endpoint is
	// known to have it: another replica may have sent its earlier turns there.
	homeShare = 0.6
	// sharedFactor is the reduction of the cost of the home of a shared prefix, for each token of the
	// prompt up to sharedTokens. The home is also assumed to have all of the prompt. Replicas don't
	// know where the others send a prefix. Without a common home they compute it at several
	// endpoints, whose caches have no space for that.
	sharedFactor = 2
	sharedTokens = 4000
)

// plan is the lowest cost of the candidates that were considered.
type plan struct {
	choice

	now      time.Duration
	request  *Request
	prefixes []prefixHash
	cost     float64
	found    bool // a candidate was considered

	preference float64 // reduction of the current candidate's cost
}

// lowestCost chooses one of the candidates: the endpoints that are known to have a prefix of
// the prompt, the home of the prompt, and two at
// random. b.eligible isn't empty.
func (b *Balancer) lowestCost(p *plan, among *Set) choice {
	b.index.find(p.prefixes, &b.matches)
	longest := 0
	for _, slot := range b.matches.seen {
		if b.isEligible(slot, p.request, among) {
			longest = max(longest, b.consider(p, slot, ByPrefix, 0))
		}
	}
	b.considerHome(p, longest)
	first := b.random.IntN(len(b.eligible))
	b.consider(p, b.eligible[first], ByLoad, 0)
	if others := len(b.eligible) - 1; others > 0 {
		second := (first + 1 + b.random.IntN(others)) % len(b.eligible)
		b.consider(p, b.eligible[second], ByLoad, 0)
	}
	return p.choice
}

// considerHome considers the home of the prompt, of which an endpoint is known to have the
// longest prefix.
func (b *Balancer) considerHome(p *plan, longest int) {
	b.steer(p.now)
	steps, shared := b.shares.distinct(p.prefixes, len(b.eligible))
	if steps == 0 {
		return
	}
	assumed := 0.0
	switch {
	case shared:
		assumed = 1
		p.preference = sharedFactor * float64(min(p.request.promptTokens(), sharedTokens))
	case longest < steps:
		assumed = homeShare
	}
	b.consider(p, b.home(p.prefixes[steps-1], shared), ByHome, assumed)
	p.preference = 0
}

// consider takes a candidate if its cost is lower than that of the other candidates. assumed
// is the share of the missing part of the prompt that it may have all the same. consider
// returns the number of steps that the candidate is known to have.
func (b *Balancer) consider(p *plan, slot uint32, reason Reason, assumed float64) int {
	e := &b.endpoints[slot]
	depth := b.index.depth(p.prefixes, &b.matches, slot)
	cached := p.request.tokensOf(depth)
	missing := float64(p.request.promptTokens()-cached) * (1 - assumed) * missingFactor
	load := float64(e.load.Waiting + streamTokens*e.load.Requests)
	cost := (load + missing + 1 - p.preference) / e.capacity(p.now, b.config.SlowStart)
	if !p.found || cost < p.cost {
		p.choice, p.cost, p.found = choice{slot: slot, cached: cached, reason: reason}, cost, true
	}
	return depth
}
