// Package balance chooses one of many endpoints for a request: a pure computation, to which
// callers pass events and the time. Policies, the loads of endpoints and what is known of
// their caches belong here. Connections, health checks, retries and drains belong to the
// engine that calls it.
//
// A caller adds endpoints by [Balancer.Add], and gets an [Endpoint] for each. For each
// request it calls [Balancer.Choose], and reports the first token, further responses and the
// end of the request by [Balancer.FirstToken], [Balancer.Progress] and [Balancer.Ended].
// Health checks call [Balancer.SetEjected] and [Balancer.StartSlowly].
//
// The package starts no goroutine, reads no clock and has no random numbers of its own, so
// that simulations run the same code with their own time and seed. All methods of a
// Balancer may be called concurrently.
package balance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
)

// A Policy is a rule that chooses endpoints.
type Policy string

const (
	// Cost takes the endpoint with the lowest cost: the prompt tokens that it still has to
	// compute, what of this prompt isn't in its cache, and its streams, in relation to its
	// weight.
	Cost Policy = "cost"
	// Tokens takes the endpoint with the fewest tokens, prompts and expected answers, of
	// requests that haven't ended, in relation to its weight.
	Tokens Policy = "tokens"
	// RoundRobin takes endpoints alternately, in proportion to their weights.
	RoundRobin Policy = "round-robin"
)

// Policies returns all policies, the default first.
func Policies() []Policy { return []Policy{Cost, Tokens, RoundRobin} }

// Limits and defaults of the configuration.
const (
	// DefaultSlowStart is the time in which an endpoint that starts slowly gets its full
	// share of requests.
	DefaultSlowStart = 10 * time.Second
	// DefaultCacheTokens is the size of a KV cache that isn't known: about that of a model with
	// 32 billion parameters on two GPUs of 80 GB.
	DefaultCacheTokens = 300_000
	// MaxEndpoints is the maximum number of endpoints at one time.
	MaxEndpoints = 1 << 16
	// MinWeight is the lowest weight of an endpoint.
	MinWeight = 0.001
	// MaxWeight is the highest weight of an endpoint.
	MaxWeight = 1000.0
)

// leastRamp is the share of its weight that an endpoint has at the beginning of its slow
// start.
const leastRamp = 0.1

// freedBuckets is the number of buckets of the index in which entries are freed at a time.
const freedBuckets = 1024

// Config is the configuration of a Balancer.
type Config struct {
	// Policy is the rule; the empty string is the first of [Policies].
	Policy Policy
	// SlowStart is the duration of a slow start; 0 is [DefaultSlowStart], and a negative
	// duration turns slow starts off.
	SlowStart time.Duration
	// IndexEntries is the number of entries of the index of prefixes, of 16 bytes each, that
	// the policy Cost has; 0 is [DefaultIndexEntries]. An entry has 2 KiB of a prompt at one
	// endpoint. The number is rounded up to a power of two, and is at most
	// [MaxIndexEntries].
	IndexEntries int
	// Random is the source of random numbers; it isn't shared with other users. It is
	// required, and it decides nothing on which replicas have to agree.
	Random rand.Source
}

// A Spec describes an endpoint.
type Spec struct {
	// Name identifies the endpoint, such as its address. All replicas use the same name for
	// the same endpoint.
	Name string
	// Weight is the capacity of the endpoint in relation to others; 0 is 1. An endpoint
	// with the weight 2 gets twice the load of one with the weight 1.
	Weight float64
	// CacheTokens is the number of tokens that fit into the endpoint's KV cache; 0 is
	// [DefaultCacheTokens]. The policy Cost assumes that a prefix was replaced after half as
	// many tokens were written since its last use.
	CacheTokens int
}

// An Endpoint identifies an endpoint that was added to a Balancer. The zero value is no
// endpoint. An Endpoint isn't used again after its removal: later calls with it have no
// effect.
type Endpoint struct {
	slot       uint32 // index in Balancer.endpoints
	generation uint32 // distinguishes the endpoints that had the slot; 0 is no endpoint
}

// endpoint is the state of an endpoint. Its fields are guarded by Balancer.mu.
type endpoint struct {
	name       string
	hash       uint64        // of the name
	generation uint32        // of the current or the last owner of the slot
	used       bool          // the slot can't be given to another endpoint
	removed    bool          // the endpoint was removed, and its entries are being freed
	ejected    bool          // never a candidate
	weight     float64       // as configured
	slowSince  time.Duration // beginning of the slow start
	slow       bool          // a slow start was begun, and isn't known to be over
	load       workload
	pace       pace
	steering   float64 // logarithm of factor
	factor     float64 // of the weight, for the homes of shared prefixes
}

// workload is the work of an endpoint that this Balancer knows of. Other replicas' requests
// aren't part of it.
type workload struct {
	// Requests is the number of requests that haven't ended.
	Requests int
	// Waiting is the number of prompt tokens of requests without a first token; the policy
	// Cost leaves out what it assumes to be in the endpoint's cache.
	Waiting int
	// Tokens is the number of tokens, prompts and expected answers, of requests that haven't
	// ended.
	Tokens int
}

// A Balancer chooses endpoints. Its methods may be called concurrently.
type Balancer struct {
	config Config

	mu        sync.Mutex
	random    *rand.Rand
	endpoints []endpoint
	all       *Set              // all endpoints
	eligible  []uint32          // slots of the candidates of the current call of Choose
	index     *index            // of the policy Cost, else nil
	matches   matches           // of the current call of Choose
	shares    *shares           // of the policy Cost, else nil
	usual     map[string]*usual // by model: the interval between responses
	steered   time.Duration     // time of the last call of steer
}

// New returns a Balancer without endpoints. It fails if the policy is unknown or if the
// source of random numbers is missing.
func New(config Config) (*Balancer, error) {
	if config.Policy == "" {
		config.Policy = Policies()[0]
	}
	if !slices.Contains(Policies(), config.Policy) {
		return nil, fmt.Errorf("unknown policy %q: use one of %s", config.Policy, PolicyNames())
	}
	if config.Random == nil {
		return nil, fmt.Errorf("a balancer needs a source of random numbers")
	}
	if config.SlowStart == 0 {
		config.SlowStart = DefaultSlowStart
	}
	if config.IndexEntries == 0 {
		config.IndexEntries = DefaultIndexEntries
	}
	if config.IndexEntries < 0 || config.IndexEntries > MaxIndexEntries {
		return nil, fmt.Errorf("the index of prefixes has %d entries, which must be from 1 to %d", config.IndexEntries, MaxIndexEntries)
	}
	random := rand.New(config.Random) //nolint:gosec // G404: no secret depends on it
	b := &Balancer{config: config, random: random, all: &Set{}}
	if config.Policy == Cost {
		b.index, b.shares, b.usual = newIndex(config.IndexEntries), &shares{}, map[string]*usual{}
		b.matches.seen = make([]uint32, 0, mostSeen)
	}
	return b, nil
}

// PolicyNames returns the names of all policies, comma-separated.
func PolicyNames() string {
	var names []string
	for _, p := range Policies() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

// Add adds an endpoint, which is a candidate at once and with its full weight. Add fails if
// an endpoint has the same name, if the weight or the cache's size is out of range, or if
// there are [MaxEndpoints] endpoints.
func (b *Balancer) Add(spec Spec) (Endpoint, error) {
	if spec.Weight == 0 {
		spec.Weight = 1
	}
	if err := CheckWeight(spec.Weight); err != nil {
		return Endpoint{}, err
	}
	if spec.CacheTokens < 0 {
		return Endpoint{}, fmt.Errorf("the cache of an endpoint has %d tokens, which must be 0 or more", spec.CacheTokens)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	slot, err := b.freeSlot(spec.Name)
	if err != nil {
		return Endpoint{}, err
	}
	e := &b.endpoints[slot]
	*e = endpoint{name: spec.Name, hash: xxhash.Sum64String(spec.Name), generation: e.generation + 1, used: true, weight: spec.Weight, factor: 1}
	if b.index != nil {
		b.index.caches[slot] = cache{size: cacheSize(spec.CacheTokens)}
	}
	handle := Endpoint{slot: uint32(slot), generation: e.generation}
	b.all.include(handle)
	return handle, nil
}

// freeSlot returns a slot for an endpoint with a name, which no other endpoint may have.
func (b *Balancer) freeSlot(name string) (int, error) {
	slot := -1
	for i := range b.endpoints {
		if e := &b.endpoints[i]; !e.used {
			if slot < 0 {
				slot = i
			}
		} else if e.name == name && !e.removed {
			return 0, fmt.Errorf("endpoint %q was added twice", name)
		}
	}
	if slot >= 0 {
		return slot, nil
	}
	if len(b.endpoints) == MaxEndpoints {
		return 0, fmt.Errorf("endpoint %q is more than the maximum of %d endpoints", name, MaxEndpoints)
	}
	b.endpoints = append(b.endpoints, endpoint{})
	b.eligible = slices.Grow(b.eligible[:0], len(b.endpoints))
	if b.index != nil {
		b.index.caches = append(b.index.caches, cache{})
		b.matches.depths = append(b.matches.depths, 0)
	}
	return len(b.endpoints) - 1, nil
}

// CheckWeight returns an error if a weight isn't from [MinWeight] to [MaxWeight].
func CheckWeight(weight float64) error {
	if !(weight >= MinWeight && weight <= MaxWeight) {
		return fmt.Errorf("the weight %g of an endpoint must be from %g to %g", weight, MinWeight, MaxWeight)
	}
	return nil
}

// Remove removes an endpoint, and frees its entries in the index. Requests that it still
// serves have no effect any longer when they end. Remove takes some milliseconds, in which
// other calls proceed.
func (b *Balancer) Remove(e Endpoint) {
	b.mu.Lock()
	state := b.state(e)
	if state == nil {
		b.mu.Unlock()
		return
	}
	*state = endpoint{generation: state.generation, used: true, removed: true}
	b.all.exclude(e)
	b.mu.Unlock()
	b.freeEntries(e.slot)
	b.mu.Lock()
	b.endpoints[e.slot].used = false
	b.mu.Unlock()
}

// Forget frees an endpoint's entries in the index, as its cache was lost in a restart. Like
// Remove, it takes some milliseconds.
func (b *Balancer) Forget(e Endpoint) {
	b.mu.Lock()
	known := b.state(e) != nil
	b.mu.Unlock()
	if known {
		b.freeEntries(e.slot)
	}
}

// freeEntries frees the entries of the endpoint in a slot. It releases the lock after some
// tens of microseconds.
func (b *Balancer) freeEntries(slot uint32) {
	for first := 0; b.index != nil; {
		b.mu.Lock()
		first = b.index.freeAll(slot, first, freedBuckets)
		b.mu.Unlock()
		if first == 0 {
			return
		}
	}
}

// SetWeight changes the weight of an endpoint. It fails if the weight is out of range.
func (b *Balancer) SetWeight(e Endpoint, weight float64) error {
	if err := CheckWeight(weight); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if state := b.state(e); state != nil {
		state.weight = weight
	}
	return nil
}

// SetEjected sets whether an endpoint is ejected. Choose never takes an ejected endpoint.
func (b *Balancer) SetEjected(e Endpoint, ejected bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if state := b.state(e); state != nil {
		state.ejected = ejected
	}
}

// StartSlowly begins the slow start of an endpoint at the given time: its share of requests
// rises from a tenth to its full share.
func (b *Balancer) StartSlowly(e Endpoint, now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if state := b.state(e); state != nil && b.config.SlowStart > 0 {
		state.slow, state.slowSince = true, now
	}
}

// state returns the state of an endpoint, or nil if it was removed.
func (b *Balancer) state(e Endpoint) *endpoint {
	if int(e.slot) >= len(b.endpoints) {
		return nil
	}
	state := &b.endpoints[e.slot]
	if state.removed || !state.used || state.generation != e.generation {
		return nil
	}
	return state
}

// capacity returns the weight of an endpoint at the given time, which is lower in a slow
// start.
func (e *endpoint) capacity(now, slowStart time.Duration) float64 {
	if !e.slow {
		return e.weight
	}
	passed := now - e.slowSince
	if passed >= slowStart {
		e.slow = false
		return e.weight
	}
	share := float64(max(passed, 0)) / float64(slowStart)
	return e.weight * (leastRamp + (1-leastRamp)*share)
}
