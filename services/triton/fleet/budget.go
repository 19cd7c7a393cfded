package fleet

import (
	"sync"
	"time"
)

// The budget of repeats: a share of the requests of the last seconds, and a minimum for servers
// with few requests.
const (
	budgetSeconds = 10
	budgetShare   = 0.2
	budgetLeast   = 64
)

// budget limits the repeats of requests. Its methods may be called concurrently.
type budget struct {
	mu      sync.Mutex
	seconds [budgetSeconds]spending
}

// spending has the counts of one second.
type spending struct {
	at                int64 // Unix time; the counts of another second are void
	requests, repeats int
}

// slot returns the counts of the current second. The caller must hold the mutex.
func (b *budget) slot(now time.Time) *spending {
	s := &b.seconds[now.Unix()%budgetSeconds]
	if s.at != now.Unix() {
		*s = spending{at: now.Unix()}
	}
	return s
}

// request counts a request.
func (b *budget) request(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slot(now).requests++
}

// take counts a repeat and reports whether the budget allows it. A repeat that isn't allowed isn't
// counted.
func (b *budget) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	requests, repeats := 0, 0
	for _, s := range b.seconds {
		if now.Unix()-s.at < budgetSeconds {
			requests, repeats = requests+s.requests, repeats+s.repeats
		}
	}
	if repeats >= max(budgetLeast, int(budgetShare*float64(requests))) {
		return false
	}
	b.slot(now).repeats++
	return true
}
