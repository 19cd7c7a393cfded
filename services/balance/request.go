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

// tokensOf returns the number of tokens of the prompt's first steps.
func (r *Request) tokensOf(steps int) int {
	if steps == 0 || r.Prompt == "" {
		return 0
	}
	tokens := float64(r.promptTokens())
	return int(min(tokens*float64(steps)*stepBytes/float64(len(r.Prompt)), tokens))
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

	// Cached is the number of prompt tokens that the endpoint is assumed to have in its
	// cache. It is 0 for policies other than Cost.
	Cached int

	waiting int  // what the request has added to workload.Waiting, and is still in it
	tokens  int  // what the request has added to workload.Tokens
	open    bool // the request hasn't ended

	usual *usual        // of the model; nil for policies other than Cost
	since time.Duration // time of the last call of Progress; 0 before the first one
}

// A Reason is why an endpoint was chosen, for metrics.
type Reason uint8

const (
	// ByCaller means that the caller has chosen the endpoint.
	ByCaller Reason = iota
	// ByTurn means that round robin chose the endpoint.
	ByTurn
	// ByPrefix means that the endpoint is known to have a prefix of the prompt.
	ByPrefix
	// ByHome means that replicas send prompts with the same first steps to the endpoint.
	ByHome
	// ByLoad means that the endpoint had the lowest load.
	ByLoad
)

// String returns the reason as a word, for a label of metrics.
func (r Reason) String() string {
	return [...]string{ByCaller: "caller", ByTurn: "turn", ByPrefix: "prefix", ByHome: "home", ByLoad: "load"}[r]
}

// Choose takes an endpoint for a request, and adds the request to the endpoint's load. The
// candidates are the endpoints of the set, or all endpoints if it is nil, without those that
// are ejected and without those that the request was tried at. Choose reports false if there
// is no candidate. now is the time since an arbitrary moment, the same for all calls.
func (b *Balancer) Choose(now time.Duration, r *Request, among *Set) (Assignment, bool) {
	var space [mostSteps]prefixHash
	return b.choose(now, r, b.hashPrefixes(space[:0], r), among)
}

// choose takes an endpoint for a request whose prefixes were hashed.
func (b *Balancer) choose(now time.Duration, r *Request, prefixes []prefixHash, among *Set) (Assignment, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if among == nil {
		among = b.all
	}
	b.findEligible(r, among)
	if len(b.eligible) == 0 {
		return Assignment{}, false
	}
	switch b.config.Policy {
	case RoundRobin:
		return b.assign(choice{slot: b.next(now, among), reason: ByTurn}, r, nil), true
	case Tokens:
		return b.assign(choice{slot: b.fewestTokens(now, r), reason: ByLoad}, r, nil), true
	default:
		return b.assign(b.lowestCost(&plan{now: now, request: r, prefixes: prefixes}, among), r, prefixes), true
	}
}

// hashPrefixes appends the hashes of the request's prefixes to dst if the policy uses them.
func (b *Balancer) hashPrefixes(dst []prefixHash, r *Request) []prefixHash {
	if b.config.Policy != Cost {
		return nil
	}
	return hashSteps(dst, r)
}

// Assign adds a request to the load of an endpoint that the caller has chosen.
func (b *Balancer) Assign(e Endpoint, r *Request) Assignment {
	var space [mostSteps]prefixHash
	prefixes := b.hashPrefixes(space[:0], r)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state(e) == nil {
		return Assignment{Endpoint: e, Reason: ByCaller}
	}
	c := choice{slot: e.slot, reason: ByCaller}
	if b.index != nil {
		b.index.find(prefixes, &b.matches)
		c.cached = r.tokensOf(b.index.depth(prefixes, &b.matches, e.slot))
	}
	return b.assign(c, r, prefixes)
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

// choice is the result of a policy.
type choice struct {
	slot   uint32
	cached int // prompt tokens that should be in the endpoint's cache
	reason Reason
}

// assign adds a request to the load of the chosen endpoint, and its prefixes to the index.
func (b *Balancer) assign(c choice, r *Request, prefixes []prefixHash) Assignment {
	state := &b.endpoints[c.slot]
	a := Assignment{
		Endpoint: Endpoint{slot: c.slot, generation: state.generation},
		Reason:   c.reason,
		Cached:   c.cached,
		waiting:  r.promptTokens() - c.cached,
		tokens:   r.tokens(),
		open:     true,
	}
	if b.index != nil {
		b.index.record(prefixes, c.slot, a.tokens-a.Cached)
		a.usual = b.usualOf(r.Model)
	}
	state.load.Requests++
	state.load.Waiting += a.waiting
	state.load.Tokens += a.tokens
	return a
}

// findEligible sets b.eligible to the slots of the candidates for a request.
func (b *Balancer) findEligible(r *Request, among *Set) {
	eligible := b.eligible[:0]
	for slot, generation := range among.generations {
		if b.endpoints[slot].takes(generation) && !r.tried(uint32(slot), generation) {
			eligible = append(eligible, uint32(slot))
		}
	}
	b.eligible = eligible
}

// isEligible reports whether the endpoint in a slot is a candidate for a request.
func (b *Balancer) isEligible(slot uint32, r *Request, among *Set) bool {
	if int(slot) >= len(among.generations) {
		return false
	}
	generation := among.generations[slot]
	return b.endpoints[slot].takes(generation) && !r.tried(slot, generation)
}

// takes reports whether the endpoint is that of a generation, and takes requests.
func (e *endpoint) takes(generation uint32) bool {
	return e.generation == generation && e.used && !e.removed && !e.ejected
}

// tried reports whether an endpoint has failed the request.
func (r *Request) tried(slot, generation uint32) bool {
	return len(r.Tried) > 0 && slices.Contains(r.Tried, Endpoint{slot: slot, generation: generation})
}
