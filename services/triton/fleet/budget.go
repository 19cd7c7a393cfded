package fleet

import (
	"sync"
	"time"
)

// The budget of repeats: a share of the requests of the last seconds, and a minimum for servers
// with few requests.
const (
	budgetShare = 0.2
	budgetLeast = 64
)

// Counts of the budget's window.
const (
	requestsMade = iota
	repeatsMade
)

// budget limits the repeats of requests. Its methods may be called concurrently.
type budget struct {
	mu     sync.Mutex
	counts window
}

// request counts a request.
func (b *budget) request(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts.add(requestsMade, now)
}

// take counts a repeat and reports whether the budget allows it. A repeat that isn't allowed isn't
// counted.
func (b *budget) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	requests, repeats := b.counts.sum(now)
	if repeats >= max(budgetLeast, int(budgetShare*float64(requests))) {
		return false
	}
	b.counts.add(repeatsMade, now)
	return true
}
