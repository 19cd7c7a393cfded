package admission

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Arrival is one request from its authentication until its handler returns. It is the
// context of the request, and it records the memory and the decode slot that the request
// holds. A frontend calls its methods in this order:
//
//  1. Admit, before it reads the body.
//  2. Take, before it reads bytes of the body.
//  3. Decode, before it decodes these bytes. It waits for a decode slot.
//  4. Decoded, or [Controller.Enter] with the arrival's context, when decoding has ended.
//  5. Leave, when the handler returns.
//
// Methods may be called concurrently. On a nil Arrival they do nothing.
type Arrival struct {
	context.Context //nolint:containedctx // an arrival is a context

	controller *Controller
	party      Party

	// The ledger's lock guards bytes and the following fields.
	bytes     int64
	reading   bool // the request counts as one that is being read
	slot      bool // the request has a decode slot
	waits     bool // the request has a slot and waits for more of its body
	admitted  bool // the request was admitted and has spent its rates
	left      bool
	turn      chan struct{} // closed when a queued request gets its slot
	slotTimer *time.Timer   // takes the slot away while waits is set; nil before the first Await
}

type arrivalKey struct{}

// Value implements [context.Context]. It also returns the arrival itself.
func (a *Arrival) Value(key any) any {
	if _, own := key.(arrivalKey); own {
		return a
	}
	return a.Context.Value(key)
}

// ArrivalOf returns the arrival of a context's request, or nil if there is none.
func ArrivalOf(ctx context.Context) *Arrival {
	a, _ := ctx.Value(arrivalKey{}).(*Arrival)
	return a
}

// Arrive returns the arrival of a request that was authenticated. The caller must call Leave
// when the handler returns.
func (a *Controller) Arrive(ctx context.Context) *Arrival {
	return &Arrival{Context: ctx, controller: a, party: partyOf(ctx)}
}

// Guard refuses requests while the server is overloaded. It is called before a request is read, and
// again before more bytes of the request are read. The argument held is the party's holding,
// including the bytes that are about to be read. The error is nil or [*inference.Error]. A Guard
// must be fast and safe for concurrent use.
type Guard func(held Holding) error

// LimitBodies limits the bytes that the bodies of all requests hold together. The smaller of this
// limit and [Bounds.BodyBytes] applies. 0 means no limit.
func (a *Controller) LimitBodies(bytes int64) { a.ledger.limitBytes(bytes) }

// SetGuard sets the guard of requests that run models or tokenizers. Nil removes it.
func (a *Controller) SetGuard(guard Guard) { a.guard.Store(&guard) }

// Holdings returns the memory and the number of requests that each API key or address holds, sorted
// by bytes in descending order, and the sum.
func (a *Controller) Holdings() (each []Holding, all Holding) { return a.ledger.holdings() }

// Admit spends the rates of the client and of the server. It returns an error when one of
// them is used up, or when the slots and queues of the client or the server are full. A
// second call of an admitted request returns nil and spends nothing. The call of a KServe
// stream is an arrival too: the first request of the stream uses the admission of the call.
func (a *Arrival) Admit() error { return a.admit(false) }

// AdmitModel is [Arrival.Admit] for a request that runs a model. It also returns an error if the client
// has used up its tokens of the minute.
func (a *Arrival) AdmitModel() error { return a.admit(true) }

func (a *Arrival) admit(model bool) error {
	if a == nil || a.wasAdmitted() || a.takeOver() {
		return nil
	}
	c := a.controller
	if why, err := c.arrive(a.Context, time.Now(), model); err != nil {
		return c.countRefused(why, err)
	}
	if err := c.guarded(a.party, 0); err != nil {
		return err
	}
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	a.admitted = true
	return nil
}

// guarded calls the [Guard] for a party whose requests are about to use more bytes of memory.
func (a *Controller) guarded(party Party, more int64) error {
	guard := a.guard.Load()
	if guard == nil || *guard == nil {
		return nil
	}
	held := a.ledger.holding(party)
	held.Bytes += more
	if err := (*guard)(held); err != nil {
		return a.countRefused(refusedLoad, err)
	}
	return nil
}

// wasAdmitted reports whether the request was admitted.
func (a *Arrival) wasAdmitted() bool {
	a.controller.ledger.mu.Lock()
	defer a.controller.ledger.mu.Unlock()
	return a.admitted
}

// takeOver moves the admission of the parent arrival to this one, and reports whether there
// was one.
func (a *Arrival) takeOver() bool {
	above := ArrivalOf(a.Context)
	if above == nil {
		return false
	}
	a.controller.ledger.mu.Lock()
	defer a.controller.ledger.mu.Unlock()
	a.admitted, above.admitted = above.admitted, false
	return a.admitted
}

// enter ends the decoding of a request when it is admitted. It reports whether the
// request has spent its rates.
func (a *Arrival) enter() (spent bool) {
	if a == nil {
		return false
	}
	a.controller.ledger.mu.Lock()
	defer a.controller.ledger.mu.Unlock()
	a.decoded()
	return a.admitted
}

// refusal is the reason why a request was refused before it was read.
type refusal uint8

const (
	refusedFull refusal = iota
	refusedRate
	refusedTokens
	refusedStopping
	refusedLoad
	refusedReading
	refusedBytes
	refusals
)

// String returns the value of the metric's label.
func (r refusal) String() string {
	return [...]string{"full", "rate", "tokens", "stopping", "load", "reading", "body_bytes"}[r]
}

// Refusals returns the number of requests that were refused before they were read, by reason.
func (a *Controller) Refusals() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for why := range a.early {
			if !yield(refusal(why).String(), a.early[why].Load()) {
				return
			}
		}
	}
}

// countRefused counts a request that is refused before it is read.
func (a *Controller) countRefused(why refusal, err error) error {
	a.early[why].Add(1)
	a.meters.Refuse(metering.OutcomeOf(err))
	return err
}

// Take reserves memory for bytes of the body before they are read. Leave releases it. The
// error is [inference.CodeOverloaded] when the bytes exceed the bound of the party or the server, or
// when too many requests are being read.
func (a *Arrival) Take(bytes int64) error {
	if a == nil {
		return nil
	}
	l := a.controller.ledger
	if err := a.controller.guarded(a.party, bytes); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.left {
		return errRequestEnded
	}
	acc := l.account(a.party)
	defer l.drop(acc)
	begins := !a.reading && a.bytes == 0
	if begins && fits(int64(l.limits.reading), int64(l.all.Reading), int64(acc.Reading), 0, 1) != fitsBoth {
		return a.controller.countRefused(refusedReading, errReading(l.all.Reading, acc.Reading))
	}
	if fit := fits(l.bytes(), l.all.Bytes, acc.Bytes, a.bytes, bytes); fit != fitsBoth {
		return a.controller.countRefused(refusedBytes, errBytes(fit))
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

// Weigh raises the memory of the request to a number of bytes: a compressed body takes more
// memory than the bytes that were read. The error is that of Take.
func (a *Arrival) Weigh(bytes int64) error {
	if a == nil {
		return nil
	}
	l := a.controller.ledger
	l.mu.Lock()
	more := bytes - a.bytes
	l.mu.Unlock()
	if more <= 0 {
		return nil
	}
	return a.Take(more)
}

// Return releases bytes that the request no longer holds.
func (a *Arrival) Return(bytes int64) {
	if a == nil {
		return
	}
	l := a.controller.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	bytes = min(bytes, a.bytes)
	acc := l.account(a.party)
	a.bytes -= bytes
	acc.Bytes -= bytes
	l.all.Bytes -= bytes
	l.drop(acc)
}

// errRequestEnded is returned to a reader of a request that has ended.
var errRequestEnded = &inference.Error{Code: inference.CodeCanceled, Message: "the request has ended"}

func errBytes(of fitResult) *inference.Error {
	e := &inference.Error{
		Code: inference.CodeOverloaded, Reason: inference.ReasonOverloaded, RetryAfter: fullRetry,
		Message: "the bodies of the requests in flight use all memory that this server reserves for bodies: try again later",
	}
	if of == shareFull {
		e.Message = "the bodies of this client's requests use all memory that one client may use for bodies now: try again later"
	}
	return e
}

func errReading(all, own int) *inference.Error {
	return &inference.Error{
		Code: inference.CodeOverloaded, Reason: inference.ReasonOverloaded, RetryAfter: fullRetry,
		Message: fmt.Sprintf("too many requests are being read: %d of all clients, %d of them of this client: try again later", all, own),
	}
}

// Decode waits for a decode slot unless the request has one. It returns an error when the
// context ends or the server stops.
func (a *Arrival) Decode() error {
	if a == nil {
		return nil
	}
	l := a.controller.ledger
	l.mu.Lock()
	a.waits = false
	if a.slotTimer != nil {
		a.slotTimer.Stop()
	}
	switch acc := l.account(a.party); {
	case a.left:
		l.drop(acc)
		l.mu.Unlock()
		return errRequestEnded
	case a.slot:
		l.mu.Unlock()
		return nil
	case acc.Waiting == 0 && l.hasSlot(acc):
		l.assignSlot(acc, a)
		l.mu.Unlock()
		return nil
	default:
		l.enqueue(acc, a)
		l.mu.Unlock()
	}
	return a.await()
}

// await waits until the request gets a slot.
func (a *Arrival) await() error {
	stops := a.controller.draining
	select {
	case <-a.turn:
	case <-a.Done():
	case <-stops:
	}
	l := a.controller.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case a.slot: // the slot is kept even if the context has ended meanwhile
		return nil
	case a.left:
		return errRequestEnded
	}
	acc := l.accounts[a.party]
	l.dequeue(acc, a)
	l.drop(acc)
	if err := a.Err(); err != nil {
		return inference.Cause(a, err)
	}
	return errStopping
}

// slotTimeout is how long a request keeps its slot while it waits for its client. Data
// that is in flight arrives sooner. Slow clients exceed it and release their slots.
const slotTimeout = 10 * time.Millisecond

// Await reports that the request waits for more of its body. The request loses its slot
// unless Decode is called within slotTimeout.
func (a *Arrival) Await() {
	if a == nil {
		return
	}
	l := a.controller.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if !a.slot {
		return
	}
	a.waits = true
	if a.slotTimer == nil {
		a.slotTimer = time.AfterFunc(slotTimeout, a.loseSlot)
	} else {
		a.slotTimer.Reset(slotTimeout)
	}
}

// loseSlot releases the slot of a request that still waits.
func (a *Arrival) loseSlot() {
	l := a.controller.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.waits {
		l.releaseSlot(a)
	}
}

// Decoded releases the slot, and the request no longer counts as being read. It keeps its
// bytes.
func (a *Arrival) Decoded() {
	if a == nil {
		return
	}
	a.controller.ledger.mu.Lock()
	defer a.controller.ledger.mu.Unlock()
	a.decoded()
}

func (a *Arrival) decoded() {
	l := a.controller.ledger
	a.waits = false
	l.releaseSlot(a)
	if a.reading {
		a.reading = false
		acc := l.accounts[a.party]
		acc.Reading--
		l.all.Reading--
		l.drop(acc)
	}
}

// Leave releases everything that the request holds.
func (a *Arrival) Leave() {
	if a == nil {
		return
	}
	l := a.controller.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.left {
		return
	}
	a.left = true
	if a.slotTimer != nil {
		a.slotTimer.Stop()
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
