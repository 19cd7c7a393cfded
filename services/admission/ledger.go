package admission

import (
	"context"
	"math"
	"net/netip"
	"slices"
	"sync"

	"github.com/trident-inference/trident/services/inference"
)

// Party is the unit of fairness before a request is read: the name of a key, or the address
// of requests without a key.
type Party struct {
	Client  string
	Address netip.Addr // IPv4 address, or the first address of an IPv6 /64 network
}

// String returns the name of the key or the address, as logs show it.
func (p Party) String() string {
	switch {
	case p.Client != "":
		return "key " + p.Client
	case p.Address.IsValid():
		return "address " + p.Address.String()
	}
	return "no address"
}

// partyOf returns the client whose limits apply to a context's request: its API key, or its address
// without a key.
func partyOf(ctx context.Context) Party {
	if client := inference.ClientOf(ctx); client != nil {
		return Party{Client: client.Name}
	}
	return Party{Address: inference.AddressIn(ctx)}
}

// Holding is the memory and the number of requests that a party currently holds.
type Holding struct {
	Party Party
	// Bytes is the memory of the bodies of requests that are being read or served.
	Bytes int64
	// Reading is the number of requests that are being read or decoded. Decoding is the number
	// of these that have a decode slot, and Waiting the number that wait for one.
	Reading, Decoding, Waiting int
}

// ledger records the memory and the decode slots of requests that are being read or served, by
// client (Party). A party may hold no more bytes, and no more requests that are being read, than
// remain free for the other parties. A party may have half of the decode slots. The only request of
// a party may take all that is free. A ledger may be used concurrently.
type ledger struct {
	mu         sync.Mutex
	limits     intakeLimits
	most       int64              // maximum of all parties' bytes in addition to limits.bytes; 0 is no maximum
	accounts   map[Party]*account // accounts of the parties that hold something, keyed by party
	all        Holding
	roundRobin []*account // parties that wait for slots, in round-robin order
}

// intakeLimits are the bounds of all parties together. A bound of 0 means no bound.
type intakeLimits struct {
	bytes             int64
	reading, decoding int
}

// account has the memory and the number of requests of one party, and the queue of its requests
// that wait for a decode slot.
type account struct {
	Holding

	queue []*Arrival // requests that wait for a slot
}

func newLedger() *ledger { return &ledger{accounts: map[Party]*account{}} }

// set changes the limits. Requests keep what they hold, and waiting requests get new slots.
func (l *ledger) set(limits intakeLimits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits = limits
	l.grant()
}

// limitBytes sets a further bound of bytes. The smaller bound applies.
func (l *ledger) limitBytes(most int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.most = most
}

// bytes returns the bound of bytes that applies.
func (l *ledger) bytes() int64 {
	if l.most == 0 || l.limits.bytes > 0 && l.limits.bytes < l.most {
		return l.limits.bytes
	}
	return l.most
}

// holding returns the memory and the number of requests that a party holds.
func (l *ledger) holding(p Party) Holding {
	l.mu.Lock()
	defer l.mu.Unlock()
	if acc := l.accounts[p]; acc != nil {
		return acc.Holding
	}
	return Holding{Party: p}
}

// holdings returns the memory and the number of requests that each party holds, sorted by bytes in
// descending order, and the sum.
func (l *ledger) holdings() (each []Holding, all Holding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, acc := range l.accounts {
		each = append(each, acc.Holding)
	}
	slices.SortFunc(each, func(a, b Holding) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) })
	return each, l.all
}

// account returns the account of a party and creates it if it is missing. The caller must
// call drop unless the party holds something when the lock is released.
func (l *ledger) account(p Party) *account {
	acc := l.accounts[p]
	if acc == nil {
		acc = &account{Holding: Holding{Party: p}}
		l.accounts[p] = acc
	}
	return acc
}

// drop removes the account of a party that holds nothing.
func (l *ledger) drop(acc *account) {
	if acc.Bytes == 0 && acc.Reading == 0 && acc.Decoding == 0 && acc.Waiting == 0 {
		delete(l.accounts, acc.Party)
	}
}

// fitResult is the result of fits: whether an arrival gets what it needs, or the reason why it
// doesn't.
type fitResult uint8

const (
	fitsBoth  fitResult = iota
	shareFull           // the party's share is used up
	allFull
)

// fits reports whether a request may take n more. The request holds mine, its party own, of
// which mine is a part, and all parties hold all. A request above the limit fits when
// nothing else is held.
func fits(limit, all, own, mine, n int64) fitResult {
	free := limit - all - n
	switch {
	case limit == 0 || all == 0:
		return fitsBoth
	case free < 0:
		return allFull
	case own > mine && own+n > free:
		return shareFull
	}
	return fitsBoth
}

// slots returns the number of decode slots that one party may have.
func (l *ledger) slots() int {
	if l.limits.decoding == 0 {
		return math.MaxInt
	}
	return max(1, l.limits.decoding/2)
}

// hasSlot reports whether there is a slot for a party.
func (l *ledger) hasSlot(acc *account) bool {
	return acc.Decoding < l.slots() && (l.limits.decoding == 0 || l.all.Decoding < l.limits.decoding)
}

// assignSlot assigns a slot to a request.
func (l *ledger) assignSlot(acc *account, a *Arrival) {
	a.slot = true
	acc.Decoding++
	l.all.Decoding++
}

// releaseSlot releases the slot of a request and grants it to a waiting one.
func (l *ledger) releaseSlot(a *Arrival) {
	if !a.slot {
		return
	}
	a.slot = false
	acc := l.accounts[a.party]
	acc.Decoding--
	l.all.Decoding--
	l.grant()
	l.drop(acc)
}

// enqueue adds a request to the queue of its party.
func (l *ledger) enqueue(acc *account, a *Arrival) {
	if len(acc.queue) == 0 {
		l.roundRobin = append(l.roundRobin, acc)
	}
	a.turn = make(chan struct{})
	acc.queue = append(acc.queue, a)
	acc.Waiting++
	l.all.Waiting++
}

// dequeue removes a request from the queue of its party.
func (l *ledger) dequeue(acc *account, a *Arrival) {
	at := slices.Index(acc.queue, a)
	acc.queue = slices.Delete(acc.queue, at, at+1)
	acc.Waiting--
	l.all.Waiting--
	if len(acc.queue) == 0 {
		at := slices.Index(l.roundRobin, acc)
		l.roundRobin = slices.Delete(l.roundRobin, at, at+1)
	}
}

// grant assigns free slots to waiting requests, to the parties in turn (round robin).
func (l *ledger) grant() {
	for i := 0; i < len(l.roundRobin); {
		acc := l.roundRobin[i]
		if !l.hasSlot(acc) {
			i++
			continue
		}
		a := acc.queue[0]
		l.dequeue(acc, a)
		if len(acc.queue) > 0 {
			l.roundRobin = append(slices.Delete(l.roundRobin, i, i+1), acc)
		}
		l.assignSlot(acc, a)
		close(a.turn)
	}
}
