package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// event is the end of a server's step, the arrival of a request, or a call.
type event struct {
	at      time.Duration
	order   int // of events at the same time
	server  int
	request *request
	call    func() error
}

// before reports whether the event comes before another one.
func (e event) before(other event) bool {
	return e.at < other.at || e.at == other.at && e.order < other.order
}

// queue is a binary heap of events.
type queue []event

func (q *queue) push(e event) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

// pop removes the first event. The queue isn't empty.
func (q *queue) pop() event {
	h := *q
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h[last] = event{}
	h = h[:last]
	*q = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first
		}
		if child+1 < last && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(h[i]) {
			return first
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// simulation is the run of one rule.
type simulation struct {
	fleet     *fleet
	frontends []rule
	random    *rand.Rand
	events    queue
	order     int
	now       time.Duration
	running   int // requests that haven't ended
	streams   int // requests that have arrived and haven't ended
	most      int // streams at one time
}

// newSimulation returns a simulation with idle servers.
func newSimulation(o *options, info *ruleInfo, endpoints int) (*simulation, error) {
	f := &fleet{seed: o.Seed}
	for range endpoints {
		f.servers = append(f.servers, &server{model: &o.Model, cache: newKVCache(o.Model.CacheTokens)})
	}
	s := &simulation{fleet: f, random: rand.New(rand.NewPCG(o.Seed, 3))} //nolint:gosec // G404: a simulation
	for i := range o.Frontends {
		frontend, err := info.make(f, i)
		if err != nil {
			return nil, err
		}
		s.frontends = append(s.frontends, frontend)
	}
	return s, nil
}

func (s *simulation) push(e event) {
	s.order++
	e.order = s.order
	s.events.push(e)
}

// run runs a stage until all of its requests have ended.
func (s *simulation) run(requests []*request) error {
	begin := s.now
	for _, r := range requests {
		if !r.follows {
			s.push(event{at: begin + r.arrive, request: r})
		}
	}
	s.running += len(requests)
	for s.running > 0 {
		e := s.events.pop()
		s.now = e.at
		if err := s.handle(e); err != nil {
			return err
		}
	}
	return nil
}

// handle handles an event.
func (s *simulation) handle(e event) error {
	switch {
	case e.call != nil:
		return e.call()
	case e.request != nil:
		s.streams++
		s.most = max(s.most, s.streams)
		e.request.arrive = s.now
		e.request.frontend = s.random.IntN(len(s.frontends))
		return s.arrive(e.request)
	default:
		s.stepEnded(e.server)
		return nil
	}
}

// arrive sends a request to the endpoint that its frontend chooses.
func (s *simulation) arrive(r *request) error {
	var err error
	if r.endpoint, err = s.frontends[r.frontend].choose(s.now, r); err != nil {
		return err
	}
	server := s.fleet.servers[r.endpoint]
	server.enqueue(r)
	if !server.busy {
		s.begin(r.endpoint)
	}
	return nil
}

func (s *simulation) stepEnded(endpoint int) {
	if s.fleet.servers[endpoint].stopped {
		return
	}
	s.fleet.servers[endpoint].end(s.now, func(r *request) {
		s.frontends[r.frontend].firstToken(r)
	}, func(r *request) {
		if x, ok := s.frontends[r.frontend].(*trident); ok {
			x.progress(s.now, r)
		}
	}, func(r *request) {
		s.frontends[r.frontend].ended(r)
		s.running--
		s.streams--
		if r.next != nil {
			s.push(event{at: s.now, request: r.next})
		}
	})
	s.begin(endpoint)
}

func (s *simulation) begin(endpoint int) {
	server := s.fleet.servers[endpoint]
	duration := server.begin()
	server.busy = duration > 0
	if server.busy {
		s.push(event{at: s.now + duration, server: endpoint})
	}
}

// Faults.
const (
	faulty      = 0                       // the endpoint
	frozenAfter = 2500 * time.Millisecond // after which a frozen endpoint is ejected
	slowFactor  = 5
)

// fault begins a fault of an endpoint. A dead one is ejected at once, as it refuses
// connections. Requests for a frozen one wait until it is ejected.
func (s *simulation) fault(kind string) error {
	server := s.fleet.servers[faulty]
	switch kind {
	case "slow":
		server.slow = slowFactor
		return nil
	case "dead":
		server.stopped = true
		return s.eject()
	default:
		server.stopped, server.busy = true, true
		s.push(event{at: s.now + frozenAfter, call: s.eject})
		return nil
	}
}

// eject takes the endpoint with the fault out. Its requests without a first token go
// elsewhere, the others fail.
func (s *simulation) eject() error {
	for _, frontend := range s.frontends {
		if x, ok := frontend.(interface{ eject(endpoint int) }); ok {
			x.eject(faulty)
		}
	}
	server := s.fleet.servers[faulty]
	requests := slices.Concat(server.running, server.waiting)
	server.running, server.waiting = nil, nil
	for _, r := range requests {
		s.frontends[r.frontend].ended(r)
		if r.first > 0 {
			r.failed, r.ended = true, s.now
			s.running--
			s.streams--
			continue
		}
		r.restart()
		if err := s.arrive(r); err != nil {
			return err
		}
	}
	return nil
}

// result has the figures of a rule.
type result struct {
	info      *ruleInfo
	tokens    float64 // of answers, per second: mean of the stages
	mean      float64 // of seconds to the first token: mean of the stages
	first     []float64
	hit       float64 // share of prompt tokens that were in the cache
	preempted int
	uneven    float64 // most requests of an endpoint in relation to the mean
	streams   int     // most requests at one time
	failed    int     // requests that failed after their first token
	retried   int     // requests that were sent again
}

// measure runs a rule over a workload.
func measure(o *options, w *workload, info *ruleInfo, endpoints int) (result, error) {
	s, err := newSimulation(o, info, endpoints)
	if err != nil {
		return result{}, err
	}
	c := collector{options: o, result: result{info: info}, perEndpoint: make([]int, endpoints)}
	stages := w.stages()
	for i := range stages {
		stage := &stages[i]
		begin := s.now
		if i == len(stages)-1 && o.Fault != "none" {
			s.push(event{at: begin + seconds(o.FaultAt), call: func() error { return s.fault(o.Fault) }})
		}
		if err := s.run(stage.requests); err != nil {
			return result{}, err
		}
		if !stage.warmup {
			c.add(stage, begin, s.now)
		}
		s.now += time.Second
	}
	c.streams = s.most
	return c.done(), nil
}

// collector adds the figures of stages up.
type collector struct {
	result

	options         *options
	perEndpoint     []int
	stages          int
	prompts, cached int
}

// add adds a stage that has ended. With a fault, times are those of the other endpoints.
func (c *collector) add(stage *stage, begin, end time.Duration) {
	answers, sum, n := 0, 0.0, 0
	for _, r := range stage.requests {
		answers += r.generated
		c.preempted += max(r.admitted-1, 0)
		c.perEndpoint[r.endpoint]++
		if r.failed {
			c.failed++
		}
		if len(r.tried) > 0 {
			c.retried++
		}
		if r.arrive-begin < stage.skip || c.options.Fault != "none" && r.endpoint == faulty {
			continue
		}
		wait := (r.first - r.arrive).Seconds()
		sum += wait
		n++
		c.first = append(c.first, wait)
		c.prompts += r.prompt
		c.cached += r.cached
	}
	c.tokens += float64(answers) / (end - begin).Seconds()
	c.mean += sum / float64(max(n, 1))
	c.stages++
}

// done returns the figures.
func (c *collector) done() result {
	c.tokens /= float64(c.stages)
	c.mean /= float64(c.stages)
	c.hit = float64(c.cached) / float64(max(c.prompts, 1))
	slices.Sort(c.first)
	all := 0
	for _, n := range c.perEndpoint {
		all += n
	}
	c.uneven = float64(slices.Max(c.perEndpoint)*len(c.perEndpoint)) / float64(all)
	return c.result
}

// percentile returns a percentile of the times to the first token, which are sorted.
func (r *result) percentile(p float64) float64 {
	if len(r.first) == 0 {
		return 0
	}
	return r.first[max(int(math.Ceil(p*float64(len(r.first))))-1, 0)]
}

// simulate runs the workloads and prints their tables.
func simulate(o *options, out, log io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	var workloads []workload
	switch {
	case o.Trace != "":
		w, err := readTrace(o, log)
		if err != nil {
			return err
		}
		workloads = append(workloads, w)
	case o.Workload == "scale":
		endpoints := 1000
		if o.Endpoints > 0 {
			endpoints = o.Endpoints
		}
		workloads = append(workloads, scaled(o.Seed, endpoints))
	case o.Workload == "short":
		workloads = append(workloads, short(o.Seed))
	default:
		if o.Workload != "conversation" {
			workloads = append(workloads, b2bSaaS(o.Seed))
		}
		if o.Workload != "b2b-saas" {
			workloads = append(workloads, conversation(o.Seed, o.Speed, 4000))
		}
	}
	for i := range workloads {
		table, results, err := report(o, &workloads[i])
		if err != nil {
			return err
		}
		if o.Plot != "" {
			file := filepath.Join(o.Plot, workloads[i].file()+".svg")
			if err := os.WriteFile(file, plot(workloads[i].name, results), 0o644); err != nil { //nolint:gosec // G306: a picture that all may read
				return err
			}
		}
		if _, err := io.WriteString(out, table); err != nil {
			return err
		}
	}
	return nil
}

// report runs the rules over a workload and returns a table, and its figures.
func report(o *options, w *workload) (string, []result, error) {
	endpoints := w.endpoints
	if o.Endpoints > 0 {
		endpoints = o.Endpoints
	}
	for _, stage := range w.stages() {
		for _, r := range stage.requests {
			if r.prompt+r.answer > o.Model.CacheTokens {
				return "", nil, fmt.Errorf("a request of %s has %d tokens, more than fit into the cache of --cache-tokens=%d", w.name, r.prompt+r.answer, o.Model.CacheTokens)
			}
		}
	}
	frontends := "frontends"
	if o.Frontends == 1 {
		frontends = "frontend"
	}
	var results []result
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s: %d endpoints, %d %s, seed %d", w.name, endpoints, o.Frontends, frontends, o.Seed)
	if o.Fault != "none" {
		fmt.Fprintf(&b, ", one endpoint %s after %g s: times of the others", o.Fault, o.FaultAt)
	}
	b.WriteString("\n\n| rule | tokens/s | first token: mean s | p50 s | p90 s | p99 s | in cache | preempted | most loaded | streams | failed | retried |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, info := range rules() {
		if len(o.Rule) > 0 && !slices.Contains(o.Rule, info.name) || o.Fault != "none" && !strings.HasPrefix(info.name, "trident") {
			continue
		}
		r, err := measure(o, w, &info, endpoints)
		if err != nil {
			return "", nil, err
		}
		results = append(results, r)
		name := info.name
		if info.validated == "" {
			name += " (unvalidated)"
		}
		fmt.Fprintf(&b, "| %s | %.1f | %.3f | %.3f | %.3f | %.3f | %.1f %% | %d | %.2f | %d | %d | %d |\n", name, r.tokens, r.mean,
			r.percentile(0.5), r.percentile(0.9), r.percentile(0.99), 100*r.hit, r.preempted, r.uneven, r.streams, r.failed, r.retried)
	}
	return b.String(), results, nil
}
