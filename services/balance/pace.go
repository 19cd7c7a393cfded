package balance

import (
	"math"
	"time"
)

// PaceResponses is the number of responses of a request between two calls of
// [Balancer.Progress].
const PaceResponses = 8

// Constants of the paces and of what follows from them. They were chosen by cmd/tridentsim.
const (
	// paceWindow is half of the time in which the shortest interval of an endpoint is sought.
	paceWindow = time.Second
	// usualShare is the share of a new interval in the usual one of its model.
	usualShare = 0.001
	// mostUsual is the maximum number of models with a usual interval of their own.
	mostUsual = 1024
	// steerInterval is the time between two changes of weights.
	steerInterval = time.Second
	// steerRate is the relative change of a weight per second, for an endpoint that is slower
	// than the mean by the factor e. Homes move slowly, as a prefix that moves is computed again.
	steerRate = 0.02
	// steerFrom is the relative difference of an endpoint's pace from the mean below which its
	// weight doesn't change.
	steerFrom = 0.05
	// steerDecay is the share that a change of a weight loses per second, so that a replica that
	// was started later agrees with the others after some minutes.
	steerDecay = 0.0005
	// mostSteering is the logarithm of the highest factor of a weight: 2.
	mostSteering = 0.7
)

// usual is the usual interval between two responses of a model, in nanoseconds.
type usual float64

// pace is the shortest interval between the responses of requests at an endpoint, in relation
// to the usual one of their models. All requests of an inference server get a token in each of
// its steps, and a step is longer the more requests it has. So each replica sees the load of
// all replicas in the intervals of its own requests. The shortest interval is that of a step
// without prompts, whatever clients that read slowly do to other intervals.
type pace struct {
	began          time.Duration // of the current window
	previous, this float64       // shortest intervals of the previous window and of the current one; 0 is unknown
}

// advance begins a new window if it is time.
func (p *pace) advance(now time.Duration) {
	switch passed := now - p.began; {
	case passed >= 2*paceWindow:
		p.previous, p.this, p.began = 0, 0, now
	case passed >= paceWindow:
		p.previous, p.this, p.began = p.this, 0, now
	}
}

// add adds an interval.
func (p *pace) add(interval float64, now time.Duration) {
	p.advance(now)
	if p.this == 0 || interval < p.this {
		p.this = interval
	}
}

// shortest returns the shortest interval, or 0 if none is known.
func (p *pace) shortest(now time.Duration) float64 {
	p.advance(now)
	if p.this == 0 || p.previous == 0 {
		return max(p.this, p.previous)
	}
	return min(p.this, p.previous)
}

// usualOf returns the usual interval of a model.
func (b *Balancer) usualOf(model string) *usual {
	u := b.usual[model]
	if u == nil {
		if len(b.usual) >= mostUsual {
			clear(b.usual)
		}
		u = new(usual)
		b.usual[model] = u
	}
	return u
}

// Progress reports that further responses of a request have arrived. It is called at the first
// response, and after each [PaceResponses] further ones. now is the same time as that of
// [Balancer.Choose].
func (b *Balancer) Progress(a *Assignment, now time.Duration) {
	if a.usual == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	interval := float64(now-a.since) / PaceResponses
	first := a.since == 0
	a.since = max(now, 1)
	e := b.state(a.Endpoint)
	if e == nil || first || interval <= 0 {
		return
	}
	if *a.usual == 0 {
		*a.usual = usual(interval)
	}
	*a.usual += usual(usualShare * (interval - float64(*a.usual)))
	e.pace.add(interval/float64(*a.usual), now)
}

// Pace returns the shortest interval between responses of an endpoint's requests in the last
// seconds, in relation to the usual one of their models. It returns 0 if none is known.
func (b *Balancer) Pace(e Endpoint, now time.Duration) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := b.state(e)
	if state == nil {
		return 0
	}
	return state.pace.shortest(now)
}

// steer changes the weights by which shared prefixes have their homes, at most once in
// steerInterval: those of endpoints that are slower than others decrease. A plain hash gives
// some endpoints more shared prefixes than others: with 20 each, every third one has 4 or more
// too many or too few. Replicas see the same paces, so that they agree on almost all homes.
func (b *Balancer) steer(now time.Duration) {
	if now-b.steered < steerInterval {
		return
	}
	passed := min((now - b.steered).Seconds(), 5)
	b.steered = now
	sum, known := 0.0, 0
	for slot := range b.endpoints {
		if interval := b.endpoints[slot].pace.shortest(now); interval > 0 {
			sum += interval
			known++
		}
	}
	if known < 2 {
		return
	}
	mean := sum / float64(known)
	for slot := range b.endpoints {
		e := &b.endpoints[slot]
		if interval := e.pace.shortest(now); interval > 0 {
			e.steering -= steerRate * passed * beyond(interval/mean-1, steerFrom)
			e.steering *= 1 - steerDecay*passed
		}
	}
	b.centre()
}

// centre moves all weights so that the mean of their logarithms is 0, and bounds them.
func (b *Balancer) centre() {
	sum, used := 0.0, 0
	for slot := range b.endpoints {
		if e := &b.endpoints[slot]; e.used {
			sum += e.steering
			used++
		}
	}
	mean := sum / float64(max(used, 1))
	for slot := range b.endpoints {
		e := &b.endpoints[slot]
		e.steering = max(min(e.steering-mean, mostSteering), -mostSteering)
		e.factor = math.Exp(e.steering)
	}
}

// beyond returns the part of a difference, of at most a half, that is more than the limit.
func beyond(difference, limit float64) float64 {
	size := min(math.Abs(difference), 0.5)
	return math.Copysign(max(size-limit, 0), difference)
}
