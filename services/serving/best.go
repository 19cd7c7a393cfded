package serving

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/trident-inference/trident/services/inference"
)

// candidates returns the number of continuations to generate for each prompt.
func candidates(req *inference.Request) int { return max(req.N, req.BestOf, 1) }

// ranks reports whether more continuations are generated than returned.
func ranks(req *inference.Request) bool { return req.BestOf > max(req.N, 1) }

// rank makes the run request the log probabilities that the choice among continuations needs.
func (r *textRun) rank() {
	if ranks(r.req) && r.req.Sampling.Logprobs == nil {
		asked := *r.req
		asked.Sampling.Logprobs = new(0)
		r.req, r.hidden = &asked, true
	}
}

// candidate is a continuation as far as it has been generated.
type candidate struct {
	text     []byte
	logprobs []inference.TokenLogprob
	prompt   *inference.PromptScore
	finish   inference.FinishReason
}

// mean returns the mean log probability of the tokens, the criterion of OpenAI's best_of. A
// continuation without tokens comes last.
func (c *candidate) mean() float64 {
	if len(c.logprobs) == 0 {
		return math.Inf(-1)
	}
	sum := 0.0
	for _, t := range c.logprobs {
		sum += t.Logprob
	}
	return sum / float64(len(c.logprobs))
}

// best collects the candidates if there are more than the client requested. It yields the likeliest
// ones of each prompt, each as a whole.
func (r *textRun) best(deltas iter.Seq2[inference.Delta, error]) iter.Seq2[inference.Delta, error] {
	if !ranks(r.req) {
		return deltas
	}
	return func(yield func(inference.Delta, error) bool) {
		all := make([]candidate, len(r.jobs))
		for d, err := range deltas {
			if err != nil || d.Idle {
				if !yield(d, r.bestOfError(err)) || err != nil {
					return
				}
				continue
			}
			c := &all[d.Index]
			c.text = append(c.text, d.Text...)
			c.logprobs = append(c.logprobs, d.Logprobs...)
			c.finish, c.prompt = cmp.Or(d.Finish, c.finish), cmp.Or(d.Prompt, c.prompt)
		}
		r.yieldBest(all, yield)
	}
}

func (r *textRun) yieldBest(all []candidate, yield func(inference.Delta, error) bool) {
	index := 0
	for group := range slices.Chunk(all, candidates(r.req)) {
		slices.SortStableFunc(group, func(a, b candidate) int { return cmp.Compare(b.mean(), a.mean()) })
		for _, c := range group[:max(r.req.N, 1)] {
			d := inference.Delta{Index: index, Text: c.text, Logprobs: c.logprobs, Prompt: c.prompt, Finish: c.finish, More: true}
			if r.hidden {
				d.Logprobs = nil
			}
			if !yield(d, nil) {
				return
			}
			index++
		}
	}
}

// bestOfError changes an error about log probabilities that the client didn't request: the error
// names the field best_of instead.
func (r *textRun) bestOfError(err error) error {
	e, ok := err.(*inference.Error) //nolint:errorlint // a model's own refusal, not what it wraps
	if !ok || !r.hidden || e.Param != "logprobs" {
		return err
	}
	return inference.Unsupported("best_of", "best_of above n needs log probabilities, which this model doesn't return")
}
