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
	closed   bool
	idle     chan struct{} // closed when closed && inFlight == 0
	// stopping ends with errStopping when waiting for requests is over: it is no
	// request's context but cancels all.
	stopping context.Context //nolint:containedctx // the lifetime of the service
	stop     context.CancelCauseFunc
}

func newAdmission(limit int) *admission {
	a := &admission{limit: limit, idle: make(chan struct{})}
	a.stopping, a.stop = context.WithCancelCause(context.Background())
	return a
}

// enter admits a request. The context it gives ends with the client, after
// timeout (0: never), or when the service stops; leave must be called.
func (a *admission) enter(ctx context.Context, timeout time.Duration) (context.Context, func(), error) {
	if err := a.take(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(a.stopping, func() { cancel(errStopping) })
	var done context.CancelFunc = func() {}
	if timeout > 0 {
		ctx, done = context.WithTimeout(ctx, timeout)
	}
	return ctx, func() {
		done()
		unhook()
		cancel(nil)
		a.leave()
	}, nil
}

func (a *admission) take() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return errStopping
	case a.limit > 0 && a.inFlight >= a.limit:
		return &Error{
			Code: CodeOverloaded, Reason: ReasonRateLimit, RetryAfter: time.Second,
			Message: fmt.Sprintf("%d requests are being served, the most that this server takes: try again", a.inFlight),
		}
	}
	a.inFlight++
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

func (a *admission) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inFlight--
	if a.closed && a.inFlight == 0 {
		close(a.idle)
	}
}

// drain refuses new requests, waits for those in flight until ctx ends, then
// cancels the rest and waits for them.
func (a *admission) drain(ctx context.Context) {
	a.mu.Lock()
	first := !a.closed
	a.closed = true
	if first && a.inFlight == 0 {
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
