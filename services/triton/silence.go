package triton

import "time"

// Silence counts for how long a stream has had no response, by a clock that
// ticks rarely. It is for one goroutine.
type Silence struct {
	clock     *time.Ticker
	ticks     int // since the last response
	nextIdle  int // ticks at which the next idle response is due
	idleEvery int // ticks from one idle response to the next
	limit     int // ticks after which the stream is inactive
}

// SilenceState is what a tick of the clock means.
type SilenceState uint8

// The states of a silence.
const (
	SilenceBrief   SilenceState = iota // nothing is due
	SilenceIdle                        // an idle response is due
	SilenceTooLong                     // the stream is inactive
)

const (
	// silenceTicks is how often the clock ticks in the shorter one of the limits.
	silenceTicks = 8
	// earlyTicks don't count: one may have waited for the consumer, one has begun
	// before the silence did.
	earlyTicks = 2
)

// NewSilence starts a clock, which [Silence.Stop] ends, for idle responses after
// keepAlive each and an end after inactivity.
func NewSilence(keepAlive, inactivity time.Duration) Silence {
	tick := max(min(keepAlive, inactivity)/silenceTicks, time.Millisecond)
	s := Silence{
		clock:     time.NewTicker(tick),
		idleEvery: ticksIn(keepAlive, tick),
		limit:     ticksIn(inactivity, tick) + earlyTicks,
	}
	s.End()
	return s
}

func ticksIn(d, tick time.Duration) int {
	return int((d + tick - 1) / tick)
}

// Clock says when to call [Silence.Tick].
func (s *Silence) Clock() <-chan time.Time { return s.clock.C }

// Stop ends the clock.
func (s *Silence) Stop() { s.clock.Stop() }

// End starts the count anew: a response has come.
func (s *Silence) End() {
	s.ticks, s.nextIdle = 0, s.idleEvery+earlyTicks
}

// Tick counts and says what is due.
func (s *Silence) Tick() SilenceState {
	s.ticks++
	switch {
	case s.ticks >= s.limit:
		return SilenceTooLong
	case s.ticks >= s.nextIdle:
		s.nextIdle += s.idleEvery
		return SilenceIdle
	}
	return SilenceBrief
}
