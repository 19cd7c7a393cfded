package admission

import (
	"context"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Ticket is a request's slot, and its context: one that ends when the client disconnects, at
// the deadline, or when the server stops.
type Ticket struct {
	context.Context //nolint:containedctx // it is one

	// Measure of the request, which its owner begins and ends. A change of models has none.
	Measure metering.Measure

	cancel context.CancelCauseFunc // nil before the controller lists the ticket
	free   context.CancelFunc      // releases the timer of the deadline; nil without one

	controller *Controller
	deadline   time.Time // zero for none
	control    bool      // a change of models, which has no limits

	client  *client
	model   *scope // nil where models have no limits
	unknown string // the model's name where only the client has said it

	prev, next *Ticket // in the admission's list

	// Of one that waits.
	rank    int64         // whose turn comes first among the client's
	turn    chan struct{} // closed when the waiting is over
	placed  bool
	refused *inference.Error // instead
}

// begin derives the request's context from the client's.
func (t *Ticket) begin() {
	t.Context, t.cancel = context.WithCancelCause(t.Context)
	if !t.deadline.IsZero() {
		t.Context, t.free = context.WithDeadline(t.Context, t.deadline)
	}
}

// end ends the request for a reason of the server's. The first one counts.
func (t *Ticket) end(cause error) { t.cancel(cause) }

// Leave gives the slot back. Whoever entered must call it once.
func (t *Ticket) Leave() {
	t.controller.leave(t)
	t.release()
}

// release lets go of what hangs on the client's context.
func (t *Ticket) release() {
	if t.cancel == nil {
		return
	}
	if t.free != nil {
		t.free()
	}
	t.cancel(nil)
}

// tickets is the list of those that were given out and not returned.
type tickets struct{ first, last *Ticket }

func (l *tickets) add(t *Ticket) {
	t.prev = l.last
	if l.last == nil {
		l.first = t
	} else {
		l.last.next = t
	}
	l.last = t
}

func (l *tickets) remove(t *Ticket) {
	if t.prev == nil {
		l.first = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.last = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
}
