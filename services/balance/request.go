package balance

import (
	"slices"
	"time"
)

// A Request has the properties of a request that policies use.
type Request struct {
	// Model is the name of the model, with the version if the client asked for one. The
	// replicas of a model share it, as what one of them has cached fits all.
	Model string
	// Adapter is the name of the LoRA adapter, or the empty string.
	Adapter string
	// Prompt is the rendered prompt. It is empty where only tensors are known.
	Prompt string
	// Images has the digests of the images in the prompt, in their order.
	Images [][]byte
	// PromptTokens is the number of tokens of the prompt; 0 means that it is estimated from
	// the prompt's bytes.
	PromptTokens int
	// AnswerTokens is the expected number of tokens of the answer, or 0 if it isn't known.
	AnswerTokens int
	// Tried has the endpoints that must not be chosen, as they have failed the request.
	Tried []Endpoint
}

// bytesPerToken is the number of bytes of a token in English text with current vocabularies.
const bytesPerToken = 4

// promptTokens returns the number of tokens of the prompt, which is estimated if it isn't
// known.
func (r *Request) promptTokens() int {
	if r.PromptTokens > 0 {
		return r.PromptTokens
	}
	return (len(r.Prompt) + bytesPerToken - 1) / bytesPerToken
}

// tokens returns the number of tokens of the prompt and the answer.
func (r *Request) tokens() int { return r.promptTokens() + max(r.AnswerTokens, 0) }

// An Assignment is a request at an endpoint. It is reported by [Balancer.FirstToken] and
// [Balancer.Ended]; until the latter, the request is part of the endpoint's load.
type Assignment struct {
	// Endpoint is the endpoint of the request.
	Endpoint Endpoint
	// Reason is why the endpoint was chosen.
	Reason Reason

	waiting int  // what the request has added to Load.Waiting, and is still in it
	tokens  int  // what the request has added to Load.Tokens
	open    bool // the request hasn't ended
}

// A Reason is why an endpoint was chosen, for metrics.
type Reason string

const (
	// ByCaller means that the caller has chosen the endpoint.
	ByCaller Reason = "caller"
	// ByTurn means that round robin chose the endpoint.
	ByTurn Reason = "turn"
	// ByLoad means that the endpoint had the lowest load.
	ByLoad Reason = "load"
)

// Choose takes an endpoint for a request, and adds the request to the endpoint's load. The
// candidates are the endpoints of the set, or all endpoints if it is nil, without those that
// are ejected and without those that the request was tried at. Choose reports false if there
// is no candidate. now is the time since an arbitrary moment, the same for all calls.
func (b *Balancer) Choose(now time.Duration, r *Request, among *Set) (Assignment, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if among == nil {
		among = b.all
	}
	b.findEligible(r, among)
	if len(b.eligible) == 0 {
		return Assignment{}, false
	}
	if b.config.Policy == RoundRobin {
		return b.assign(b.next(now, among), r, ByTurn), true
	}
	return b.assign(b.fewestTokens(now, r), r, ByLoad), true
}

// Assign adds a request to the load of an endpoint that the caller has chosen.
func (b *Balancer) Assign(e Endpoint, r *Request) Assignment {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state(e) == nil {
		return Assignment{Endpoint: e, Reason: ByCaller}
	}
	return b.assign(e.slot, r, ByCaller)
}

// FirstToken reports that the first token of a request has arrived. Further calls have no
// effect.
func (b *Balancer) FirstToken(a *Assignment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.firstToken(a)
}

// Ended reports that a request has ended, whatever its outcome. Further calls have no
// effect.
func (b *Balancer) Ended(a *Assignment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !a.open {
		return
	}
	b.firstToken(a)
	a.open = false
	if state := b.state(a.Endpoint); state != nil {
		state.load.Requests--
		state.load.Tokens -= a.tokens
	}
}

func (b *Balancer) firstToken(a *Assignment) {
	if state := b.state(a.Endpoint); state != nil {
		state.load.Waiting -= a.waiting
	}
	a.waiting = 0
}

// assign adds a request to the load of the endpoint in a slot.
func (b *Balancer) assign(slot uint32, r *Request, reason Reason) Assignment {
	state := &b.endpoints[slot]
	a := Assignment{
		Endpoint: Endpoint{slot: slot, generation: state.generation},
		Reason:   reason,
		waiting:  r.promptTokens(),
		tokens:   r.tokens(),
		open:     true,
	}
	state.load.Requests++
	state.load.Waiting += a.waiting
	state.load.Tokens += a.tokens
	return a
}

// findEligible sets b.eligible to the slots of the candidates for a request.
func (b *Balancer) findEligible(r *Request, among *Set) {
	b.eligible = b.eligible[:0]
	for slot, generation := range among.generations {
		e := &b.endpoints[slot]
		if generation == e.generation && e.used && !e.ejected {
			b.eligible = append(b.eligible, uint32(slot))
		}
	}
	if len(r.Tried) == 0 {
		return
	}
	kept := b.eligible[:0]
	for _, slot := range b.eligible {
		if !slices.Contains(r.Tried, Endpoint{slot: slot, generation: b.endpoints[slot].generation}) {
			kept = append(kept, slot)
		}
	}
	b.eligible = kept
}
