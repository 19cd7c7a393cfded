package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// event is the end of a server's step, or the arrival of a request if it has one.
type event struct {
	at      time.Duration
	order   int // of events at the same time
	server  int
	request *request
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
		s.push(event{at: begin + r.arrive, request: r})
	}
	s.running += len(requests)
	for s.running > 0 {
		e := s.events.pop()
		s.now = e.at
		if e.request != nil {
			if err := s.arrive(e.request); err != nil {
				return err
			}
		} else {
			s.stepEnded(e.server)
		}
	}
	return nil
}

func (s *simulation) arrive(r *request) error {
	r.arrive = s.now
	r.frontend = s.random.IntN(len(s.frontends))
	var err error
	if r.endpoint, err = s.frontends[r.frontend].choose(s.now, r); err != nil {
		return err
	}
	s.fleet.servers[r.endpoint].enqueue(r)
	if !s.fleet.servers[r.endpoint].busy {
		s.begin(r.endpoint)
	}
	return nil
}

func (s *simulation) stepEnded(endpoint int) {
	s.fleet.servers[endpoint].end(s.now, func(r *request) {
		s.frontends[r.frontend].firstToken(r)
	}, func(r *request) {
		s.frontends[r.frontend].ended(r)
		s.running--
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

// result has the figures of a rule.
type result struct {
	info      *ruleInfo
	tokens    float64 // of answers, per second: mean of the stages
	mean      float64 // of seconds to the first token: mean of the stages
	first     []float64
	hit       float64 // share of prompt tokens that were in the cache
	preempted int
	uneven    float64 // most requests of an endpoint in relation to the mean
}

// measure runs a rule over a workload.
func measure(o *options, w *workload, info *ruleInfo, endpoints int) (result, error) {
	s, err := newSimulation(o, info, endpoints)
	if err != nil {
		return result{}, err
	}
	res := result{info: info}
	perEndpoint := make([]int, endpoints)
	stages, prompts, cached := 0, 0, 0
	for _, stage := range w.stages() {
		begin := s.now
		if err := s.run(stage.requests); err != nil {
			return result{}, err
		}
		answers, sum := 0, 0.0
		if stage.warmup {
			s.now += time.Second
			continue
		}
		for _, r := range stage.requests {
			answers += r.answer
			wait := (r.first - r.arrive).Seconds()
			sum += wait
			res.first = append(res.first, wait)
			prompts += r.prompt
			cached += r.cached
			res.preempted += r.admitted - 1
			perEndpoint[r.endpoint]++
		}
		res.tokens += float64(answers) / (s.now - begin).Seconds()
		res.mean += sum / float64(len(stage.requests))
		stages++
		s.now += time.Second
	}
	res.tokens /= float64(stages)
	res.mean /= float64(stages)
	res.hit = float64(cached) / float64(prompts)
	slices.Sort(res.first)
	res.uneven = float64(slices.Max(perEndpoint)) * float64(endpoints) / float64(len(res.first))
	return res, nil
}

// percentile returns a percentile of the times to the first token, which are sorted.
func (r *result) percentile(p float64) float64 {
	return r.first[max(int(math.Ceil(p*float64(len(r.first))))-1, 0)]
}

// simulate runs the workloads and prints their tables.
func simulate(o *options, out, log io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	var workloads []workload
	if o.Trace != "" {
		w, err := readTrace(o, log)
		if err != nil {
			return err
		}
		workloads = append(workloads, w)
	} else {
		if o.Workload != "conversation" {
			workloads = append(workloads, b2bSaaS(o.Seed))
		}
		if o.Workload != "b2b-saas" {
			workloads = append(workloads, conversation(o.Seed, o.Speed, 4000))
		}
	}
	for i := range workloads {
		table, err := report(o, &workloads[i])
		if err != nil {
			return err
		}
		if _, err := io.WriteString(out, table); err != nil {
			return err
		}
	}
	return nil
}

// report runs the rules over a workload and returns a table.
func report(o *options, w *workload) (string, error) {
	endpoints := w.endpoints
	if o.Endpoints > 0 {
		endpoints = o.Endpoints
	}
	for _, stage := range w.stages() {
		for _, r := range stage.requests {
			if r.prompt+r.answer > o.Model.CacheTokens {
				return "", fmt.Errorf("a request of %s has %d tokens, more than fit into the cache of --cache-tokens=%d", w.name, r.prompt+r.answer, o.Model.CacheTokens)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s: %d endpoints, %d frontends, seed %d\n\n", w.name, endpoints, o.Frontends, o.Seed)
	b.WriteString("| rule | tokens/s | first token: mean s | p50 s | p90 s | p99 s | in cache | preempted | most loaded |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, info := range rules() {
		if len(o.Rule) > 0 && !slices.Contains(o.Rule, info.name) {
			continue
		}
		r, err := measure(o, w, &info, endpoints)
		if err != nil {
			return "", err
		}
		name := info.name
		if info.validated == "" {
			name += " (unvalidated)"
		}
		fmt.Fprintf(&b, "| %s | %.1f | %.3f | %.3f | %.3f | %.3f | %.1f %% | %d | %.2f |\n", name, r.tokens, r.mean,
			r.percentile(0.5), r.percentile(0.9), r.percentile(0.99), 100*r.hit, r.preempted, r.uneven)
	}
	return b.String(), nil
}
