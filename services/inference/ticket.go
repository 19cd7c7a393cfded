package inference

import (
	"context"
	"errors"
	"time"
)

// ticket is a request's place in the service, and its context: one that ends with the
// client, at the deadline, or when the service stops. The context below is the
// standard library's own, so that what engines derive from this one hangs on it
// directly; the deadline and the stop need no context each, as the admission knows all
// tickets.
type ticket struct {
	context.Context //nolint:containedctx // it is one

	end       context.CancelCauseFunc
	admission *admission
	measure   measure
	deadline  time.Time // zero for none
	control   bool      // a change of models, which has no limits

	client  *client
	model   *scope // nil where models have no limits
	unknown string // the model's name where only the client has said it

	prev, next *ticket // in the admission's list

	// Of one that waits.
	rank    int64         // whose turn comes first among the client's
	turn    chan struct{} // closed when the waiting is over
	placed  bool
	refused *Error // instead
}

// Deadline is the earlier one of the client's and the service's.
func (t *ticket) Deadline() (time.Time, bool) {
	client, ok := t.Context.Deadline()
	if ok && (t.deadline.IsZero() || client.Before(t.deadline)) {
		return client, true
	}
	return t.deadline, !t.deadline.IsZero()
}

// Err tells the deadline from the client's leaving.
func (t *ticket) Err() error {
	err := t.Context.Err()
	if err != nil && errors.Is(context.Cause(t.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// leave gives the place back. It must be called once by whoever got the ticket.
func (t *ticket) leave() {
	t.admission.leave(t)
	t.end(nil)
}

// tickets are those that have been given out and not come back, by deadline: the one
// that ends first comes first, those without one last.
type tickets struct{ first, last *ticket }

// add puts a ticket in its place, which is the end where all get the same time.
func (l *tickets) add(t *ticket) {
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

func (t *ticket) before(other *ticket) bool {
	return !t.deadline.IsZero() && (other.deadline.IsZero() || t.deadline.Before(other.deadline))
}

func (l *tickets) remove(t *ticket) {
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
