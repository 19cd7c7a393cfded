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
type Silences struct {
	inactivity time.Duration
	tick       time.Duration
	idleEvery  int64 // ticks from one idle response to the next
	limit      int64 // ticks after which a stream is inactive
	now        atomic.Int64

	mu      sync.Mutex
	streams map[*Silence]struct{}
	clock   *time.Timer // nil before the first stream
	running bool
}

// NewSilences has idle responses due after keepAlive each, and ends streams after
// inactivity.
func NewSilences(keepAlive, inactivity time.Duration) *Silences {
	tick := max(min(keepAlive, inactivity)/silenceTicks, time.Millisecond)
	return &Silences{
		inactivity: inactivity,
		tick:       tick,
		idleEvery:  ticksIn(keepAlive, tick),
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
	// since is the tick at which the wait began, from 1; 0 while the consumer waits
	// for nothing.
	since atomic.Int64
	told  int64 // idle responses in this silence
}

// Watch begins to watch over a stream that waits for nothing yet. Its consumer is
// woken by a token, if the channel has room for one, to ask [Silence.Idle]; the
// stream is cancelled when it becomes inactive. It ends with [Silence.Stop].
func (a *Silences) Watch(s *Silence, wake chan<- struct{}, cancel context.CancelCauseFunc) {
	s.all, s.wake, s.cancel = a, wake, cancel
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
		switch ticks := now + 1 - since; {
		case ticks >= a.limit:
			s.cancel(Inactive(a.inactivity))
		case ticks >= a.idleEvery+earlyTicks:
			select {
			case s.wake <- struct{}{}:
			default:
			}
		}
	}
}

// Begin says that the consumer waits for a response, unless it did already.
func (s *Silence) Begin() {
	if s.since.Load() == 0 {
		s.since.Store(s.all.now.Load() + 1)
	}
}

// End says that a response has come.
func (s *Silence) End() {
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
