// Package admission decides whether a request may continue. The [Controller] has the limits, the
// rates, the queue with fair queueing, the deadlines and the drain. An [Arrival] records the bytes
// and the decode slot that a request holds while it is read. Code that limits requests before a
// model receives them belongs here. The content of requests belongs to serving.
package admission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
	"github.com/trident-inference/trident/services/ratelimit"
)

// errStopping is the cause of contexts that end because the server shuts down.
var errStopping = &inference.Error{
	Code: inference.CodeUnavailable, Reason: inference.ReasonShuttingDown, RetryAfter: 5 * time.Second,
	Message: "the server is shutting down",
}

// Controller decides whether a request may continue. It limits the requests in flight, queues
// requests without a free slot, and records what requests hold while they are read. Methods may be
// called concurrently.
type Controller struct {
	meters *metering.Meters
	ledger *ledger
	guard  atomic.Pointer[Guard]
	early  [refusals]atomic.Uint64 // number of requests refused before they were read, by reason
	shared ratelimit.Store         // nil if no other server shares the rates
	alone  atomic.Uint64

	began time.Time

	idle     chan struct{} // closed when the controller is closed and count is 0
	draining chan struct{} // closed when the controller is closed
	leaving  chan struct{} // closed when Leave is called, or at the drain
	left     sync.Once     // closes leaving

	mu         sync.Mutex
	bounds     Bounds
	server     scope
	models     map[string]*scope  // the models' scopes by model name; used if models have limits
	clients    map[string]*client // the clients, keyed by the name that the operator assigned to their API key
	anonymous  client             // shared state of all requests without a client
	roundRobin []*client          // clients with queued requests; a client that gets a slot moves to the end

	// given has the tickets of requests that are admitted or queued, and of changes of models. The
	// timer fires at the deadline of the first ticket, or earlier.
	given   tickets
	count   int
	timer   *time.Timer // nil before the first deadline
	timerAt time.Time   // time at which the timer fires; zero if the timer is off
	closed  bool
}

// New returns a controller with valid bounds. It counts refusals on meters.
func New(b Bounds, meters *metering.Meters) *Controller {
	a := &Controller{
		meters: meters, ledger: newLedger(), began: time.Now(), idle: make(chan struct{}), draining: make(chan struct{}), leaving: make(chan struct{}),
		models: map[string]*scope{}, clients: map[string]*client{},
	}
	a.server.name = "server"
	a.set(b)
	a.ledger.set(b.intake())
	return a
}

// SetBounds changes the bounds for all later requests. Requests that are in flight or queued stay,
// even beyond the new bounds.
func (a *Controller) SetBounds(b Bounds) error {
	if err := b.Validate(); err != nil {
		return err
	}
	a.set(b)
	a.ledger.set(b.intake())
	return nil
}

// set changes the bounds. Admitted requests stay, and queued requests get the free slots.
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
		if !c.busy() && c.requests == nil && c.tokens == nil {
			delete(a.clients, name)
		}
	}
	a.grant()
}

// Ask is a request for a slot.
type Ask struct {
	// Model is the model's own name if it is known, or else the name that the client sent.
	Model string
	// Known reports whether Model is a model's own name.
	Known bool
	// Priority in the queue. A smaller value is served first.
	Priority int64

	now     time.Time
	arrived bool // the rates of the client and the server are already spent
}

// arrive refuses a request that would be refused for any model. Otherwise it spends the rates of
// the client and of the server. A request that runs a model is also refused if the client has no token
// left.
func (a *Controller) arrive(ctx context.Context, now time.Time, model bool) (refusal, error) {
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
	return a.spendArrival(ctx, t.client, now, model)
}

// spendArrival spends the rates of the client and of the server. The client of a request that runs a
// model must have a token left.
func (a *Controller) spendArrival(ctx context.Context, c *client, now time.Time, model bool) (refusal, error) {
	all := spendRequest(&c.scope, &a.server)
	if model && c.tokens != nil {
		all = append(all, c.spendTokens(1, 0))
	}
	return a.spend(ctx, now, all)
}

// room sets the scopes of a request. It returns the first one without a free slot, or an error if the
// request can't be queued either.
func (a *Controller) room(ctx context.Context, t *Ticket, q Ask) (missing *scope, err error) {
	if a.closed {
		return nil, errStopping
	}
	t.client, t.model, t.unknown = a.clientOf(ctx), a.modelOf(q), "" // a second call may find other bounds
	if t.model != nil && !q.Known {
		t.unknown = q.Model
	}
	if missing = t.missing(); missing != nil {
		if full := a.full(t, missing); full != nil {
			return nil, full
		}
	}
	return missing, nil
}

// Enter waits until the request gets a slot. The new ticket is then the request's context: it ends
// when the client disconnects, at the deadline, or when the server shuts down. If Enter returns no
// error, the caller must call Leave.
func (a *Controller) Enter(ctx context.Context, t *Ticket, q Ask) error {
	q.now = t.Measure.Began()
	if q.now.IsZero() {
		q.now = time.Now()
	}
	q.arrived = ArrivalOf(ctx).enter()
	t.controller = a
	t.Follow(ctx)
	waits, err := a.take(ctx, t, q)
	if err == nil && waits {
		err = a.await(t) //nolint:contextcheck // the ticket is the context
	}
	if err != nil {
		t.Release()
	}
	return err
}

// EnterControl admits a change of models, which has neither a limit nor a timeout. The context ends
// when the client disconnects or the server shuts down. The caller must call leave.
func (a *Controller) EnterControl(ctx context.Context) (_ context.Context, leave func(), err error) {
	t := &Ticket{controller: a, control: true}
	t.Follow(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, nil, errStopping
	}
	a.addTicket(t)
	return t, t.Leave, nil
}

// take assigns a slot to the request or adds it to the queue.
func (a *Controller) take(ctx context.Context, t *Ticket, q Ask) (waits bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	missing, err := a.room(ctx, t, q)
	if err == nil && !q.arrived {
		if _, err = a.spendArrival(ctx, t.client, q.now, true); err == nil {
			missing, err = a.room(ctx, t, q) // again, as the lock may have been released
		}
	}
	if err == nil {
		_, err = spendHere(q.now, spendRequest(t.model)) // the rates of models aren't shared
	}
	if err != nil {
		a.forget(t)
		return false, err
	}
	if queued := a.server.limits.Queued; missing != nil && queued > 0 && a.server.waiting >= queued {
		a.evict(a.longestQueue(t.client))
	}
	if timeout := a.bounds.RequestTimeout; timeout > 0 {
		t.Limit = q.now.Add(timeout)
	}
	a.addTicket(t)
	// No queued request can use this slot: grant assigns each slot as soon as it is free.
	if missing == nil {
		a.countSlot(t)
		return false, nil
	}
	t.rank, t.turn = a.rankOf(q.now, q.Priority), make(chan struct{})
	a.enqueue(t)
	return true, nil
}

// clientOf returns the client of a request and updates its limits, which may have changed.
func (a *Controller) clientOf(ctx context.Context) *client {
	known := inference.ClientOf(ctx)
	if known == nil {
		return &a.anonymous
	}
	c := a.clients[known.Name]
	if c == nil {
		c = &client{scope: scope{of: " of this API key", own: true, name: storeName(known.Name)}}
		a.clients[known.Name] = c
	}
	c.set(known.Limits)
	return c
}

// storeName returns the name of a client in the store of rates, without revealing the client's own name.
func storeName(client string) string {
	sum := sha256.Sum256([]byte(client))
	return "key:" + hex.EncodeToString(sum[:12])
}

// modelOf returns the scope of a model, or nil if models have no limits.
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

// forget removes the scope of a model that possibly doesn't exist, because its name comes from a
// client.
func (a *Controller) forget(t *Ticket) {
	if t.unknown != "" && !t.model.busy() {
		delete(a.models, t.unknown)
	}
}

// each calls the function do for each scope that limits the request, the narrowest scope first.
func (t *Ticket) each(do func(*scope)) {
	do(&t.client.scope)
	if t.model != nil {
		do(t.model)
	}
	do(&t.controller.server)
}

// missing returns the first scope without a free slot for the request, or nil.
func (t *Ticket) missing() *scope {
	switch {
	case !t.client.hasCapacity():
		return &t.client.scope
	case t.model != nil && !t.model.hasCapacity():
		return t.model
	case !t.controller.server.hasCapacity():
		return &t.controller.server
	}
	return nil
}

// full returns an error if the request can't be queued either.
func (a *Controller) full(t *Ticket, missing *scope) (err *inference.Error) {
	t.each(func(s *scope) {
		switch queued := s.limits.Queued; {
		case err != nil, queued == 0:
		case queued < 0:
			err = missing.full()
		case s.waiting >= queued && (s != &a.server || a.longestQueue(t.client) == nil):
			err = s.full()
		}
	})
	return err
}

// countSlot counts a request that gets a slot.
func (a *Controller) countSlot(t *Ticket) {
	t.each(func(s *scope) { s.inFlight++ })
}

// await waits until the request gets a slot.
func (a *Controller) await(t *Ticket) error {
	select {
	case <-t.turn:
	case <-t.Done():
	case <-a.draining:
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case t.placed: // the slot is kept even if the context has ended meanwhile
		return nil
	case t.refused == nil:
		a.withdraw(t)
	}
	a.removeTicket(t)
	switch {
	case t.refused != nil:
		return t.refused
	case t.Err() != nil:
		return inference.Cause(t, t.Err())
	}
	return errStopping
}

// addTicket adds a ticket to the list and starts its context.
func (a *Controller) addTicket(t *Ticket) {
	a.count++
	a.given.add(t)
	if !t.Limit.IsZero() && (a.timerAt.IsZero() || t.Limit.Before(a.timerAt)) {
		if time.Until(t.Limit) <= 0 {
			t.End(context.DeadlineExceeded)
			return
		}
		a.setTimer(t.Limit)
	}
}

// removeTicket removes a ticket from the list.
func (a *Controller) removeTicket(t *Ticket) {
	a.given.remove(t)
	a.forget(t)
	a.count--
	if a.closed && a.count == 0 {
		close(a.idle)
	}
}

// leave releases the slot of a ticket and grants it to a queued request.
func (a *Controller) leave(t *Ticket) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !t.control {
		t.each(func(s *scope) { s.inFlight-- })
		a.grant()
	}
	a.settle(t) // releases the lock
	a.removeTicket(t)
}

// setTimer sets the timer.
func (a *Controller) setTimer(at time.Time) {
	a.timerAt = at
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Until(at), a.expire)
		return
	}
	a.timer.Reset(time.Until(at))
}

// expire ends the requests whose deadline has passed.
func (a *Controller) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.timerAt = time.Time{}
	for t := a.given.first; t != nil && !t.Limit.IsZero(); t = t.next {
		if t.Limit.After(now) {
			a.setTimer(t.Limit)
			return
		}
		t.End(context.DeadlineExceeded)
	}
}

// Draining returns a channel that is closed when no more requests are admitted.
func (a *Controller) Draining() <-chan struct{} { return a.draining }

// MaxInFlight returns the maximum number of requests in flight. 0 means no limit.
func (a *Controller) MaxInFlight() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bounds.Server.InFlight
}

// Leave makes Ready return an error, so that balancers send their requests elsewhere. Requests are
// still admitted until the drain begins.
func (a *Controller) Leave() { a.left.Do(func() { close(a.leaving) }) }

// Leaving returns a channel that is closed at the first call of Leave or of Drain.
func (a *Controller) Leaving() <-chan struct{} { return a.leaving }

// Ready returns nil until the first call of Leave or of Drain.
func (a *Controller) Ready() error {
	select {
	case <-a.leaving:
		return errStopping
	default:
		return nil
	}
}

// Drain refuses new and queued requests. It lets requests in flight continue until ctx ends, and
// then cancels them. When it returns, no request is in flight.
func (a *Controller) Drain(ctx context.Context) {
	a.Leave()
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

// stop cancels all requests in flight.
func (a *Controller) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for t := a.given.first; t != nil; t = t.next {
		t.End(errStopping)
	}
	if a.timer != nil {
		a.timer.Stop()
	}
}
