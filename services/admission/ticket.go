package admission

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Ticket is a request's slot, and its context: one that ends with the
// client, at the deadline, or when the server stops. The context below is the client's.
// One that ends with either is made for who asks when this one is done, and is the
// standard library's own, so that what is derived from this one hangs on it directly;
// the deadline and the stop need no context each, as the admission knows all tickets.
type Ticket struct {
	context.Context //nolint:containedctx // it is one

	// Measure of the request, which its owner begins and ends. A change of models has none.
	Measure metering.Measure

	joint  atomic.Pointer[joint] // nil until somebody asks, or the server ends the request
	mu     sync.Mutex
	left   atomic.Bool   // the request is done; set under mu
	over   bool          // the server has ended it, guarded by mu
	closed chan struct{} // then; nil until somebody asks, guarded by mu

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

// Deadline is the earlier one of the client's and the server's.
func (t *Ticket) Deadline() (time.Time, bool) {
	client, ok := t.Context.Deadline()
	if ok && (t.deadline.IsZero() || client.Before(t.deadline)) {
		return client, true
	}
	return t.deadline, !t.deadline.IsZero()
}

// joint is the context that ends with the client, and by the server.
type joint struct {
	context.Context //nolint:containedctx // it is one

	end context.CancelCauseFunc
}

func (t *Ticket) both() *joint {
	if j := t.joint.Load(); j != nil {
		return j
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if j := t.joint.Load(); j != nil {
		return j
	}
	j := &joint{}
	j.Context, j.end = context.WithCancelCause(t.Context)
	if t.left.Load() {
		j.end(nil)
	}
	t.joint.Store(j)
	return j
}

// below is the context that ends as this one.
func (t *Ticket) below() context.Context {
	if j := t.joint.Load(); j != nil {
		return j.Context
	}
	return t.Context
}

// Done implements [context.Context].
func (t *Ticket) Done() <-chan struct{} { return t.both().Done() }

// Value implements it.
func (t *Ticket) Value(key any) any { return t.below().Value(key) }

// Err tells the deadline from the client's leaving, and from the end of the request
// itself.
func (t *Ticket) Err() error {
	ctx, j := t.Context, t.joint.Load()
	if j != nil {
		ctx = j.Context
	}
	err := ctx.Err()
	if err == nil && j != nil { // the client's end may be on its way
		ctx = t.Context
		err = ctx.Err()
	}
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	if err == nil && t.left.Load() {
		return context.Canceled
	}
	return err
}

// end ends the request for a reason of the server's. The first one counts.
func (t *Ticket) end(cause error) {
	t.both().end(cause)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil && !t.over {
		close(t.closed)
	}
	t.over = true
}

// ended is closed when the server ends the request.
func (t *Ticket) ended() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed == nil {
		t.closed = make(chan struct{})
		if t.over {
			close(t.closed)
		}
	}
	return t.closed
}

// Ends returns the channels that are closed when the client ends the request, and when the
// server ends it.
func (t *Ticket) Ends() (client, service <-chan struct{}) { return t.Context.Done(), t.ended() }

// Leave gives the slot back. Whoever entered must call it once.
func (t *Ticket) Leave() {
	t.controller.leave(t)
	t.release()
}

// release lets go of what hangs on the client's context, and sees to it that nothing
// more does.
func (t *Ticket) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left.Store(true)
	if j := t.joint.Load(); j != nil {
		j.end(nil)
	}
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
