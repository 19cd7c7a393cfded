package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trident-inference/trident/test/cost/probe"
)

// meter measures the cost of requests to one process.
type meter struct {
	client  *client
	process *process
	atRest  bool                    // no request was sent since the process was at rest
	began   time.Duration           // CPU time of the process at the start of the last runs
	floor   int64                   // minimum resident memory of the process at rest
	bases   map[*call]time.Duration // CPU time of the smallest valid request, by call
	zips    map[*call]bool          // true for calls whose smallest request gets the same response when it is gzipped
	refused map[*call]bool          // true for calls without gzip support of which a gzipped request was measured
	// tried has the uncompressed bodies that were measured already, with their steps. again may
	// measure a step with more runs.
	tried map[body]*step
	sent  int // number of requests
}

// body identifies the body of a target with this many units.
type body struct {
	target *target
	units  int
}

func newMeter(c *client, p *process) *meter {
	return &meter{client: c, process: p, bases: map[*call]time.Duration{}, zips: map[*call]bool{}, refused: map[*call]bool{}, tried: map[body]*step{}}
}

const (
	enoughRuns = 20
	// enoughTime is the total CPU time at which a step needs fewer runs.
	enoughTime = time.Second
	// repeats is the maximum number of times that a step beyond a bound is measured again. The
	// first time uses fewRuns, which are enough for most steps; later ones use enoughRuns.
	repeats = 4
	fewRuns = 4
)

// run returns the CPU time of a number of runs.
func (m *meter) run(ctx context.Context, p *encodedRequest, runs int) (time.Duration, answer, error) {
	var last answer
	before, err := m.start(ctx)
	if err != nil {
		return 0, last, err
	}
	m.began = before
	for range runs {
		m.sent++
		if last, err = m.client.send(ctx, p); err != nil {
			return 0, last, err
		}
	}
	after, err := m.process.awaitIdle(ctx)
	m.atRest = err == nil
	return after - before, last, err
}

// start waits until the process is at rest, and returns the CPU time that it has used.
func (m *meter) start(ctx context.Context) (time.Duration, error) {
	if m.atRest {
		return m.process.cpu()
	}
	return m.process.awaitIdle(ctx)
}

// base returns the CPU time of the smallest valid request of a call.
func (m *meter) base(ctx context.Context, c *call) (time.Duration, error) {
	if known, ok := m.bases[c]; ok {
		return known, nil
	}
	var classes []string
	for _, zip := range []bool{true, false} {
		p, err := c.pack(c.base, zip)
		if err != nil {
			return 0, err
		}
		_, got, err := m.run(ctx, p, 1) // opens the connections
		if err != nil {
			return 0, err
		}
		if classes = append(classes, got.class()); zip {
			continue
		}
		used, _, err := m.run(ctx, p, enoughRuns)
		if err != nil {
			return 0, err
		}
		m.bases[c] = used / enoughRuns
	}
	m.zips[c] = classes[0] == classes[1]
	return m.bases[c], nil
}

// once measures one run, including its memory.
func (m *meter) once(ctx context.Context, p *encodedRequest, units int) (*step, error) {
	base, err := m.base(ctx, p.call)
	if err != nil {
		return nil, err
	}
	s := &step{units: units, decoded: p.decoded, sent: len(p.body), runs: 1}
	var used time.Duration
	if used, s.memory, s.answer, err = m.peak(ctx, p); err != nil {
		return nil, err
	}
	s.cpu = max(0, used-base)
	if s.cpu > mostCPU { // the CPU time may include a call of the model
		if err := m.planned(ctx, p, s); err != nil {
			return nil, err
		}
	}
	if s.memory > s.memoryBound() { // the memory may include garbage and memory of previous requests
		err = m.held(ctx, p, s)
	}
	return s, err
}

// planned measures the CPU time of a step up to the call of the model with one more run.
func (m *meter) planned(ctx context.Context, p *encodedRequest, s *step) error {
	if _, err := m.process.command(probe.Watch); err != nil {
		return err
	}
	m.atRest = false
	if _, _, err := m.run(ctx, p, 1); err != nil {
		return err
	}
	called, err := m.process.command(probe.Called)
	if err != nil || called == 0 {
		return err
	}
	m.atRest = false
	used := time.Duration(called) - m.began
	if s.planned == 0 || used < s.planned {
		s.planned = used
	}
	return nil
}

// held measures the memory that a request holds.
func (m *meter) held(ctx context.Context, p *encodedRequest, s *step) (err error) {
	if err := m.settle(probe.FrequentGC); err != nil {
		return err
	}
	if _, s.memory, _, err = m.peak(ctx, p); err != nil {
		return err
	}
	m.atRest = false
	_, err = m.process.command(probe.DefaultGC)
	return err
}

// peak runs a request once. The returned memory is its peak minus the minimum of the process at
// rest. The peak includes memory of previous requests that isn't freed.
func (m *meter) peak(ctx context.Context, p *encodedRequest) (time.Duration, int64, answer, error) {
	if err := m.process.resetPeak(); err != nil {
		return 0, 0, answer{}, err
	}
	now, _, err := m.process.resident()
	if err != nil {
		return 0, 0, answer{}, err
	}
	m.floor = min(m.floor, now)
	used, got, err := m.run(ctx, p, 1)
	if err != nil {
		return 0, 0, got, err
	}
	_, peak, err := m.process.resident()
	return used, peak - m.floor, got, err
}

// settle makes the process free its memory, which is the floor of later measurements.
func (m *meter) settle(command string) error {
	if _, err := m.process.command(command); err != nil {
		return err
	}
	m.atRest = false
	now, _, err := m.process.resident()
	m.floor = now
	return err
}

// refine sets a step's CPU time to the mean of more runs. The minimum would omit the garbage
// collections that small requests cause sometimes and large ones always.
func (m *meter) refine(ctx context.Context, t *target, zip bool, s *step, runs int) error {
	p, err := t.pack(t.filled(s.units), zip)
	if err != nil {
		return err
	}
	used, _, err := m.run(ctx, p, runs)
	if err != nil {
		return err
	}
	s.cpu, s.runs = max(0, used/time.Duration(runs)-m.bases[p.call]), runs
	return m.planned(ctx, p, s)
}

// runsFor returns the number of runs for a step.
func runsFor(s *step) int {
	return max(1, min(enoughRuns, int(enoughTime/max(s.cpu, time.Microsecond))))
}

// steps measures bodies of several sizes, from the largest on. If a step takes too little CPU time
// to be compared with smaller ones, the smaller ones aren't measured. Steps beyond a bound are
// measured with more runs.
func (m *meter) steps(ctx context.Context, t *target, units []int, zip bool) ([]*step, error) {
	var steps []*step
	for _, n := range slices.Backward(units) {
		s, err := m.step(ctx, t, n, zip)
		if err != nil {
			return nil, fmt.Errorf("%s with %d units: %w", t, n, err)
		}
		compared := len(steps) == 0 || steps[0].compared()
		steps = slices.Insert(steps, 0, s)
		if !compared || s.answer.none {
			break
		}
	}
	for i := range steps {
		for try := 0; try < repeats && !steps[i].answer.none && over(steps, i); try++ {
			runs := runsFor(steps[i])
			if try == 0 {
				runs = min(runs, fewRuns)
			}
			if err := m.again(ctx, t, zip, steps, i, runs); err != nil {
				return nil, err
			}
		}
	}
	return steps, nil
}

// step measures one run, unless the same body has been measured.
func (m *meter) step(ctx context.Context, t *target, units int, zip bool) (*step, error) {
	if known := m.tried[body{t, units}]; known != nil && !zip {
		return known, nil
	}
	p, err := t.pack(t.filled(units), zip)
	if err != nil {
		return nil, err
	}
	s, err := m.once(ctx, p, units)
	if err == nil && !zip {
		m.tried[body{t, units}] = s
	}
	return s, err
}

// again measures a step beyond a bound with more runs. It measures the previous step with so many
// runs that both cause about the same number of garbage collections.
func (m *meter) again(ctx context.Context, t *target, zip bool, steps []*step, i, runs int) error {
	if i > 0 {
		if err := m.refine(ctx, t, zip, steps[i-1], sizeFactor*runs); err != nil {
			return err
		}
	}
	return m.refine(ctx, t, zip, steps[i], runs)
}
