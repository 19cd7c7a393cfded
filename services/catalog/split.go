package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
)

// Split distributes the requests for an alias over models, for example over a model and its
// successor. Each request is assigned by itself: the requests of one conversation may go to several
// models.
type Split struct {
	Alias   string
	Targets []SplitTarget
}

// SplitTarget is one of the models of a [Split].
type SplitTarget struct {
	// Model is the model's own name.
	Model string
	// Weight is the share of requests in relation to the other weights, from 0 to
	// [MaxSplitWeight]. A model with the weight 0 gets none.
	Weight int
}

// MaxSplitWeight is the highest weight of a model in a [Split].
const MaxSplitWeight = 1_000_000

// UnmarshalText parses ALIAS:MODEL=WEIGHT[,MODEL=WEIGHT...].
func (s *Split) UnmarshalText(text []byte) error {
	before, _, found := strings.Cut(string(text), "=")
	colon := strings.LastIndexByte(before, ':')
	if !found || colon < 1 {
		return fmt.Errorf("must be ALIAS:MODEL=WEIGHT,MODEL=WEIGHT, such as chat:chat-v1=95,chat-v2=5, not %q", text)
	}
	*s = Split{Alias: string(text[:colon])}
	for part := range strings.SplitSeq(string(text[colon+1:]), ",") {
		model, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		weight, err := strconv.Atoi(number)
		if err != nil || weight < 0 || weight > MaxSplitWeight || model == "" {
			return fmt.Errorf("%q must be MODEL=WEIGHT with a whole weight from 0 to %d", part, MaxSplitWeight)
		}
		if s.has(model) {
			return fmt.Errorf("%q has the model %s twice: give each model once", text, model)
		}
		s.Targets = append(s.Targets, SplitTarget{model, weight})
	}
	if s.Total() == 0 {
		return fmt.Errorf("%q has only weights of 0: give a model a higher weight", text)
	}
	return nil
}

// MarshalText is the reverse of UnmarshalText.
func (s Split) MarshalText() ([]byte, error) { return []byte(s.Alias + ":" + s.Shares()), nil }

// Shares returns the models with their weights, as MODEL=WEIGHT, comma-separated.
func (s Split) Shares() string {
	parts := make([]string, len(s.Targets))
	for i, t := range s.Targets {
		parts[i] = fmt.Sprintf("%s=%d", t.Model, t.Weight)
	}
	return strings.Join(parts, ",")
}

// Total returns the sum of the weights.
func (s Split) Total() (total int) {
	for _, t := range s.Targets {
		total += t.Weight
	}
	return total
}

// has reports whether a model is one of the targets.
func (s Split) has(model string) bool {
	return slices.ContainsFunc(s.Targets, func(t SplitTarget) bool { return t.Model == model })
}

// Validate returns an error that names the first invalid field.
func (c Config) Validate() error {
	seen := map[string]bool{}
	for _, s := range c.Splits {
		if seen[s.Alias] {
			return configfield.Errorf("catalog.Splits", "the alias %s is given twice: give all of its models in one value", s.Alias)
		}
		seen[s.Alias] = true
		if s.has(s.Alias) {
			return configfield.Errorf("catalog.Splits", "the alias %s is also one of its models: choose another alias, as the own name of a model always means that model", s.Alias)
		}
	}
	return nil
}

// split is a [Split] in use. The mutex guards the credits.
type split struct {
	Split

	mu      sync.Mutex
	credits []int // by target, see next
}

// splitsOf returns the splits by alias.
func splitsOf(list []Split) map[string]*split {
	all := make(map[string]*split, len(list))
	for _, s := range list {
		all[s.Alias] = &split{Split: s, credits: make([]int, len(s.Targets))}
	}
	return all
}

// next returns the card of the model that gets the next request, by smooth weighted round robin: of
// any 100 consecutive requests, a model with 5 of 100 weights gets 5. Models that aren't ready get
// no requests as long as another one with a weight is. It returns nil if no model is known.
func (s *split) next(k *snapshot) *Card {
	s.mu.Lock()
	defer s.mu.Unlock()
	best, total := -1, 0
	for i, t := range s.Targets {
		if card := k.cards[t.Model]; t.Weight == 0 || card == nil || card.State != inference.ModelReady {
			continue
		}
		s.credits[i] += t.Weight
		total += t.Weight
		if best < 0 || s.credits[i] > s.credits[best] {
			best = i
		}
	}
	if best < 0 {
		return s.main(k)
	}
	s.credits[best] -= total
	return k.cards[s.Targets[best].Model]
}

// main returns the card that the alias stands for in lists: of the models that are ready, or else of
// those that are known, the first one with the highest weight. It returns nil if none is known.
func (s *split) main(k *snapshot) *Card {
	var main *Card
	highest := -1
	for _, t := range s.Targets {
		card := k.cards[t.Model]
		if card == nil || t.Weight == 0 {
			continue
		}
		rank := t.Weight
		if card.State == inference.ModelReady {
			rank += MaxSplitWeight + 1
		}
		if rank > highest {
			main, highest = card, rank
		}
	}
	return main
}

// stays reports whether a request that was assigned to a model stays there: the model is ready.
func (s *split) stays(k *snapshot, model string) bool {
	card := k.cards[model]
	return card != nil && card.State == inference.ModelReady && s.has(model)
}

// Split replaces the splits of aliases. Requests in flight keep their models.
func (c *Catalog) Split(splits []Split) error {
	if err := (Config{Splits: splits}).Validate(); err != nil {
		return err
	}
	c.refreshing <- struct{}{}
	defer func() { <-c.refreshing }()
	old := c.splits
	c.splits = splitsOf(splits)
	for alias, s := range c.splits {
		if before := old[alias]; before != nil && before.Shares() == s.Shares() {
			c.splits[alias] = before // keeps its credits
		}
	}
	known := c.known.Load()
	fresh := &snapshot{cards: known.cards, err: known.err}
	c.name(fresh)
	c.known.Store(fresh)
	c.watches.notify(fresh)
	return nil
}

// Splits returns the splits of aliases, by alias.
func (c *Catalog) Splits() []Split {
	all := c.known.Load().splits
	list := make([]Split, 0, len(all))
	for _, s := range all {
		list = append(list, s.Split)
	}
	slices.SortFunc(list, func(a, b Split) int { return cmp.Compare(a.Alias, b.Alias) })
	return list
}

// name sets the further names of the models. The caller holds refreshing.
func (c *Catalog) name(fresh *snapshot) {
	fresh.splits = c.splits
	fresh.setAliases()
	if fresh.err == nil {
		for _, s := range c.splits {
			if err := s.problem(fresh); err == nil {
				delete(c.splitProblems, s.Alias)
			} else if text := err.Error(); c.splitProblems[s.Alias] != text {
				c.splitProblems[s.Alias] = text
				c.log.Warn("the split of an alias doesn't apply as configured", "alias", s.Alias, "models", s.Shares(), "problem", text)
			}
		}
	}
}

// problem returns why a split doesn't apply as configured, or nil.
func (s *split) problem(k *snapshot) error {
	if k.cards[s.Alias] != nil {
		return errors.New("a model has the alias as its own name: all requests go to that model")
	}
	for _, t := range s.Targets {
		if k.cards[t.Model] == nil {
			return fmt.Errorf("no server has the model %s: its requests go to the others", t.Model)
		}
	}
	return nil
}
