package inference

import (
	"context"
	"math"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Party is one of those whose requests are counted together before anything of them is
// known but where they come from: a client by the name of its key, or an address whose
// requests came without one.
type Party struct {
	Client  string
	Address netip.Addr // of a network, where an IPv6 host can have any address of it
}

// String is for logs and messages to operators.
func (p Party) String() string {
	switch {
	case p.Client != "":
		return "key " + p.Client
	case p.Address.IsValid():
		return "address " + p.Address.String()
	}
	return "no address"
}

// partyOf returns whose request a context is of.
func partyOf(ctx context.Context) Party {
	if client := ClientOf(ctx); client != nil {
		return Party{Client: client.Name}
	}
	return Party{Address: AddressIn(ctx)}
}

// AddressIn returns the address from which a context's request came; invalid where nobody
// has said it.
func AddressIn(ctx context.Context) netip.Addr {
	if origin, ok := ctx.Value(originKey{}).(*Origin); ok {
		return origin.Address
	}
	return netip.Addr{}
}

// networkBits of an IPv6 address are its network's; the others are the host's own choice,
// so that a host has as many addresses as it likes.
const networkBits = 64

// AddressOf returns the address by which a connection's peer is counted: an IPv4 address,
// or the /64 network of an IPv6 one. It is invalid for peers without an address, such as
// those of tests.
func AddressOf(peer net.Addr) netip.Addr {
	if tcp, ok := peer.(*net.TCPAddr); ok {
		address, _ := netip.AddrFromSlice(tcp.IP)
		return networkOf(address)
	}
	if peer == nil {
		return netip.Addr{}
	}
	return ParseAddress(peer.String())
}

// ParseAddress is [AddressOf] for an address written as host:port, such as that of an
// [net/http.Request].
func ParseAddress(hostPort string) netip.Addr {
	peer, err := netip.ParseAddrPort(hostPort)
	if err != nil {
		return netip.Addr{}
	}
	return networkOf(peer.Addr())
}

func networkOf(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if address.Is4() || address.IsLoopback() || !address.IsValid() {
		return address
	}
	network, _ := address.Prefix(networkBits) // of 128: can't fail
	return network.Addr()
}

// Holding is what the requests of a party hold now.
type Holding struct {
	Party Party
	// Bytes of bodies that are being read or served.
	Bytes int64
	// Reading are the requests that are being read or decoded, Decoding those among them
	// that have a decode slot, and Waiting those that wait for one.
	Reading, Decoding, Waiting int
}

// ledger counts what requests hold before and while they are served, by party. No party
// gets all there is: of the bytes and of the requests being read it may hold as much as
// would still be free then for the others, and of the decode slots half. A party's only
// request may take what there is. It may be used concurrently.
type ledger struct {
	mu       sync.Mutex
	limits   intakeLimits
	most     int64              // of bytes, beside the limits; 0 is no bound
	accounts map[Party]*account // of parties that hold something
	all      Holding
	ring     []*account // with requests that wait for a slot: the first one's turn is next
}

// intakeLimits bound what is held; 0 is no bound.
type intakeLimits struct {
	bytes             int64
	reading, decoding int
}

// account is what a party holds.
type account struct {
	Holding

	queue []*Arrival // that wait for a slot
}

func newLedger() *ledger { return &ledger{accounts: map[Party]*account{}} }

// set changes the limits. Whatever is held stays, and requests that wait get the slots
// that there are now.
func (l *ledger) set(limits intakeLimits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits = limits
	l.grant()
}

// limitBytes bounds the bytes that are held, beside the limits.
func (l *ledger) limitBytes(most int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.most = most
}

// bytes is the bound of the bytes that are held.
func (l *ledger) bytes() int64 {
	if l.most == 0 || l.limits.bytes > 0 && l.limits.bytes < l.most {
		return l.limits.bytes
	}
	return l.most
}

// holding is a party's now.
func (l *ledger) holding(p Party) Holding {
	l.mu.Lock()
	defer l.mu.Unlock()
	if acc := l.accounts[p]; acc != nil {
		return acc.Holding
	}
	return Holding{Party: p}
}

// holdings are those of all parties, the most bytes first, and their sum.
func (l *ledger) holdings() (each []Holding, all Holding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, acc := range l.accounts {
		each = append(each, acc.Holding)
	}
	slices.SortFunc(each, func(a, b Holding) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) })
	return each, l.all
}

// account is a party's, which must hold something before the lock is left, or be dropped.
func (l *ledger) account(p Party) *account {
	acc := l.accounts[p]
	if acc == nil {
		acc = &account{Holding: Holding{Party: p}}
		l.accounts[p] = acc
	}
	return acc
}

// drop forgets a party that holds nothing.
func (l *ledger) drop(acc *account) {
	if acc.Bytes == 0 && acc.Reading == 0 && acc.Decoding == 0 && acc.Waiting == 0 {
		delete(l.accounts, acc.Party)
	}
}

// The answers of fits.
type room uint8

const (
	roomy     room = iota
	shareFull      // the party's share is used up
	allFull
)

// fits reports whether a request that holds mine may take n more, where its party holds
// own, with mine, and all parties hold all. What alone is more than the limit is taken when
// nothing else is held.
func fits(limit, all, own, mine, n int64) room {
	free := limit - all - n
	switch {
	case limit == 0 || all == 0:
		return roomy
	case free < 0:
		return allFull
	case own > mine && own+n > free:
		return shareFull
	}
	return roomy
}

// slots is how many decode slots one party may have.
func (l *ledger) slots() int {
	if l.limits.decoding == 0 {
		return math.MaxInt
	}
	return max(1, l.limits.decoding/2)
}

// vacant reports whether there is a slot for a party.
func (l *ledger) vacant(acc *account) bool {
	return acc.Decoding < l.slots() && (l.limits.decoding == 0 || l.all.Decoding < l.limits.decoding)
}

// seat gives a request a slot.
func (l *ledger) seat(acc *account, a *Arrival) {
	a.slot = true
	acc.Decoding++
	l.all.Decoding++
}

// unseat takes it back, for those that wait.
func (l *ledger) unseat(a *Arrival) {
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

// enqueue has a request wait for a slot.
func (l *ledger) enqueue(acc *account, a *Arrival) {
	if len(acc.queue) == 0 {
		l.ring = append(l.ring, acc)
	}
	a.turn = make(chan struct{})
	acc.queue = append(acc.queue, a)
	acc.Waiting++
	l.all.Waiting++
}

// dequeue ends the waiting of a request.
func (l *ledger) dequeue(acc *account, a *Arrival) {
	at := slices.Index(acc.queue, a)
	acc.queue = slices.Delete(acc.queue, at, at+1)
	acc.Waiting--
	l.all.Waiting--
	if len(acc.queue) == 0 {
		at := slices.Index(l.ring, acc)
		l.ring = slices.Delete(l.ring, at, at+1)
	}
}

// grant gives the slots that are free to those that wait, one to each party in turn.
func (l *ledger) grant() {
	for i := 0; i < len(l.ring); {
		acc := l.ring[i]
		if !l.vacant(acc) {
			i++
			continue
		}
		a := acc.queue[0]
		l.dequeue(acc, a)
		if len(acc.queue) > 0 {
			l.ring = append(slices.Delete(l.ring, i, i+1), acc)
		}
		l.seat(acc, a)
		close(a.turn)
	}
}
