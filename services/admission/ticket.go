package admission

import (
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Ticket is a request's slot, and its context.
type Ticket struct {
	requestContext

	// Measure of the request, which its owner begins and ends. A change of models has none.
	Measure metering.Measure

	controller *Controller
	control    bool // a change of models, which has no limits

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

// Leave gives the slot back. Whoever entered must call it once.
func (t *Ticket) Leave() {
	t.controller.leave(t)
	t.release()
}

// tickets are those that have been given out and not come back, by deadline: the one
// that ends first comes first, those without one last.
type tickets struct{ first, last *Ticket }

// add puts a ticket in its place, which is the end where all get the same time.
func (l *tickets) add(t *Ticket) {
	after := l.last
	for after != nil && t.before(after) {
		after = after.prev
	}
	t.prev = after
	if after == nil {
		t.next, l.first = l.first, t
	} else {
		t.next, after.next = after.next, t
	}
	if t.next == nil {
		l.last = t
	} else {
		t.next.prev = t
	}
}

func (t *Ticket) before(other *Ticket) bool {
	return !t.deadline.IsZero() && (other.deadline.IsZero() || t.deadline.Before(other.deadline))
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
