package main

import (
	"math/rand/v2"
	"time"

	"github.com/trident-inference/trident/services/balance"
)

// fleet has the properties of the servers that rules may use.
type fleet struct {
	servers  []*server
	seed     uint64
	snapshot []metrics // of the last scrape
	scraped  time.Duration
}

// metrics are the metrics of a server that endpoint pickers scrape.
type metrics struct {
	waiting int
	usage   float64
}

// rule chooses an endpoint. A frontend has its own.
type rule interface {
	choose(now time.Duration, r *request) (int, error)
	firstToken(r *request)
	ended(r *request)
}

// ruleInfo describes a rule.
type ruleInfo struct {
	name   string
	source string
	// validated is the published figure that the simulation reproduces with this rule. Without
	// it the rule's row is marked. It is ownCode for rules that are Trident's.
	validated string
	make      func(f *fleet, frontend int) (rule, error)
}

// ownCode marks the rules that aren't copies.
const ownCode = "the code that Trident runs"

// rules returns all rules.
func rules() []ruleInfo {
	return []ruleInfo{
		{name: "random", source: "a random endpoint", validated: "llm-d's b2b-saas run", make: newRandom},
		{name: "two-choices", source: "sglang sgl-router/src/policies/power_of_two.rs: the less loaded of two random endpoints", validated: "Mitzenmacher's supermarket model", make: newTwoChoices},
		{name: "bounded-hash", source: "KubeAI's PrefixHash: consistent hashing with bounded loads of the first 100 characters, 256 replicas, 125 % of the mean load", validated: "throughput of KubeAI's benchmark with chat threads", make: newBoundedHash},
		{name: "sglang", source: "sglang sgl-router/src/policies/cache_aware.rs and tree.rs; defaults of sglang-router 0.3.2's router_args.py", validated: "throughput of SGLang's benchmark generated-shared-prefix", make: newSGLang},
		{name: "llm-d", source: "gateway-api-inference-extension pkg/epp: queue-scorer 2, kv-cache-utilization-scorer 2, prefix-cache-scorer 3 (config/charts/inferencepool)", validated: "llm-d's b2b-saas run, with its weights 1, 1, 1", make: newLLMD},
		{name: "llm-d-precise", source: "llm-d guides/precise-prefix-cache-aware: the caches' true contents 2, queue 1, utilization 1", validated: "llm-d's b2b-saas run", make: newLLMDPrecise},
		{name: "trident", source: "services/balance, policy cost", validated: ownCode, make: newTrident(balance.Cost)},
		{name: "trident-tokens", source: "services/balance, policy tokens", validated: ownCode, make: newTrident(balance.Tokens)},
	}
}

func ruleNames() []string {
	var names []string
	for _, r := range rules() {
		names = append(names, r.name)
	}
	return names
}

func ruleNamed(name string) *ruleInfo {
	for _, r := range rules() {
		if r.name == name {
			return &r
		}
	}
	return nil
}

// newSource returns random numbers of one frontend.
func (f *fleet) newSource(frontend int) *rand.Rand {
	return rand.New(rand.NewPCG(f.seed, 1000+uint64(frontend))) //nolint:gosec // G404: a simulation
}

// counts is the number of requests of a frontend at each endpoint that haven't ended.
type counts []int

func (c counts) firstToken(*request) {}
func (c counts) ended(r *request)    { c[r.endpoint]-- }

// randomRule takes a random endpoint.
type randomRule struct {
	counts

	random *rand.Rand
}

func newRandom(f *fleet, frontend int) (rule, error) {
	return &randomRule{counts: make(counts, len(f.servers)), random: f.newSource(frontend)}, nil
}

func (x *randomRule) choose(time.Duration, *request) (int, error) {
	e := x.random.IntN(len(x.counts))
	x.counts[e]++
	return e, nil
}

// twoChoices takes the one of two different random endpoints with fewer requests.
type twoChoices struct {
	counts

	random *rand.Rand
}

func newTwoChoices(f *fleet, frontend int) (rule, error) {
	return &twoChoices{counts: make(counts, len(f.servers)), random: f.newSource(frontend)}, nil
}

func (x *twoChoices) choose(time.Duration, *request) (int, error) {
	e := x.random.IntN(len(x.counts))
	if len(x.counts) > 1 {
		other := (e + 1 + x.random.IntN(len(x.counts)-1)) % len(x.counts)
		if x.counts[other] < x.counts[e] {
			e = other
		}
	}
	x.counts[e]++
	return e, nil
}
