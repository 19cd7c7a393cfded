package inference

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Arrival is a request on its way in, from when its client is known until its handler has
// ended. It is the context below which the request is read and served, and holds what the
// request takes meanwhile. The steps, in their order: Admit, before anything of the body is
// read; Take, for the bytes that are read; Decode, for a decode slot, before they are
// decoded; then the service takes the request, which ends its decoding. Leave ends all.
// Methods may be used concurrently; on a nil Arrival they do nothing.
type Arrival struct {
	context.Context //nolint:containedctx // it is one

	service *Service
	party   Party

	// Guarded by the ledger's lock.
	bytes     int64
	reading   bool // it is counted among those that are being read
	slot      bool // it has a decode slot
	waits     bool // for its client to send more, with the slot
	admitted  bool // it has been let in, and has spent its rates
	left      bool
	turn      chan struct{} // closed when it has got a slot that it waited for
	impatient *time.Timer   // ends the waiting with the slot; nil before the first time
}

type arrivalKey struct{}

// Value finds the arrival itself, too.
func (a *Arrival) Value(key any) any {
	if _, own := key.(arrivalKey); own {
		return a
	}
	return a.Context.Value(key)
}

// ArrivalOf returns the arrival of a context's request; nil for none.
func ArrivalOf(ctx context.Context) *Arrival {
	a, _ := ctx.Value(arrivalKey{}).(*Arrival)
	return a
}

// Arrive begins to follow a request whose client is known, if it has one. Leave must be
// called when nothing reads or serves the request any more.
func (s *Service) Arrive(ctx context.Context) *Arrival {
	return &Arrival{Context: ctx, service: s, party: partyOf(ctx)}
}

// Guard refuses requests of a party by what it holds, before anything of them is read, and by
// what it would hold with the bytes that are about to be read: when the server is short of
// something. Its error is nil or [*Error]. It must be fast, and may
// be called concurrently.
type Guard func(held Holding) error

// LimitBodies bounds the bytes that the bodies of all requests hold together, beside
// [Bounds.BodyBytes]: the smaller bound is in force. 0 is no bound.
func (s *Service) LimitBodies(bytes int64) { s.ledger.limitBytes(bytes) }

// SetGuard has requests that run models or tokenizers pass a guard, from now on. Nil is
// none.
func (s *Service) SetGuard(guard Guard) { s.guard.Store(&guard) }

// Holdings returns what each party's requests hold now, the most bytes first, and what all
// hold together.
func (s *Service) Holdings() (each []Holding, all Holding) { return s.ledger.holdings() }

// Admit refuses a request that would be refused whatever it asks for, by the limits of its
// client or of the server, and spends their rates. The service counts no rate of theirs
// again for this arrival. Once let in, a request is let in again. Below an arrival that has
// been let in, such as that of a stream's call, the first one takes that over.
func (a *Arrival) Admit() error {
	if a == nil || a.spent() || a.succeed() {
		return nil
	}
	s := a.service
	if why, err := s.admission.arrive(a.Context, time.Now()); err != nil {
		return s.turnAway(why, err)
	}
	if err := s.guarded(a.party, 0); err != nil {
		return err
	}
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	a.admitted = true
	return nil
}

// guarded asks the guard about a party whose request is about to hold so many bytes more.
func (s *Service) guarded(party Party, more int64) error {
	guard := s.guard.Load()
	if guard == nil || *guard == nil {
		return nil
	}
	held := s.ledger.holding(party)
	held.Bytes += more
	if err := (*guard)(held); err != nil {
		return s.turnAway(refusedLoad, err)
	}
	return nil
}

// spent reports whether the request has been let in.
func (a *Arrival) spent() bool {
	a.service.ledger.mu.Lock()
	defer a.service.ledger.mu.Unlock()
	return a.admitted
}

// succeed takes over that the arrival above has been let in, if it has.
func (a *Arrival) succeed() bool {
	above := ArrivalOf(a.Context)
	if above == nil {
		return false
	}
	a.service.ledger.mu.Lock()
	defer a.service.ledger.mu.Unlock()
	a.admitted, above.admitted = above.admitted, false
	return a.admitted
}

// enter ends the decoding of a request that the service takes, and reports whether it has
// spent its rates.
func (a *Arrival) enter() (spent bool) {
	if a == nil {
		return false
	}
	a.service.ledger.mu.Lock()
	defer a.service.ledger.mu.Unlock()
	a.decoded()
	return a.admitted
}

// refusal is why a request was refused before it was read.
type refusal uint8

const (
	refusedFull refusal = iota
	refusedRate
	refusedStopping
	refusedLoad
	refusedReading
	refusedBytes
	refusals
)

// String is the value of the label of metrics.
func (r refusal) String() string {
	return [...]string{"full", "rate", "stopping", "load", "reading", "body_bytes"}[r]
}

// Refusals gives how often each reason had requests refused before they were read.
func (s *Service) Refusals() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for why := range s.early {
			if !yield(refusal(why).String(), s.early[why].Load()) {
				return
			}
		}
	}
}

// turnAway counts a request that is refused before it is read.
func (s *Service) turnAway(why refusal, err error) error {
	s.early[why].Add(1)
	s.refused[outcomeOf(err)].Add(1)
	return err
}

// Take counts bytes of the body that are about to be read, until Leave. Without room for
// them, or for one more request that is being read, it is [CodeOverloaded].
func (a *Arrival) Take(bytes int64) error {
	if a == nil {
		return nil
	}
	l := a.service.ledger
	if err := a.service.guarded(a.party, bytes); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.left {
		return errLeft
	}
	acc := l.account(a.party)
	defer l.drop(acc)
	begins := !a.reading && a.bytes == 0
	if begins && fits(int64(l.limits.reading), int64(l.all.Reading), int64(acc.Reading), 0, 1) != roomy {
		return a.service.turnAway(refusedReading, errReading(l.all.Reading, acc.Reading))
	}
	if room := fits(l.bytes(), l.all.Bytes, acc.Bytes, a.bytes, bytes); room != roomy {
		return a.service.turnAway(refusedBytes, errBytes(room))
	}
	if begins {
		a.reading = true
		acc.Reading++
		l.all.Reading++
	}
	a.bytes += bytes
	acc.Bytes += bytes
	l.all.Bytes += bytes
	return nil
}

// Weigh counts the request as one of so many bytes at least: what has been compressed holds
// more than the bytes that were read of it. The error is Take's.
func (a *Arrival) Weigh(bytes int64) error {
	if a == nil {
		return nil
	}
	l := a.service.ledger
	l.mu.Lock()
	more := bytes - a.bytes
	l.mu.Unlock()
	if more <= 0 {
		return nil
	}
	return a.Take(more)
}

// Return gives bytes back that the request doesn't hold any more.
func (a *Arrival) Return(bytes int64) {
	if a == nil {
		return
	}
	l := a.service.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	bytes = min(bytes, a.bytes)
	acc := l.account(a.party)
	a.bytes -= bytes
	acc.Bytes -= bytes
	l.all.Bytes -= bytes
	l.drop(acc)
}

// errLeft is the error of who still reads a request that has ended.
var errLeft = &Error{Code: CodeCanceled, Message: "the request has ended"}

func errBytes(of room) *Error {
	e := &Error{
		Code: CodeOverloaded, Reason: ReasonOverloaded, RetryAfter: fullRetry,
		Message: "the bodies of the requests being served take as much memory as this server has for them: try again",
	}
	if of == shareFull {
		e.Message = "the bodies of this client's requests take as much memory as this server has for one client now: try again"
	}
	return e
}

func errReading(all, own int) *Error {
	return &Error{
		Code: CodeOverloaded, Reason: ReasonOverloaded, RetryAfter: fullRetry,
		Message: fmt.Sprintf("%d requests are being read, %d of them this client's, the most that this server takes: try again", all, own),
	}
}

// Decode waits for a decode slot, unless the request has one. It ends with the context, and
// when the service stops.
func (a *Arrival) Decode() error {
	if a == nil {
		return nil
	}
	l := a.service.ledger
	l.mu.Lock()
	a.waits = false
	if a.impatient != nil {
		a.impatient.Stop()
	}
	switch acc := l.account(a.party); {
	case a.left:
		l.drop(acc)
		l.mu.Unlock()
		return errLeft
	case a.slot:
		l.mu.Unlock()
		return nil
	case acc.Waiting == 0 && l.vacant(acc):
		l.seat(acc, a)
		l.mu.Unlock()
		return nil
	default:
		l.enqueue(acc, a)
		l.mu.Unlock()
	}
	return a.await()
}

// await waits for the request's turn.
func (a *Arrival) await() error {
	stops := a.service.admission.draining
	select {
	case <-a.turn:
	case <-a.Done():
	case <-stops:
	}
	l := a.service.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case a.slot: // whatever else has come to pass
		return nil
	case a.left:
		return errLeft
	}
	acc := l.accounts[a.party]
	l.dequeue(acc, a)
	l.drop(acc)
	if err := a.Err(); err != nil {
		return cause(a, err)
	}
	return errStopping
}

// slotPatience is for how long a request keeps its slot while its client sends nothing:
// longer than what is on its way already takes, and too short for slow clients to matter.
const slotPatience = 10 * time.Millisecond

// Await says that the request waits for more of its body, until Decode is called. If that
// takes long it loses its slot meanwhile.
func (a *Arrival) Await() {
	if a == nil {
		return
	}
	l := a.service.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if !a.slot {
		return
	}
	a.waits = true
	if a.impatient == nil {
		a.impatient = time.AfterFunc(slotPatience, a.lose)
	} else {
		a.impatient.Reset(slotPatience)
	}
}

// lose gives the slot back while the request waits.
func (a *Arrival) lose() {
	l := a.service.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.waits {
		l.unseat(a)
	}
}

// Decoded ends the decoding: it gives the slot back, and the request isn't one that is
// being read any more. Its bytes stay.
func (a *Arrival) Decoded() {
	if a == nil {
		return
	}
	a.service.ledger.mu.Lock()
	defer a.service.ledger.mu.Unlock()
	a.decoded()
}

func (a *Arrival) decoded() {
	l := a.service.ledger
	a.waits = false
	l.unseat(a)
	if a.reading {
		a.reading = false
		acc := l.accounts[a.party]
		acc.Reading--
		l.all.Reading--
		l.drop(acc)
	}
}

// Leave gives all back.
func (a *Arrival) Leave() {
	if a == nil {
		return
	}
	l := a.service.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.left {
		return
	}
	a.left = true
	if a.impatient != nil {
		a.impatient.Stop()
	}
	acc := l.account(a.party)
	if slices.Contains(acc.queue, a) {
		l.dequeue(acc, a)
		close(a.turn)
	}
	a.decoded()
	acc.Bytes -= a.bytes
	l.all.Bytes -= a.bytes
	a.bytes = 0
	l.drop(acc)
}
