package metering

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// Load is the current load of one model or of all models, and its speed.
type Load struct {
	// InFlight is the number of requests being served. Queued is the number of these without an
	// answer yet: they wait here or in the engine, or the engine reads their prompt.
	InFlight, Queued int
	// Waiting is the number of queued requests that wait in Trident's queue.
	Waiting int
	// TokensPerSecond of answers, averaged over the last 5 to 10 s.
	TokensPerSecond float64
	// FirstToken and InterToken are times of streamed generations over the last 30 to 60 s: the
	// time to the first token, and the time between two tokens of an answer.
	FirstToken, InterToken Quantiles
	// Requests is the number of requests so far, and Failures the number of these that failed.
	// Failures include requests whose client disconnected. The totals of all models also include
	// requests that the admission refused.
	Requests, Failures uint64
	// PromptTokens is the number of prompt tokens of generations and embeddings that have ended.
	// CompletionTokens is the number of tokens of answers so far.
	PromptTokens, CompletionTokens uint64
}

// ModelLoad is the load of one model, by its own name.
type ModelLoad struct {
	Model string
	Load
}

// Load returns the load of all requests of all APIs, and the load of each model with requests,
// sorted by name. Models that the client may not use are left out of the list.
func (ms *Meters) Load(ctx context.Context) (Load, []ModelLoad) {
	total, models := ms.load(time.Now())
	for _, n := range ms.Refused() {
		total.Requests += n
		total.Failures += n
	}
	if client := inference.ClientOf(ctx); client != nil && client.Models != nil {
		models = slices.DeleteFunc(models, func(m ModelLoad) bool { return !client.May(m.Model) })
	}
	return total, models
}

// sum adds up the load of several meters.
type sum struct {
	Load

	first, gaps [buckets]uint64
}

func (s *sum) add(m *meter, now time.Time) {
	s.InFlight += int(m.inFlight.Load())
	s.Queued += int(m.queued.Load())
	s.Waiting += int(m.waiting.Load())
	s.TokensPerSecond += m.rate(now)
	s.PromptTokens += m.prompts.Load()
	s.CompletionTokens += m.completions.Load()
	s.Requests += uint64(max(m.inFlight.Load(), 0))
	for outcome := range m.ended {
		n := m.ended[outcome].Load()
		s.Requests += n
		if Outcome(outcome) != OutcomeOK {
			s.Failures += n
		}
	}
	m.first.recent(now, &s.first)
	m.gaps.recent(now, &s.gaps)
}

func (s *sum) load() Load {
	s.FirstToken, s.InterToken = quantilesOf(&s.first), quantilesOf(&s.gaps)
	return s.Load
}

func (ms *Meters) load(now time.Time) (Load, []ModelLoad) {
	total, models := &sum{}, map[string]*sum{}
	ms.mu.RLock()
	total.Load = ms.retired
	for key, m := range ms.all {
		total.add(m, now)
		if key.Model == "" {
			continue
		}
		if models[key.Model] == nil {
			models[key.Model] = &sum{}
		}
		models[key.Model].add(m, now)
	}
	ms.mu.RUnlock()
	list := make([]ModelLoad, 0, len(models))
	for name, s := range models {
		list = append(list, ModelLoad{Model: name, Load: s.load()})
	}
	slices.SortFunc(list, func(a, b ModelLoad) int { return strings.Compare(a.Model, b.Model) })
	return total.load(), list
}
