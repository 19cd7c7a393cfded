package inference

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// errStopping is the cause of contexts that end because the service stops.
var errStopping = &Error{
	Code: CodeUnavailable, Reason: ReasonShuttingDown, RetryAfter: 5 * time.Second,
	Message: "the server is shutting down",
}

// admission counts the requests in flight and bounds them.
type admission struct {
	limit int // 0: no limit

	mu       sync.Mutex
	inFlight int
	controls int // loads and unloads, which the limit isn't for
	closed   bool
	idle     chan struct{} // closed when closed and neither is left
	draining chan struct{} // closed when closed
	// stopping ends with errStopping when waiting for requests is over: it is no
	// request's context but cancels all.
	stopping context.Context //nolint:containedctx // the lifetime of the service
	stop     context.CancelCauseFunc
}

func newAdmission(limit int) *admission {
	a := &admission{limit: limit, idle: make(chan struct{}), draining: make(chan struct{})}
	a.stopping, a.stop = context.WithCancelCause(context.Background())
	return a
}

// enter admits a request. The context it gives ends with the client, after
// timeout (0: never), or when the service stops; leave must be called.
func (a *admission) enter(ctx context.Context, timeout time.Duration) (context.Context, func(), error) {
	if err := a.take(&a.inFlight, a.limit); err != nil {
		return nil, nil, err
	}
	ctx, end := a.begin(ctx)
	var done context.CancelFunc = func() {}
	if timeout > 0 {
		ctx, done = context.WithTimeout(ctx, timeout)
	}
	return ctx, func() {
		done()
		end()
		a.leave(&a.inFlight)
	}, nil
}

// enterControl admits what operators ask for: it has neither limit nor timeout.
// The context it gives ends with the client or when the service stops; leave must
// be called.
func (a *admission) enterControl(ctx context.Context) (_ context.Context, leave func(), err error) {
	if err := a.take(&a.controls, 0); err != nil {
		return nil, nil, err
	}
	ctx, end := a.begin(ctx)
	return ctx, func() {
		end()
		a.leave(&a.controls)
	}, nil
}

// begin makes a context that ends when the service stops, too.
func (a *admission) begin(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(a.stopping, func() { cancel(errStopping) })
	return ctx, func() {
		unhook()
		cancel(nil)
	}
}

func (a *admission) take(count *int, limit int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return errStopping
	case limit > 0 && *count >= limit:
		return &Error{
			Code: CodeOverloaded, Reason: ReasonRateLimit, RetryAfter: time.Second,
			Message: fmt.Sprintf("%d requests are being served, the most that this server takes: try again", *count),
		}
	}
	*count++
	return nil
}

// ready is nil until the drain begins.
func (a *admission) ready() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return errStopping
	}
	return nil
}

func (a *admission) leave(count *int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*count--
	if a.closed && a.inFlight+a.controls == 0 {
		close(a.idle)
	}
}

// drain refuses new requests, waits for those in flight until ctx ends, then
// cancels the rest and waits for them.
func (a *admission) drain(ctx context.Context) {
	a.mu.Lock()
	first := !a.closed
	a.closed = true
	if first {
		close(a.draining)
	}
	if first && a.inFlight+a.controls == 0 {
		close(a.idle)
	}
	a.mu.Unlock()
	select {
	case <-a.idle:
	case <-ctx.Done():
	}
	a.stop(errStopping)
	<-a.idle
}
