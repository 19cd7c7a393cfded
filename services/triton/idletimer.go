package triton

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// ticksPerLimit is the number of ticks in the shortest of the limits.
	ticksPerLimit = 8
	// earlyTicks is subtracted, because the tick in progress when the wait
	// starts is incomplete.
	earlyTicks = 1
)

// IdleTimers measures how long each stream of an engine has waited for a response. It
// uses one clock, which ticks rarely and only while there are streams. With a timer
// for each stream, the runtime would insert the timer, and wake a thread for it, for
// each response that a stream waits for. All methods may be called concurrently.
//
// There are two limits. The first response takes the time in Triton's queue and the
// time of the prompt. If the model doesn't stream, it takes the time of all work.
// Later responses come steadily.
type IdleTimers struct {
	first, inactivity time.Duration
	tick              time.Duration
	idleEvery         int64 // number of ticks between two idle responses (keep-alives to the consumer)
	checkEvery        int64 // number of ticks between two health checks while a stream waits for its first response
	firstLimit, limit int64 // number of ticks after which a stream fails as inactive, before and after its first response
	now               atomic.Int64

	mu      sync.Mutex
	streams map[*IdleTimer]struct{}
	clock   *time.Timer // timer of the ticks; nil before the first stream
	running bool
}

// NewIdleTimers returns a clock for streams. An idle response is due each keepAlive.
// A stream without its first response ends after first, and another stream after
// inactivity.
func NewIdleTimers(keepAlive, first, inactivity time.Duration) *IdleTimers {
	tick := max(min(keepAlive, first, inactivity)/ticksPerLimit, time.Millisecond)
	return &IdleTimers{
		first:      first,
		inactivity: inactivity,
		tick:       tick,
		idleEvery:  ticksIn(keepAlive, tick),
		checkEvery: ticksIn(inactivity, tick),
		firstLimit: ticksIn(first, tick) + earlyTicks,
		limit:      ticksIn(inactivity, tick) + earlyTicks,
		streams:    map[*IdleTimer]struct{}{},
	}
}

func ticksIn(d, tick time.Duration) int64 {
	return int64((d + tick - 1) / tick)
}

// IdleTimer is the wait of one stream. The stream's consumer calls its methods.
type IdleTimer struct {
	all    *IdleTimers
	wake   chan<- struct{}
	cancel context.CancelCauseFunc
	check  func()
	// since is the tick at which the wait started, counted from 1. It is negative
	// for the first response, and 0 while the consumer doesn't wait.
	since    atomic.Int64
	answered bool
	// reported is the number of idle responses (keep-alives from Trident to the consumer) that
	// were due when Idle last returned true. It is 0 at the start of each wait.
	reported int64
}

// Watch starts to watch a stream that doesn't wait yet. The clock sends a token on wake,
// if the channel has room, when the consumer should call s.Idle. The clock cancels the
// stream when the stream becomes inactive. While the stream waits for its first
// response, the clock calls look each time the inactivity limit has passed, to check the
// server's health. look must not block and may be nil. The watch ends with s.Stop.
func (a *IdleTimers) Watch(s *IdleTimer, wake chan<- struct{}, cancel context.CancelCauseFunc, look func()) {
	s.all, s.wake, s.cancel, s.check = a, wake, cancel, look
	a.mu.Lock()
	defer a.mu.Unlock()
	a.streams[s] = struct{}{}
	if a.running {
		return
	}
	a.running = true
	if a.clock == nil {
		a.clock = time.AfterFunc(a.tick, a.ticked)
	} else {
		a.clock.Reset(a.tick)
	}
}

// ticked runs at each tick of the clock.
func (a *IdleTimers) ticked() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running = len(a.streams) > 0; !a.running {
		return
	}
	a.clock.Reset(a.tick)
	now := a.now.Add(1)
	for s := range a.streams {
		since := s.since.Load()
		if since == 0 {
			continue
		}
		ticks, limit, allowed := now+1-since, a.limit, a.inactivity
		if since < 0 {
			ticks, limit, allowed = now+1+since, a.firstLimit, a.first
		}
		if ticks >= limit {
			s.cancel(Inactive(allowed))
			continue
		}
		if since < 0 && s.check != nil && ticks > earlyTicks && (ticks-earlyTicks)%a.checkEvery == 0 {
			s.check()
		}
		if ticks >= a.idleEvery+earlyTicks {
			select {
			case s.wake <- struct{}{}:
			default:
			}
		}
	}
}

// clockNow returns the clock's current tick.
func (a *IdleTimers) clockNow() int64 { return a.now.Load() }

// since returns the time since a tick, with the clock's resolution.
func (a *IdleTimers) since(tick int64) time.Duration {
	return time.Duration(a.now.Load()-tick) * a.tick
}

// Begin marks that the consumer waits for a response. It has no effect during a
// wait.
func (s *IdleTimer) Begin() {
	if s.since.Load() != 0 {
		return
	}
	since := s.all.now.Load() + 1
	if !s.answered {
		since = -since
	}
	s.since.Store(since)
}

// End marks that a response has arrived.
func (s *IdleTimer) End() {
	s.answered = true
	if s.since.Load() != 0 {
		s.since.Store(0)
		s.reported = 0
	}
}

// Idle reports whether an idle response is due, and counts it as sent.
func (s *IdleTimer) Idle() bool {
	since := s.since.Load()
	if since == 0 {
		return false
	}
	since = max(since, -since)
	due := (s.all.now.Load() + 1 - since - earlyTicks) / s.all.idleEvery
	if due <= s.reported {
		return false
	}
	s.reported = due
	return true
}

// Stop ends the watch. After Stop, the stream is neither woken nor cancelled.
func (s *IdleTimer) Stop() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	delete(s.all.streams, s)
}
