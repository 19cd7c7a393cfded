package admission

import (
	"context"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Ticket is a request's slot and its context. The context ends when the client disconnects, at the
// deadline, or when the server shuts down.
type Ticket struct {
	context.Context //nolint:containedctx // a ticket is a context

	// Measure of the request. Its owner begins and ends it. A change of models has none.
	Measure metering.Measure

	cancel context.CancelCauseFunc // nil before the controller lists the ticket
	free   context.CancelFunc      // releases the timer of the deadline; nil if there is no deadline

	controller *Controller
	deadline   time.Time // zero if there is no deadline
	control    bool      // the ticket of a change of models, which has no limits

	client  *client
	model   *scope // nil if models have no limits
	unknown string // the model's name if it comes from the client and isn't known

	prev, next *Ticket // in the controller's list

	// Set while the request is queued.
	rank    int64         // order among the client's requests
	turn    chan struct{} // closed when the request leaves the queue
	placed  bool
	refused *inference.Error // the error if the request didn't get a slot
}

// begin derives the request's context from the client's.
func (t *Ticket) begin() {
	t.Context, t.cancel = context.WithCancelCause(t.Context)
	if !t.deadline.IsZero() {
		t.Context, t.free = context.WithDeadline(t.Context, t.deadline)
	}
}

// end cancels the request with a cause of the server. The first cause applies.
func (t *Ticket) end(cause error) { t.cancel(cause) }

// Leave releases the slot. It must be called once after a successful Enter.
func (t *Ticket) Leave() {
	t.controller.leave(t)
	t.release()
}

// release frees the resources of the derived contexts.
func (t *Ticket) release() {
	if t.cancel == nil {
		return
	}
	if t.free != nil {
		t.free()
	}
	t.cancel(nil)
}

// tickets is the list of tickets that haven't been returned.
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
