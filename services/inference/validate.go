package inference

import (
	"fmt"
	"slices"

	"github.com/trident-inference/trident/services/budget"
)

// Limits of a request. They are OpenAI's.
const (
	maxChoices     = 128
	maxTopLogprobs = 20
	maxInputs      = 2048
	maxCandidates  = 20
)

// Validate returns an error that names the first field out of range. Frontends whose wire format
// has a schema detect most of these errors before. The other frontends rely on Validate.
func (r *Request) Validate() error {
	s := &r.Sampling
	for _, f := range []struct {
		name   string
		value  *float64
		lo, hi float64
	}{
		{"temperature", s.Temperature, 0, 2},
		{"top_p", s.TopP, 0, 1},
		{"min_p", s.MinP, 0, 1},
		{"frequency_penalty", s.FrequencyPenalty, -2, 2},
		{"presence_penalty", s.PresencePenalty, -2, 2},
	} {
		if f.value != nil && !(*f.value >= f.lo && *f.value <= f.hi) { // NaN is in no range
			return Invalid(f.name, "%s must be from %g to %g, got %g", f.name, f.lo, f.hi, *f.value)
		}
	}
	if p := s.RepetitionPenalty; p != nil && !(*p > 0) {
		return Invalid("repetition_penalty", "repetition_penalty must be above 0, got %g", *p)
	}
	return r.validateCounts()
}

func (r *Request) validateCounts() error {
	s := &r.Sampling
	least := 1
	if r.Echo {
		least = 0
	}
	for _, f := range []struct {
		name   string
		value  *int
		lo, hi int
	}{
		{"max_tokens", s.MaxTokens, least, 1 << 30},
		{"min_tokens", s.MinTokens, 0, 1 << 30},
		{"top_k", s.TopK, -1, 1 << 30},
		{"top_logprobs", s.Logprobs, 0, maxTopLogprobs},
		{"prompt_logprobs", s.PromptLogprobs, 0, maxTopLogprobs},
		{"n", &r.N, 0, maxChoices},
		{"best_of", &r.BestOf, 0, maxCandidates},
	} {
		if f.value != nil && (*f.value < f.lo || *f.value > f.hi) {
			return Invalid(f.name, "%s must be from %d to %d, got %d", f.name, f.lo, f.hi, *f.value)
		}
	}
	if s.MinTokens != nil && s.MaxTokens != nil && *s.MinTokens > *s.MaxTokens {
		return Invalid("min_tokens", "min_tokens must not be above max_tokens (%d), got %d", *s.MaxTokens, *s.MinTokens)
	}
	if p := s.TruncatePromptTokens; p != nil && (*p == 0 || *p < -1) {
		return Invalid("truncate_prompt_tokens", "truncate_prompt_tokens must be -1 or at least 1, got %d", *p)
	}
	if err := r.validateChoices(); err != nil {
		return err
	}
	return r.validateTexts()
}

func (r *Request) validateTexts() error {
	s := &r.Sampling
	if len(s.Stop) > budget.Stops {
		return Invalid("stop", "stop may have at most %d stop sequences, got %d", budget.Stops, len(s.Stop))
	}
	for _, field := range []struct {
		name  string
		texts []string
	}{{"stop", s.Stop}, {"bad_words", s.BadWords}} {
		if i := slices.Index(field.texts, ""); i >= 0 {
			param := fmt.Sprintf("%s[%d]", field.name, i)
			return Invalid(param, "%s must not be empty", param)
		}
	}
	return nil
}

func (r *Request) validateChoices() error {
	n := max(r.N, 1)
	switch choices := len(r.Prompts) * n; {
	case choices > maxChoices:
		return Invalid("prompt", "the number of prompts times n is %d, but at most %d choices are allowed", choices, maxChoices)
	case r.BestOf > 0 && r.BestOf < n:
		return Invalid("best_of", "best_of must not be below n (%d), got %d", n, r.BestOf)
	case r.BestOf > n && r.Stream:
		return Invalid("best_of", "best_of above n (%d) can't be used with stream: the best choices are known only at the end", n)
	}
	return nil
}
