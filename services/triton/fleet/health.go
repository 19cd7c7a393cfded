package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

// The intervals and limits of the health checks.
const (
	askInterval = 500 * time.Millisecond // pause between two questions to an endpoint
	askLast     = 2 * time.Second        // longest pause between two questions to an endpoint that is out
	silence     = 2500 * time.Millisecond
	slowStart   = 10 * time.Second // time in which an endpoint that is back gets a growing share
	failedAsks  = 2                // consecutive failed questions after which an endpoint is out, if the last one failed quickly
	quick       = 500 * time.Millisecond
	relistLeft  = 3 * time.Second // maximum age of the models of an endpoint that is left out for a model
)

// health is the state of an endpoint.
type health struct {
	// out is true while the endpoint gets no requests. unready is true if its server reports that
	// it isn't ready: it gets requests only if no other endpoint can serve them.
	out, unready atomic.Bool
	// drained is true while an operator has taken the endpoint out. Its health is checked all the same.
	drained atomic.Bool
	// refuses is true while the endpoint is out because it refuses connections: it is surely down.
	refuses atomic.Bool
	// refusals is the number of refused connections. An answer to a question from before the last one
	// doesn't take the endpoint in.
	refusals atomic.Uint64
	// silent is true while the endpoint is out because nothing has arrived from it: a response takes it
	// in again. If it is out for another reason, only an answer to a question does: responses that
	// came before are still being read.
	silent atomic.Bool
	// back is the Unix time in nanoseconds at which the endpoint was taken in again; 0 if it has
	// been in since the start.
	back atomic.Int64
	// poke asks for a question at once, and stale for a new list of the models.
	poke, stale triton.Changes

	mu     sync.Mutex
	reason string // reason why the endpoint is out
	failed int    // number of consecutive failed questions

	models outcomes
}

// answer is the result of one question to an endpoint.
type answer struct {
	ready bool
	err   error
}

// watch is the state of [member.follow].
type watch struct {
	answers  chan answer
	asking   bool
	asked    time.Time     // time of the last question
	refusals uint64        // value of health.refusals at the last question
	next     time.Time     // time of the next question
	pause    time.Duration // pause before it
	alive    time.Time     // time of the last answer or response
	received uint64        // value of member.responses at the last look
	relisted time.Time     // time of the last relist
	unlisted bool          // whether the last list of the models failed; then the next list waits for an answer
	missed   bool          // whether a list was requested while unlisted
}

// follow asks the server at intervals until ctx ends.
func (m *member) follow(ctx context.Context) {
	w := &watch{answers: make(chan answer, 1), alive: time.Now(), pause: askInterval}
	tick, due := time.NewTicker(askInterval), time.NewTimer(silence)
	defer tick.Stop()
	defer due.Stop()
	m.ask(ctx, w)
	// The endpoints aren't asked in the same instant.
	w.next = time.Now().Add(rand.N(askInterval)) //nolint:gosec // no secret
	defer func() {
		if w.asking {
			<-w.answers
		}
	}()
	for {
		if !m.health.out.Load() { // otherwise the ticks suffice
			due.Reset(time.Until(w.alive.Add(silence)))
		}
		select {
		case <-ctx.Done():
			return
		case <-m.engine.Changed():
			m.relist(ctx, w)
		case <-m.health.poke:
			m.ask(ctx, w)
		case <-m.health.stale:
			m.relist(ctx, w)
		case a := <-w.answers:
			w.asking = false
			m.answered(ctx, w, a)
		case now := <-tick.C:
			m.look(ctx, w, now)
		case now := <-due.C:
			m.look(ctx, w, now)
		}
	}
}

// ask starts a question unless one is in progress.
func (m *member) ask(ctx context.Context, w *watch) {
	if w.asking {
		return
	}
	w.asking, w.asked, w.refusals = true, time.Now(), m.health.refusals.Load()
	w.next = w.asked.Add(w.pause)
	m.fleet.work.Go(func() {
		ready, err := m.engine.Probe(ctx, silence)
		w.answers <- answer{ready, err}
	})
}

// look takes the endpoint out if nothing has arrived for too long, takes it in if a response has
// arrived, and asks the next question.
func (m *member) look(ctx context.Context, w *watch, now time.Time) {
	if received := m.responses.Load(); received != w.received {
		w.received, w.alive = received, now
		if !m.health.out.Load() || m.health.silent.Load() && !m.health.refuses.Load() {
			m.takeIn(ctx, w)
		}
	}
	if now.Sub(w.alive) >= silence && !m.health.out.Load() {
		m.health.silent.Store(true)
		m.takeOut(fmt.Sprintf("no answer for %s", silence), nil)
	}
	if m.health.out.Load() { // a request may have come because most endpoints are out
		m.release(now.Add(-silence))
	}
	if m.health.models.takeBack(now) {
		m.startSlowly()
	}
	if known := m.listing.Load(); known != nil && m.fleet.routes.Load().left[m] && !m.health.out.Load() && min(now.Sub(known.at), now.Sub(w.relisted)) >= relistLeft {
		m.relist(ctx, w)
	}
	if !now.Before(w.next) {
		m.ask(ctx, w)
	}
}

// answered judges the answer to a question.
func (m *member) answered(ctx context.Context, w *watch, a answer) {
	if a.err == nil {
		w.alive = time.Now()
		m.setReady(a.ready)
		w.unlisted = false
		m.takeIn(ctx, w)
		if w.missed && !w.unlisted {
			w.missed = false
			m.relist(ctx, w)
		}
		return
	}
	if ctx.Err() != nil {
		return
	}
	m.health.mu.Lock()
	m.health.failed++
	often := m.health.failed >= failedAsks
	m.health.mu.Unlock()
	switch {
	case refused(a.err):
		m.refuses()
	case often && time.Since(w.asked) < quick:
		m.takeOut("the health check failed", a.err)
	}
	if m.health.out.Load() {
		w.pause = min(2*w.pause, askLast)
	}
}

// refused reports whether an error shows that no server listens on the address.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(err.Error(), "connection refused")
}

// setReady records what the server reports of itself.
func (m *member) setReady(ready bool) {
	if m.health.unready.Swap(!ready) == ready {
		m.fleet.shift()
	}
}

// takeIn takes the endpoint in again, with its present models, unless the server has refused a
// connection since the last question.
func (m *member) takeIn(ctx context.Context, w *watch) {
	w.pause = askInterval
	m.health.mu.Lock()
	m.health.failed = 0
	m.health.mu.Unlock()
	known := m.listing.Load() != nil
	if !m.health.out.Load() && known {
		return
	}
	if err := m.list(ctx, w); err != nil && !known {
		return // it can't serve anything yet; the next answer tries again
	}
	w.alive = time.Now()
	m.fleet.reroute()
	if m.health.out.Load() && m.health.refusals.Load() == w.refusals {
		m.health.models.forgive()
		if m.health.refuses.Load() { // the server was restarted, and its cache is empty
			m.fleet.balancer.Forget(m.endpoint)
		}
		m.startSlowly()
		m.health.out.Store(false)
		m.health.refuses.Store(false)
		m.health.silent.Store(false)
		m.log.Info("endpoint is back", "endpoint", m.address)
	}
	m.fleet.shift()
}

// startSlowly begins the slow start of the endpoint, after it or a model of it was out.
func (m *member) startSlowly() {
	m.health.back.Store(time.Now().UnixNano())
	m.fleet.balancer.StartSlowly(m.endpoint, m.fleet.elapsed())
}

// refuses takes the endpoint out because it refuses connections.
func (m *member) refuses() {
	m.health.refusals.Add(1)
	m.health.refuses.Store(true)
	m.health.silent.Store(false)
	m.takeOut("the connection was refused", nil)
}

// takeOut takes the endpoint out. Requests that wait for their first response there are repeated
// on other endpoints. The cause is for the log; it may be nil.
func (m *member) takeOut(reason string, cause error) {
	m.health.mu.Lock()
	m.health.reason = reason
	m.health.mu.Unlock()
	if m.health.out.Swap(true) {
		return
	}
	m.count.outs.Add(1)
	about := []any{"endpoint", m.address, "reason", reason}
	if cause != nil {
		about = append(about, "error", cause)
	}
	m.log.Warn("endpoint is out", about...)
	m.fleet.shift()
	m.release(time.Now())
}

// release repeats the requests that have waited for their first response since a time on other
// endpoints, if one is in.
func (m *member) release(since time.Time) {
	if in := inOnly(m.fleet.all()); slices.Contains(in, m) {
		return
	}
	_, reason := m.health.state(time.Now())
	m.abandon(errOut(reason), since)
}

// list reads the models. It blocks the health checks meanwhile, so it takes as long as a question at most, and a list
// that fails delays the next one until the server has answered a question.
func (m *member) list(ctx context.Context, w *watch) error {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	err := m.refresh(ctx)
	w.unlisted = err != nil
	return err
}

// relist reads the models again, because they may have changed or because the endpoint gets no
// requests for one of them. If the server doesn't answer in time, the next question decides whether
// the endpoint is out.
func (m *member) relist(ctx context.Context, w *watch) {
	if w.unlisted {
		w.missed = true
		return
	}
	w.relisted = time.Now()
	if err := m.list(ctx, w); err == nil {
		w.alive = time.Now()
	} else { // the previous listing stays
		if least := time.Now().Add(quick - silence); w.alive.Before(least) {
			w.alive = least
		}
		m.ask(ctx, w)
	}
	m.fleet.reroute()
	m.fleet.shift()
}

// state returns the state of the endpoint and the reason why it is out or not ready.
func (h *health) state(now time.Time) (inference.EndpointState, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	const unready = "the server reports that it isn't ready"
	switch {
	case h.drained.Load() && h.out.Load():
		return inference.EndpointDrained, h.reason
	case h.drained.Load() && h.unready.Load():
		return inference.EndpointDrained, unready
	case h.drained.Load():
		return inference.EndpointDrained, ""
	case h.out.Load():
		return inference.EndpointOut, h.reason
	case h.unready.Load():
		return inference.EndpointNotReady, unready
	case h.back.Load() != 0 && now.UnixNano()-h.back.Load() < int64(slowStart):
		return inference.EndpointStarting, ""
	}
	return inference.EndpointIn, ""
}

// askNow asks the server at once, after a request has failed there.
func (h *health) askNow() { h.poke.Notify() }

// relistNow reads the models of the server at once, after a request has found that they have
// changed.
func (h *health) relistNow() { h.stale.Notify() }
