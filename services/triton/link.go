package triton

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// link is a connection, or a pair of connections: direct serves the streams, unless it is nil, and
// grpc-go all other calls. The links' mutex guards the fields below direct.
type link struct {
	*grpc.ClientConn
	direct *direct

	streams int // number of streams on the connection
	probing bool
	waiting []context.CancelCauseFunc // cancel functions of streams that end if the server fails the health check
}

// Close ends the connections and the calls on them.
func (l *link) Close() error {
	l.direct.close()
	return l.ClientConn.Close()
}

// links replaces a dead connection that no side has closed, for example because a
// router has dropped its state. gRPC would wait on it indefinitely. Pings can't
// detect this, because tritonserver accepts at most one in five minutes.
type links struct {
	mu      sync.Mutex
	retired map[*link]struct{} // replaced connections that still have streams; these streams may succeed
	work    sync.WaitGroup
}

// hold counts a stream on a connection. release removes the stream from the
// count.
func (e *Engine) hold(l *link) (release func()) {
	e.links.mu.Lock()
	defer e.links.mu.Unlock()
	l.streams++
	return func() {
		e.links.mu.Lock()
		defer e.links.mu.Unlock()
		l.streams--
		e.links.closeRetired(l)
	}
}

// closeRetired closes a retired connection without streams.
func (r *links) closeRetired(l *link) {
	if _, retired := r.retired[l]; retired && l.streams == 0 {
		delete(r.retired, l)
		_ = l.Close() // no stream uses the connection
	}
}

// checkLink checks a connection after a timeout. If the server fails a health check on
// it, new requests use a new connection, and the stream is cancelled if cancel isn't
// nil. The check continues after ctx ends.
func (e *Engine) checkLink(ctx context.Context, l *link, cancel context.CancelCauseFunc) {
	e.links.mu.Lock()
	defer e.links.mu.Unlock()
	switch present := e.conn.Load(); {
	case present == nil:
		return // Stop ends all streams
	case cancel != nil:
		l.waiting = append(l.waiting, cancel)
	case present != l:
		return // the connection has been replaced already
	}
	if l.probing {
		return
	}
	l.probing = true
	e.links.work.Go(func() { e.probe(context.WithoutCancel(ctx), l) })
}

// probeShare divides CallTimeout: a health check may take this part of a call's
// time limit.
const probeShare = 2

func (e *Engine) probe(ctx context.Context, l *link) {
	// Stop ends the health check by closing the connection.
	ctx, cancel := context.WithTimeout(ctx, e.config.CallTimeout/probeShare)
	defer cancel()
	err := l.live(ctx)
	e.links.mu.Lock()
	defer e.links.mu.Unlock()
	waiting := l.waiting
	l.probing, l.waiting = false, nil
	if err == nil || ctx.Err() == nil { // the server responded, or gRPC detected the failure itself
		return
	}
	for _, cancel := range waiting {
		cancel(errHealthCheckFailed)
	}
	e.replace(l)
}

// live asks the server on each connection of the link whether it is live.
func (l *link) live(ctx context.Context) error {
	direct := make(chan error, 1)
	go func() { direct <- l.direct.live(ctx) }()
	_, err := kserve.NewGRPCInferenceServiceClient(l).ServerLive(ctx, &kserve.ServerLiveRequest{})
	return errors.Join(err, <-direct)
}

// replace makes new requests use a new connection. The streams of the old one continue. The
// caller must hold the links' mutex.
func (e *Engine) replace(l *link) {
	if e.conn.Load() != l {
		return
	}
	fresh, err := e.dial()
	if err != nil {
		return
	}
	if !e.conn.CompareAndSwap(l, fresh) { // the engine was stopped meanwhile
		_ = fresh.Close()
		return
	}
	e.links.retired[l] = struct{}{}
	e.links.closeRetired(l)
}

// Probe asks the server whether it is ready, and waits for the answer at most for the limit. If
// there is no answer, later calls use a new connection, because the network may have dropped the
// old one without closing it. Unlike [Engine.Ready], Probe ignores what is known of single models.
func (e *Engine) Probe(ctx context.Context, limit time.Duration) (ready bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	conn, err := e.connection(ctx)
	if err != nil {
		return false, err
	}
	answer, err := kserve.NewGRPCInferenceServiceClient(conn).ServerReady(ctx, &kserve.ServerReadyRequest{})
	if err == nil {
		return answer.GetReady(), nil
	}
	if errors.Is(context.Cause(ctx), errTimeout) {
		e.links.mu.Lock()
		defer e.links.mu.Unlock()
		e.replace(conn)
	}
	return false, e.failure(ctx, err)
}

// end closes the retired connections and waits for the health checks.
func (r *links) end() {
	r.mu.Lock()
	for l := range r.retired {
		_ = l.Close()
	}
	clear(r.retired)
	r.mu.Unlock()
	r.work.Wait()
}
