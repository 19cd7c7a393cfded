// Package admission decides whether a request may go on: the [Controller] has the limits, the
// rates, the queue with its turns, the deadlines and the drain, and an [Arrival] records the
// bytes and the decode slot that a request holds while it is read. Whatever bounds requests
// before a model sees them belongs here. What a request asks for doesn't: that is serving's.
package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// errStopping is the cause of contexts that end because the server stops.
var errStopping = &inference.Error{
	Code: inference.CodeUnavailable, Reason: inference.ReasonShuttingDown, RetryAfter: 5 * time.Second,
	Message: "the server is shutting down",
}

// Controller decides whether a request may go on: it bounds the requests in flight, has those
// that find no place wait for their turn, and records what requests hold while they are read.
// Methods may be called concurrently.
type Controller struct {
	meters *metering.Meters
	ledger *ledger
	guard  atomic.Pointer[Guard]
	early  [refusals]atomic.Uint64 // refused before they were read

	began time.Time

	idle     chan struct{} // closed when closed and nothing is left
	draining chan struct{} // closed when closed

	mu      sync.Mutex
	bounds  Bounds
	server  scope
	models  map[string]*scope  // by name, where there are limits of models
	clients map[string]*client // by name: those of keys, which operators give
	nobody  client             // requests of no client
	ring    []*client          // that wait: whoever gets a place goes to the end

	// All that have been let in, wait, or are changes of models.
	given  tickets
	count  int
	closed bool
}

// New returns a controller with valid bounds, which counts its refusals on meters.
func New(b Bounds, meters *metering.Meters) *Controller {
	a := &Controller{
		meters: meters, ledger: newLedger(), began: time.Now(), idle: make(chan struct{}), draining: make(chan struct{}),
		models: map[string]*scope{}, clients: map[string]*client{},
	}
	a.set(b)
	a.ledger.set(b.intake())
	return a
}

// SetBounds changes what is admitted at once, for all requests from now on. Requests that
// are in flight or wait stay, whatever the new bounds are.
func (a *Controller) SetBounds(b Bounds) error {
	if err := b.Validate(); err != nil {
		return err
	}
	a.set(b)
	a.ledger.set(b.intake())
	return nil
}

// set changes the bounds. Requests that have been let in stay, and those that wait
// get the places that there are now.
func (a *Controller) set(b Bounds) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bounds = b
	a.server.set(b.Server)
	for name, s := range a.models {
		s.set(b.model(name))
		if !s.busy() {
			delete(a.models, name)
		}
	}
	for name, c := range a.clients {
		if !c.busy() && c.bucket == nil {
			delete(a.clients, name)
		}
	}
	a.grant()
}

// Ask is a request for a slot.
type Ask struct {
	// Model by its own name where it is known, or else by the name that the client gave.
	Model string
	// Known reports whether Model is a model's own name.
	Known bool
	// Priority in the queue. The smaller one is served first.
	Priority int64

	now     time.Time
	arrived bool // the rates of its client and of the server have been spent already
}

// arrive refuses a request that would be refused whatever its model, and spends the rates
// of its client and of the server.
func (a *Controller) arrive(ctx context.Context, now time.Time) (refusal, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return refusedStopping, errStopping
	}
	t := &Ticket{controller: a, client: a.clientOf(ctx)}
	if missing := t.missing(); missing != nil {
		if full := a.full(t, missing); full != nil {
			return refusedFull, full
		}
	}
	return refusedRate, spend(now, &t.client.scope, &a.server)
}

// Enter gives a request its slot when its turn has come. The ticket, which is new, is then
// the request's context: it ends with the client, at the deadline, or when the server stops.
// Without an error the caller must call Leave.
func (a *Controller) Enter(ctx context.Context, t *Ticket, q Ask) error {
	q.now, q.arrived = t.Measure.Began(), ArrivalOf(ctx).enter()
	if q.now.IsZero() {
		q.now = time.Now()
	}
	t.controller = a
	t.Context = ctx
	waits, err := a.take(ctx, t, q)
	if err == nil && waits {
		err = a.await(t) //nolint:contextcheck // the ticket is the context
	}
	if err != nil {
		t.release()
	}
	return err
}

// EnterControl admits a change of models, which has neither limit nor timeout. The context
// ends with the client or when the server stops; leave must be called.
func (a *Controller) EnterControl(ctx context.Context) (_ context.Context, leave func(), err error) {
	t := &Ticket{Context: ctx, controller: a, control: true}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, nil, errStopping
	}
	a.give(t)
	return t, t.Leave, nil
}

// take finds a place, or one in the queue.
func (a *Controller) take(ctx context.Context, t *Ticket, q Ask) (waits bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false, errStopping
	}
	t.client, t.model = a.clientOf(ctx), a.modelOf(q)
	if t.model != nil && !q.Known {
		t.unknown = q.Model
	}
	missing := t.missing()
	if missing != nil {
		if full := a.full(t, missing); full != nil {
			a.forget(t)
			return false, full
		}
	}
	scopes := []*scope{&t.client.scope, t.model, &a.server}
	if q.arrived {
		scopes = scopes[1:2]
	}
	if err := spend(q.now, scopes...); err != nil {
		a.forget(t)
		return false, err
	}
	if queued := a.server.limits.Queued; missing != nil && queued > 0 && a.server.waiting >= queued {
		a.evict(a.greedy(t.client))
	}
	if timeout := a.bounds.RequestTimeout; timeout > 0 {
		t.deadline = q.now.Add(timeout)
	}
	a.give(t)
	// Nobody who waits could have this place: whoever can gets it when it comes free.
	if missing == nil {
		a.seat(t)
		return false, nil
	}
	t.rank, t.turn = a.rankOf(q.now, q.Priority), make(chan struct{})
	a.enqueue(t)
	return true, nil
}

// clientOf finds whose request it is. Its limits may be others than before.
func (a *Controller) clientOf(ctx context.Context) *client {
	known := inference.ClientOf(ctx)
	if known == nil {
		return &a.nobody
	}
	c := a.clients[known.Name]
	if c == nil {
		c = &client{scope: scope{of: " of this key", own: true}}
		a.clients[known.Name] = c
	}
	c.set(known.Limits)
	return c
}

// modelOf is nil for models without limits.
func (a *Controller) modelOf(q Ask) *scope {
	if len(a.bounds.Models) == 0 {
		return nil
	}
	m := a.models[q.Model]
	if m == nil {
		m = &scope{of: " of this model"}
		m.set(a.bounds.model(q.Model))
		a.models[q.Model] = m
	}
	return m
}

// forget drops what is remembered of a model that may be only a client's word.
func (a *Controller) forget(t *Ticket) {
	if t.unknown != "" && !t.model.busy() {
		delete(a.models, t.unknown)
	}
}

// each goes over what bounds the request, the narrowest first.
func (t *Ticket) each(do func(*scope)) {
	do(&t.client.scope)
	if t.model != nil {
		do(t.model)
	}
	do(&t.controller.server)
}

// missing is what has no place for the request; nil where there is one.
func (t *Ticket) missing() *scope {
	switch {
	case !t.client.room():
		return &t.client.scope
	case t.model != nil && !t.model.room():
		return t.model
	case !t.controller.server.room():
		return &t.controller.server
	}
	return nil
}

// full refuses a request that can't wait either.
func (a *Controller) full(t *Ticket, missing *scope) (err *inference.Error) {
	t.each(func(s *scope) {
		switch queued := s.limits.Queued; {
		case err != nil, queued == 0:
		case queued < 0:
			err = missing.full()
		case s.waiting >= queued && (s != &a.server || a.greedy(t.client) == nil):
			err = s.full()
		}
	})
	return err
}

// spend takes a request from the rates that there are, or from none.
func spend(now time.Time, scopes ...*scope) error {
	var taken []*rate.Reservation
	for _, s := range scopes {
		if s == nil || s.bucket == nil {
			continue
		}
		one := s.bucket.ReserveN(now, 1)
		taken = append(taken, one)
		if wait := one.DelayFrom(now); wait > 0 {
			for _, one := range taken {
				one.CancelAt(now)
			}
			return s.fast(wait)
		}
	}
	return nil
}

// seat counts a request that has its place.
func (a *Controller) seat(t *Ticket) {
	t.each(func(s *scope) { s.inFlight++ })
}

// await waits for the request's turn.
func (a *Controller) await(t *Ticket) error {
	select {
	case <-t.turn:
	case <-t.Done():
	case <-a.draining:
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case t.placed: // whatever else has come to pass
		return nil
	case t.refused == nil:
		a.withdraw(t)
	}
	a.back(t)
	switch {
	case t.refused != nil:
		return t.refused
	case t.Err() != nil:
		return inference.Cause(t, t.Err())
	}
	return errStopping
}

// give lists a ticket and starts its context.
func (a *Controller) give(t *Ticket) {
	a.count++
	a.given.add(t)
	t.begin()
}

// back takes a ticket off the list.
func (a *Controller) back(t *Ticket) {
	a.given.remove(t)
	a.forget(t)
	a.count--
	if a.closed && a.count == 0 {
		close(a.idle)
	}
}

// leave gives a place to the next one.
func (a *Controller) leave(t *Ticket) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !t.control {
		t.each(func(s *scope) { s.inFlight-- })
		a.grant()
	}
	a.back(t)
}

// Draining is closed when no more requests are admitted.
func (a *Controller) Draining() <-chan struct{} { return a.draining }

// MaxInFlight returns the bound of requests in flight; 0 is no bound.
func (a *Controller) MaxInFlight() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bounds.Server.InFlight
}

// Ready is nil until the drain begins.
func (a *Controller) Ready() error {
	select {
	case <-a.draining:
		return errStopping
	default:
		return nil
	}
}

// Drain refuses new requests and those that wait, lets those in flight go on until ctx
// ends, then cancels the rest. When it returns, none is in flight.
func (a *Controller) Drain(ctx context.Context) {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.draining)
		if a.count == 0 {
			close(a.idle)
		}
	}
	a.mu.Unlock()
	select {
	case <-a.idle:
	case <-ctx.Done():
	}
	a.stop()
	<-a.idle
}

// stop ends all that is in flight.
func (a *Controller) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for t := a.given.first; t != nil; t = t.next {
		t.end(errStopping)
	}
}

// Rate returns how many requests may begin now, by the rate of the client under the
// context or of the server, whichever leaves less; ok is false where there is none.
func (a *Controller) Rate(ctx context.Context) (least Rate, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for _, s := range [...]*scope{&a.clientOf(ctx).scope, &a.server} {
		if s.bucket == nil {
			continue
		}
		if r := s.rate(now); !ok || r.Remaining < least.Remaining {
			least, ok = r, true
		}
	}
	return least, ok
}
