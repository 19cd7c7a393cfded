package admission

import (
	"github.com/trident-inference/trident/services/admission/requestctx"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Ticket is a request's slot and its context. The context ends when the client disconnects, at the
// deadline, or when the server shuts down.
type Ticket struct {
	requestctx.Context

	// Measure of the request. Its owner begins and ends it. A change of models has none.
	Measure metering.Measure

	controller *Controller
	control    bool // a change of models, which has no limits

	client  *client
	model   *scope // nil if models have no limits
	unknown string // the model's name if it comes from the client and isn't known

	reserved, spent float64 // tokens of the client's minute
	here            bool    // they were reserved in this server's own bucket, because the store was away

	prev, next *Ticket // neighbors in the controller's list of tickets, which is ordered by deadline

	// The fields rank to refused are set while the request is queued.
	rank    int64         // order of service among the client's queued requests
	turn    chan struct{} // closed when the request leaves the queue
	placed  bool
	refused *inference.Error // the error if the request didn't get a slot
}

// Leave releases the slot. It must be called once after a successful Enter.
func (t *Ticket) Leave() {
	t.controller.leave(t)
	t.Release()
}

// tickets is the list of tickets that haven't been returned.
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
	return !t.Limit.IsZero() && (other.Limit.IsZero() || t.Limit.Before(other.Limit))
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
