package fleet

import (
	"context"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/balance"
	"github.com/trident-inference/trident/services/inference"
)

// placed is the choice of [Engine.Place], which the next attempt uses.
type placed struct {
	member     *member
	assignment balance.Assignment
	used       bool
}

// Place implements [inference.Placer].
func (e *Engine) Place(ctx context.Context, model string) (release func(), err error) {
	routing := inference.RoutingOf(ctx)
	r := e.run(&kserve.ModelInferRequest{ModelName: model})
	r.ctx = ctx
	r.route(routing, nil)
	routing.Placed = nil
	m, err := e.choose(r)
	if err != nil {
		return nil, err
	}
	p := &placed{member: m, assignment: r.assignment}
	routing.Server, routing.Placed = m.address, p
	return func() {
		if !p.used {
			e.balancer.Ended(&p.assignment)
		}
	}, nil
}

// route takes the core's description of a request, or else estimates it.
func (r *run) route(routing *inference.Routing, req *kserve.ModelInferRequest) {
	r.routing = routing
	if routing == nil {
		r.request.PromptTokens = tokensIn(req)
		return
	}
	r.request.Adapter, r.request.Prompt, r.request.Images = routing.Adapter, routing.Prompt, routing.Images
	r.request.PromptTokens, r.request.AnswerTokens = routing.PromptTokens, routing.AnswerTokens
}

// takePlaced returns the endpoint that Place has chosen for the first attempt, if it may still get
// the request. Before that it returns the endpoint of the request's previous attempt, for Place.
func (r *run) takePlaced(c *candidates) *member {
	if r.routing == nil || r.attempts > 0 {
		return nil
	}
	p, _ := r.routing.Placed.(*placed)
	for _, m := range c.members {
		switch {
		case p != nil && !p.used && m == p.member:
			p.used, r.assignment = true, p.assignment
			return m
		case p == nil && r.routing.Server == m.address:
			r.assignment = r.engine.balancer.Assign(m.endpoint, &r.request)
			return m
		}
	}
	return nil
}
