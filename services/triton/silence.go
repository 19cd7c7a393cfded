package triton

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// silenceTicks is how often the clock ticks in the shorter one of the limits.
	silenceTicks = 8
	// earlyTicks don't count: the one under way when the silence begins.
	earlyTicks = 1
)

// Silences counts for an engine's streams how long each has waited for a response,
// by one clock that ticks rarely and only while there are streams. With a timer of
// its own each stream would have the runtime insert it, and wake a thread for it, at
// each response that it waits for. All methods may be called concurrently.
//
// There are two limits, as a request's first response comes after its time in Triton's
// queue, after its prompt, and, where the model answers in one piece, after all of the
// work. Only what follows it comes steadily.
type Silences struct {
	first, inactivity time.Duration
	tick              time.Duration
	idleEvery         int64 // ticks from one idle response to the next
	lookEvery         int64 // ticks from one look for a sign of life to the next
	firstLimit, limit int64 // ticks after which a stream is inactive
	now               atomic.Int64

	mu      sync.Mutex
	streams map[*Silence]struct{}
	clock   *time.Timer // nil before the first stream
	running bool
}

// NewSilences has idle responses due after keepAlive each. It ends streams without
// their first response after first, and others after inactivity.
func NewSilences(keepAlive, first, inactivity time.Duration) *Silences {
	tick := max(min(keepAlive, first, inactivity)/silenceTicks, time.Millisecond)
	return &Silences{
		first:      first,
		inactivity: inactivity,
		tick:       tick,
		idleEvery:  ticksIn(keepAlive, tick),
		lookEvery:  ticksIn(inactivity, tick),
		firstLimit: ticksIn(first, tick) + earlyTicks,
		limit:      ticksIn(inactivity, tick) + earlyTicks,
		streams:    map[*Silence]struct{}{},
	}
}

func ticksIn(d, tick time.Duration) int64 {
	return int64((d + tick - 1) / tick)
}

// Silence is that of one stream, whose consumer calls its methods.
type Silence struct {
	all    *Silences
	wake   chan<- struct{}
	cancel context.CancelCauseFunc
	look   func()
	// since is the tick at which the wait began, from 1, and negative for the first
	// response; 0 while the consumer waits for nothing.
	since    atomic.Int64
	answered bool
	told     int64 // idle responses in this silence
}

// Watch begins to watch over a stream that waits for nothing yet. Its consumer is
// woken by a token, if the channel has room for one, to ask [Silence.Idle]; the
// stream is cancelled when it becomes inactive. While the first response is awaited,
// look is called each time when the limit of the later ones has passed, to see whether
// anybody lives who could answer; it must not block, and nil is for none. The watch ends
// with [Silence.Stop].
func (a *Silences) Watch(s *Silence, wake chan<- struct{}, cancel context.CancelCauseFunc, look func()) {
	s.all, s.wake, s.cancel, s.look = a, wake, cancel, look
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

// ticked is called by the clock.
func (a *Silences) ticked() {
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
		if since < 0 && s.look != nil && ticks > earlyTicks && (ticks-earlyTicks)%a.lookEvery == 0 {
			s.look()
		}
		if ticks >= a.idleEvery+earlyTicks {
			select {
			case s.wake <- struct{}{}:
			default:
			}
		}
	}
}

// clockNow is the clock's tick.
func (a *Silences) clockNow() int64 { return a.now.Load() }

// since is the time since a tick, as coarse as the clock.
func (a *Silences) since(tick int64) time.Duration { return time.Duration(a.now.Load()-tick) * a.tick }

// Begin says that the consumer waits for a response, unless it did already.
func (s *Silence) Begin() {
	if s.since.Load() != 0 {
		return
	}
	since := s.all.now.Load() + 1
	if !s.answered {
		since = -since
	}
	s.since.Store(since)
}

// End says that a response has come.
func (s *Silence) End() {
	s.answered = true
	if s.since.Load() != 0 {
		s.since.Store(0)
		s.told = 0
	}
}

// Idle tells whether an idle response is due, and counts it as given.
func (s *Silence) Idle() bool {
	since := s.since.Load()
	if since == 0 {
		return false
	}
	since = max(since, -since)
	due := (s.all.now.Load() + 1 - since - earlyTicks) / s.all.idleEvery
	if due <= s.told {
		return false
	}
	s.told = due
	return true
}

// Stop ends the watch: after it the stream is neither woken nor cancelled.
func (s *Silence) Stop() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	delete(s.all.streams, s)
}
