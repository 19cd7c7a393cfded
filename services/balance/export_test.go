package balance

import "time"

// Load returns the load of an endpoint, and the share of its weight that it has at the given
// time: less than 1 in a slow start, and 0 for an endpoint that is ejected or removed.
func (b *Balancer) Load(e Endpoint, now time.Duration) (workload, float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := b.state(e)
	if state == nil {
		return workload{}, 0
	}
	if state.ejected {
		return state.load, 0
	}
	return state.load, state.capacity(now, b.config.SlowStart) / state.weight
}

// Entries returns the number of entries that the index of prefixes has, and the maximum.
// Both are 0 for policies without an index.
func (b *Balancer) Entries() (used, capacity int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.index == nil {
		return 0, 0
	}
	return b.index.used, b.index.capacity()
}
