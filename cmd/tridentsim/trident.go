package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/trident-inference/trident/services/balance"
)

// trident is a policy of services/balance: the code that Trident runs.
type trident struct {
	balancer    *balance.Balancer
	endpoints   map[balance.Endpoint]int
	handles     []balance.Endpoint // by endpoint
	assignments map[*request]*balance.Assignment
}

func newTrident(policy balance.Policy) func(f *fleet, frontend int) (rule, error) {
	return func(f *fleet, frontend int) (rule, error) {
		b, err := balance.New(balance.Config{Policy: policy, Random: f.newSource(frontend)})
		if err != nil {
			return nil, err
		}
		x := &trident{balancer: b, endpoints: map[balance.Endpoint]int{}, assignments: map[*request]*balance.Assignment{}}
		for i, s := range f.servers {
			e, err := b.Add(balance.Spec{Name: fmt.Sprintf("endpoint-%d:8001", i), CacheTokens: s.cache.capacity})
			if err != nil {
				return nil, err
			}
			x.endpoints[e] = i
			x.handles = append(x.handles, e)
		}
		return x, nil
	}
}

// expectedAnswer is the number of tokens that Trident expects of an answer with a higher limit
// (services/serving). The limit of a request is the length of its answer.
const expectedAnswer = 256

func (x *trident) choose(now time.Duration, r *request) (int, error) {
	request := &balance.Request{Model: "model", Prompt: r.text(), PromptTokens: r.prompt, AnswerTokens: min(r.answer, expectedAnswer)}
	for _, e := range r.tried {
		request.Tried = append(request.Tried, x.handles[e])
	}
	a, ok := x.balancer.Choose(now, request, nil)
	if !ok {
		return 0, errors.New("no endpoint is a candidate")
	}
	x.assignments[r] = &a
	return x.endpoints[a.Endpoint], nil
}

func (x *trident) firstToken(r *request) { x.balancer.FirstToken(x.assignments[r]) }

// progress reports a token of an answer.
func (x *trident) progress(now time.Duration, r *request) {
	if (r.generated-1)%balance.PaceResponses == 0 {
		x.balancer.Progress(x.assignments[r], now)
	}
}

func (x *trident) ended(r *request) {
	x.balancer.Ended(x.assignments[r])
	delete(x.assignments, r)
}

// eject takes an endpoint out.
func (x *trident) eject(endpoint int) { x.balancer.SetEjected(x.handles[endpoint], true) }
