package triton

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// link is a connection. What follows it is guarded by the links' mutex.
type link struct {
	*grpc.ClientConn

	streams int // on it
	probing bool
	waiting []context.CancelCauseFunc // of streams that want to know whether the server lives
}

// links replace a connection on which nothing comes back though nobody closes it, as
// of a router that has forgotten it: gRPC would wait on it for ever. Pings can't find
// it, as tritonserver takes no more than one in five minutes.
type links struct {
	mu      sync.Mutex
	retired map[*link]struct{} // with streams on them, that may yet end well
	work    sync.WaitGroup
}

// hold counts a stream on a connection; the function that it gives ends that.
func (e *Engine) hold(l *link) (release func()) {
	e.links.mu.Lock()
	defer e.links.mu.Unlock()
	l.streams++
	return func() {
		e.links.mu.Lock()
		defer e.links.mu.Unlock()
		l.streams--
		e.links.bury(l)
	}
}

// bury closes a retired connection without streams.
func (r *links) bury(l *link) {
	if _, retired := r.retired[l]; retired && l.streams == 0 {
		delete(r.retired, l)
		_ = l.Close() // nobody's any more
	}
}

// suspect is for a connection on which something didn't come in time. Unless the
// server says by it that it lives, new requests get another one, and the stream that
// asks, if it gives how to cancel it, ends. The look outlives the one who asks for it.
func (e *Engine) suspect(ctx context.Context, l *link, cancel context.CancelCauseFunc) {
	e.links.mu.Lock()
	defer e.links.mu.Unlock()
	switch present := e.conn.Load(); {
	case present == nil:
		return // everything on it ends
	case cancel != nil:
		l.waiting = append(l.waiting, cancel)
	case present != l:
		return // it was found to be dead already
	}
	if l.probing {
		return
	}
	l.probing = true
	e.links.work.Go(func() { e.probe(context.WithoutCancel(ctx), l) })
}

// probeShare is the part of a call's time limit that a sign of life may take.
const probeShare = 2

func (e *Engine) probe(ctx context.Context, l *link) {
	// Stop ends it by closing the connection.
	ctx, cancel := context.WithTimeout(ctx, e.config.CallTimeout/probeShare)
	defer cancel()
	_, err := kserve.NewGRPCInferenceServiceClient(l).ServerLive(ctx, &kserve.ServerLiveRequest{})
	e.links.mu.Lock()
	defer e.links.mu.Unlock()
	waiting := l.waiting
	l.probing, l.waiting = false, nil
	if err == nil || ctx.Err() == nil { // an answer, or a failure that gRPC sees too
		return
	}
	for _, cancel := range waiting {
		cancel(errLifeless)
	}
	if e.conn.Load() != l {
		return
	}
	fresh, err := e.dial()
	if err != nil {
		return
	}
	if !e.conn.CompareAndSwap(l, fresh) { // stopped meanwhile
		_ = fresh.Close()
		return
	}
	e.links.retired[l] = struct{}{}
	e.links.bury(l)
}

// end closes what is retired and waits for the probe.
func (r *links) end() {
	r.mu.Lock()
	for l := range r.retired {
		_ = l.Close()
	}
	clear(r.retired)
	r.mu.Unlock()
	r.work.Wait()
}
