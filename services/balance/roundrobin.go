package balance

import "time"

// next returns the slot of the next endpoint by smooth weighted round robin. Each candidate
// earns its weight, and the one with the most credit is chosen and pays what all have earned.
// Thus the requests of a heavy endpoint are spread evenly over the time. b.eligible isn't
// empty.
func (b *Balancer) next(now time.Duration, among *Set) uint32 {
	best, earned := b.eligible[0], 0.0
	for _, slot := range b.eligible {
		capacity := b.endpoints[slot].capacity(now, b.config.SlowStart)
		earned += capacity
		among.credits[slot] += capacity
		if among.credits[slot] > among.credits[best] {
			best = slot
		}
	}
	among.credits[best] -= earned
	return best
}

// fewestTokens returns the slot of the endpoint that has the fewest tokens in relation to
// its weight, with those of the request. The first of several endpoints with the same load is
// random. b.eligible isn't empty.
func (b *Balancer) fewestTokens(now time.Duration, r *Request) uint32 {
	own := float64(r.tokens() + 1)
	first := b.random.IntN(len(b.eligible))
	best, lowest := b.eligible[first], 0.0
	for i := range b.eligible {
		slot := b.eligible[(first+i)%len(b.eligible)]
		e := &b.endpoints[slot]
		load := (float64(e.load.Tokens) + own) / e.capacity(now, b.config.SlowStart)
		if i == 0 || load < lowest {
			best, lowest = slot, load
		}
	}
	return best
}
