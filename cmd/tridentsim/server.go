package main

import (
	"slices"
	"time"
)

// server is a model of vLLM's scheduler: it works in steps. In each step all streams get a
// token, and prompts are computed with the rest of the budget of tokens, those that run
// first. Requests wait in the order of their arrival until there is space in the cache.
type server struct {
	model   *model
	cache   *kvCache
	waiting []*request
	running []*request
	busy    bool    // a step is under way
	stopped bool    // no step ends any longer
	slow    float64 // factor of the duration of steps; 0 is 1
}

// enqueue adds a request.
func (s *server) enqueue(r *request) { s.waiting = append(s.waiting, r) }

// begin begins a step and returns its duration, or 0 if there is nothing to do.
func (s *server) begin() time.Duration {
	budget := s.model.BatchTokens
	prompts, contexts := 0, 0
	preempted := false
	for i := 0; i < len(s.running); i++ { //nolint:intrange // preempt shortens the list
		r := s.running[i]
		r.step = 0
		if r.computed < r.target {
			r.step = min(budget, r.target-r.computed)
			budget -= r.step
			prompts += r.step
			continue
		}
		if budget == 0 {
			continue
		}
		for len(s.running) > i && !s.cache.reserve(1) {
			s.preempt()
			preempted = true
		}
		if len(s.running) <= i {
			break // the request itself was preempted
		}
		r.step, r.private = 1, r.private+1
		budget--
		contexts += r.prompt + r.generated
	}
	if !preempted {
		prompts += s.admit(budget)
	}
	if len(s.running) == 0 {
		return 0
	}
	m := s.model
	us := m.StepTime*1000 + m.PromptTime*float64(prompts) + m.ContextTime*float64(contexts)
	if s.slow > 0 {
		us *= s.slow
	}
	return time.Duration(us * float64(time.Microsecond))
}

// admit starts waiting requests within a budget of tokens, and returns the number of prompt
// tokens that they compute in this step.
func (s *server) admit(budget int) int {
	prompts := 0
	for len(s.waiting) > 0 && budget > 0 && len(s.running) < s.model.BatchRequests {
		r := s.waiting[0]
		hits, cached := s.cache.matched(r.parts)
		for _, p := range r.parts[:hits] {
			b := s.cache.blocks[p.key]
			s.cache.take(b)
			r.blocks = append(r.blocks, b)
		}
		if cached >= r.target {
			cached = r.target - 1 // the last token is always computed
		}
		if s.cache.used > s.cache.capacity || !s.cache.reserve(r.target-cached) {
			s.releaseBlocks(r)
			break
		}
		r.computed, r.private = cached, r.target-cached
		if r.admitted == 0 {
			r.cached = cached
		}
		r.admitted++
		r.step = min(budget, r.target-cached)
		budget -= r.step
		prompts += r.step
		s.running = append(s.running, r)
		s.waiting = s.waiting[1:]
	}
	return prompts
}

// preempt returns the request that was started last to the queue. Its prompt and its answer
// so far are computed again.
func (s *server) preempt() {
	last := len(s.running) - 1
	r := s.running[last]
	s.running = s.running[:last]
	s.leave(r)
	r.target = r.prompt + r.generated
	s.waiting = append([]*request{r}, s.waiting...)
}

// end ends a step at the given time. It calls first for requests that got their first token,
// token for those that got a token, and done for those that got their last.
func (s *server) end(now time.Duration, first, token, done func(*request)) {
	kept := s.running[:0]
	for _, r := range s.running {
		if r.step == 0 {
			kept = append(kept, r)
			continue
		}
		if r.computed < r.target {
			r.computed += r.step
			s.keepBlocks(r)
			if r.computed < r.target {
				kept = append(kept, r)
				continue
			}
		}
		r.generated++
		if r.generated == 1 {
			r.first = now
			first(r)
		}
		token(r)
		if r.generated < r.answer {
			kept = append(kept, r)
			continue
		}
		s.leave(r)
		r.ended = now
		done(r)
	}
	clear(s.running[len(kept):])
	s.running = kept
}

// keepBlocks makes blocks of the parts of a prompt that were computed.
func (s *server) keepBlocks(r *request) {
	tokens := 0
	for i, p := range r.parts {
		tokens += p.tokens
		if i < len(r.blocks) {
			continue
		}
		if tokens > r.computed {
			return
		}
		r.blocks = append(r.blocks, s.cache.keep(p))
		r.private -= p.tokens
	}
}

// leave releases the space of a request. The end of a prompt goes before its beginning.
func (s *server) leave(r *request) {
	if r.private > 0 {
		s.cache.drop(r.private)
	}
	r.private = 0
	s.releaseBlocks(r)
}

func (s *server) releaseBlocks(r *request) {
	for _, b := range slices.Backward(r.blocks) {
		s.cache.release(b)
	}
	r.blocks = r.blocks[:0]
}

// usage returns the share of the cache that running requests use, as vLLM's metric
// gpu_cache_usage_perc.
func (s *server) usage() float64 { return float64(s.cache.used) / float64(s.cache.capacity) }
