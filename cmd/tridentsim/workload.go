package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// blockTokens is the number of tokens of a part of a prompt: the granularity of Mooncake's
// traces.
const blockTokens = 512

// tokenBytes is the number of bytes of a token in the prompts' texts.
const tokenBytes = 4

// part is a part of a prompt. Its key identifies it with all that precedes it.
type part struct {
	id     uint64 // its content
	key    uint64
	tokens int
}

// request is a request, and its state at its server.
type request struct {
	arrive time.Duration
	parts  []part
	prompt int // tokens
	answer int // tokens

	next    *request // is sent when this one has ended
	follows bool     // is the next one of another request

	frontend, endpoint int
	tried              []int // endpoints that failed it
	failed             bool

	target    int // tokens to compute before the next token: the prompt, after a preemption with the answer so far
	computed  int // tokens that were computed
	private   int // tokens in the cache that aren't in blocks
	generated int // tokens of the answer
	admitted  int // times that the request was started
	cached    int // tokens that were in the cache when it was first started
	step      int // tokens of the current step
	blocks    []*block
	first     time.Duration
	ended     time.Duration
}

// newRequest returns a request whose prompt has the contents with the given ids, in parts of
// blockTokens tokens; the last part has the rest.
func newRequest(arrive time.Duration, ids []uint64, prompt, answer int) *request {
	r := &request{arrive: arrive, prompt: max(prompt, 1), answer: max(answer, 1)}
	rest, key := r.prompt, uint64(0)
	for i, id := range ids {
		tokens := min(rest, blockTokens)
		if i == len(ids)-1 {
			tokens = rest
		}
		if tokens == 0 {
			break
		}
		key = mix(key ^ mix(id+1))
		r.parts = append(r.parts, part{id: id, key: key, tokens: tokens})
		rest -= tokens
	}
	r.target = r.prompt
	return r
}

// restart makes a request new, which an endpoint failed.
func (r *request) restart() {
	r.tried = append(r.tried, r.endpoint)
	r.target, r.computed, r.private, r.generated, r.admitted, r.cached = r.prompt, 0, 0, 0, 0, 0
	r.blocks = nil
}

// text returns the prompt as text. Equal parts have equal texts, which differ from those of
// other parts in the first bytes.
func (r *request) text() string {
	var b strings.Builder
	b.Grow(r.prompt * tokenBytes)
	for _, p := range r.parts {
		word := fmt.Sprintf("%016x", mix(p.id+1))
		for n := p.tokens * tokenBytes; n > 0; n -= len(word) {
			b.WriteString(word[:min(n, len(word))])
		}
	}
	return b.String()
}

// stage is a part of a workload. It begins a second after all requests of the previous stage
// have ended, as inference-perf does.
type stage struct {
	name     string
	requests []*request
	warmup   bool          // not part of the results
	skip     time.Duration // requests before this time aren't part of the results
}

// workload is a named list of stages.
type workload struct {
	name      string
	endpoints int
	// stages returns the same requests each time, which runs change.
	stages func() []stage
}

// file returns the workload's name for a file: its first word, without its ending.
func (w *workload) file() string {
	name, _, _ := strings.Cut(w.name, " ")
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// ladder returns the rates and durations of llm-d's guide precise-prefix-cache-aware
// (benchmark-templates/guide.yaml, load.stages). The first stage is the warm-up.
func ladder() []rung {
	return []rung{
		{15, 50},
		{3, 20},
		{10, 20},
		{15, 20},
		{20, 38},
		{22, 34},
		{25, 30},
		{30, 25},
		{35, 21},
		{40, 38},
		{43, 36},
		{46, 33},
		{49, 30},
		{52, 29},
		{55, 27},
		{57, 26},
		{60, 25},
	}
}

// rung is a rate in requests/s, and the time for which it is held.
type rung struct{ rate, seconds int }

// b2bSaaS returns llm-d's workload: 150 groups with a common prefix of 6,000 tokens, 5 fixed
// questions of 1,200 tokens in each, answers of 1,000 tokens. The 750 prompts are sent in a
// random order, again and again, at random times.
func b2bSaaS(seed uint64) workload {
	const groups, questions, prefix, question, answer = 150, 5, 6000, 1200, 1000
	return workload{name: "b2b-saas", endpoints: 8, stages: func() []stage {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // G404: a simulation
		order := random.Perm(groups * questions)
		sent := 0
		var stages []stage
		for i, step := range ladder() {
			s := stage{name: fmt.Sprintf("%d/s", step.rate), warmup: i == 0}
			now := 0.0
			for range step.rate * step.seconds {
				now += random.ExpFloat64() / float64(step.rate)
				n := order[sent%len(order)]
				sent++
				s.requests = append(s.requests, sharedPrefix(seconds(now), n/questions, n, [3]int{prefix, question, answer}))
			}
			stages = append(stages, s)
		}
		return stages
	}}
}

// scaled returns b2b-saas's prompts for a number of endpoints at a constant rate. The first 60
// seconds fill the caches.
func scaled(seed uint64, endpoints int) workload {
	const prefixes, questions, rate, duration, skip = 19, 5, 1.85, 120, 60
	return workload{name: "scale", endpoints: endpoints, stages: func() []stage {
		random := rand.New(rand.NewPCG(seed, 4)) //nolint:gosec // G404: a simulation
		s := stage{name: "all", skip: skip * time.Second}
		for now := 0.0; now < duration; now += random.ExpFloat64() / rate / float64(endpoints) {
			n := random.IntN(prefixes * questions * endpoints)
			s.requests = append(s.requests, sharedPrefix(seconds(now), n/questions, n, [3]int{6000, 1200, 1000}))
		}
		return []stage{s}
	}}
}

// sharedPrefix returns a request with a prefix of a group and its own question. sizes are the
// tokens of the prefix, the question and the answer.
func sharedPrefix(arrive time.Duration, group, question int, sizes [3]int) *request {
	r := &request{arrive: arrive, prompt: sizes[0] + sizes[1], answer: sizes[2]}
	key := uint64(0)
	add := func(id uint64, tokens int) {
		for i := uint64(0); tokens > 0; i++ {
			n := min(tokens, blockTokens)
			key = mix(key ^ mix(id<<16+i+1))
			r.parts = append(r.parts, part{id: id<<16 + i, key: key, tokens: n})
			tokens -= n
		}
	}
	add(uint64(group)<<1, sizes[0])
	add(uint64(question)<<1|1, sizes[1])
	r.target = r.prompt
	return r
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Statistics of Mooncake's conversation trace (FAST'25 release, conversation_trace.jsonl:
// 12,031 requests in 3,537 s). A request continues an earlier one if it has more than the first
// block in common with it, which all requests have.
const (
	conversationRate     = 12031.0 / 3537 // requests/s
	conversationAgain    = 0.387          // share of requests that continue an earlier one
	conversationDistance = 423.0          // median number of requests since the earlier one
	conversationGap      = 1.02           // deviation of the logarithm of that number: quartiles 229 and 901
	conversationNew      = 4961.0         // geometric mean of the tokens of other prompts
	conversationSpread   = 1.26           // deviation of their logarithm
	conversationAdded    = 829.0          // median of the tokens that a continuation adds
	conversationMore     = 1.4            // deviation of their logarithm: quartiles 534 and 3,503
	conversationAnswer   = 343.0          // mean of the answers' tokens
	conversationLongest  = 126_195        // tokens of the longest prompt
)

// conversation returns requests like those of Mooncake's conversation trace.
func conversation(seed uint64, speed float64, count int) workload {
	return workload{name: "conversation", endpoints: 8, stages: func() []stage {
		random := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // G404: a simulation
		logNormal := func(median, deviation float64) float64 {
			return median * math.Exp(deviation*random.NormFloat64())
		}
		next := uint64(1)
		var sent [][]uint64
		s := stage{name: "all"}
		now := 0.0
		for i := range count {
			now += random.ExpFloat64() / conversationRate / speed
			ids := []uint64{0}
			length := logNormal(conversationNew, conversationSpread)
			if random.Float64() < conversationAgain && i > 0 {
				distance := int(logNormal(conversationDistance, conversationGap))
				earlier := sent[i-1-min(distance, i-1)]
				ids = slices.Clip(earlier)
				length = float64(len(ids)*blockTokens) + logNormal(conversationAdded, conversationMore)
			}
			prompt := int(min(max(length, 16), conversationLongest))
			for len(ids)*blockTokens < prompt {
				ids = append(ids, next)
				next++
			}
			sent = append(sent, ids)
			answer := 1 + int(conversationAnswer*random.ExpFloat64())
			s.requests = append(s.requests, newRequest(seconds(now), ids, prompt, answer))
		}
		return []stage{s}
	}}
}

// Limits of a line of a trace.
const (
	latestTimestamp = 1_000_000_000 // ms: eleven days
	longestOutput   = 1_000_000_000 // tokens
)

// traceLine is a line of a trace in Mooncake's format.
type traceLine struct {
	Timestamp *float64 `json:"timestamp"` // ms
	Input     *int     `json:"input_length"`
	Output    *int     `json:"output_length"`
	Hashes    []uint64 `json:"hash_ids"`
}

// check returns an error if a field is missing or doesn't fit the others.
func (l *traceLine) check() error {
	switch {
	case l.Timestamp == nil || *l.Timestamp < 0 || *l.Timestamp > latestTimestamp:
		return fmt.Errorf("timestamp must be from 0 to %d", latestTimestamp)
	case l.Input == nil || *l.Input < 1:
		return fmt.Errorf("input_length must be 1 or more")
	case l.Output == nil || *l.Output < 0 || *l.Output > longestOutput:
		return fmt.Errorf("output_length must be from 0 to %d", longestOutput)
	case len(l.Hashes)*blockTokens < *l.Input:
		return fmt.Errorf("%d hash_ids are too few for %d tokens in blocks of %d", len(l.Hashes), *l.Input, blockTokens)
	case len(l.Hashes) > (*l.Input+blockTokens-1)/blockTokens:
		return fmt.Errorf("%d hash_ids are too many for %d tokens in blocks of %d", len(l.Hashes), *l.Input, blockTokens)
	}
	return nil
}

// readTrace reads a trace. It reports invalid lines to log and skips them if it is tolerant,
// and else fails.
func readTrace(o *options, log io.Writer) (workload, error) {
	data, err := os.ReadFile(o.Trace)
	if err != nil {
		return workload{}, err
	}
	lines, err := parseTrace(data, o, log)
	if err != nil {
		return workload{}, err
	}
	name := fmt.Sprintf("%s (xxhash %016x)", o.Trace[strings.LastIndexByte(o.Trace, '/')+1:], xxhash.Sum64(data))
	return workload{name: name, endpoints: 8, stages: func() []stage {
		s := stage{name: "all"}
		for _, l := range lines {
			at := time.Duration(*l.Timestamp / o.Speed * float64(time.Millisecond))
			s.requests = append(s.requests, newRequest(at, l.Hashes, *l.Input, *l.Output))
		}
		return []stage{s}
	}}, nil
}

func parseTrace(data []byte, o *options, log io.Writer) ([]traceLine, error) {
	var lines []traceLine
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 1<<24)
	latest := 0.0
	for n := 1; scanner.Scan() && (o.Limit == 0 || len(lines) < o.Limit); n++ {
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		var l traceLine
		err := json.Unmarshal(scanner.Bytes(), &l)
		if err == nil {
			err = l.check()
		}
		if err == nil && *l.Timestamp < latest {
			err = fmt.Errorf("timestamp %v is before that of the previous line", *l.Timestamp)
		}
		if err != nil {
			err = fmt.Errorf("%s:%d: %w", o.Trace, n, err)
			if !o.Tolerant {
				return nil, fmt.Errorf("%w (--tolerant skips such lines)", err)
			}
			if _, err := fmt.Fprintln(log, "skipped", err); err != nil {
				return nil, err
			}
			continue
		}
		latest = *l.Timestamp
		lines = append(lines, l)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Trace, err)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s has no valid line", o.Trace)
	}
	return lines, nil
}
