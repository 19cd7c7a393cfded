package catalog

import "sync/atomic"

// PromptCounts decides whether the engine of a model is asked for the number of a prompt's tokens.
// An engine repeats the number in each response of a stream, and each tensor of a response costs it
// time. The tokenizer's number replaces the engine's after the two were equal for [provenPrompts]
// requests. From then on, one request of [auditedPrompts] still asks. A single difference makes all
// further requests ask. The methods may be called concurrently. A nil PromptCounts always asks.
type PromptCounts struct {
	equal   atomic.Int64  // number of comparisons
	differs atomic.Bool   // a comparison has found a difference
	skipped atomic.Uint64 // number of requests since the tokenizer was proven
}

const (
	// provenPrompts is the number of equal counts after which the tokenizer's count is used.
	provenPrompts = 16
	// auditedPrompts is the number of requests of which one is compared nevertheless.
	auditedPrompts = 32
)

// Asks reports whether the next request asks the engine for the number.
func (p *PromptCounts) Asks() bool {
	if p == nil || p.differs.Load() || p.equal.Load() < provenPrompts {
		return true
	}
	return p.skipped.Add(1)%auditedPrompts == 0
}

// Compare records the numbers of the same prompt by the tokenizer and by the engine. A number of 0
// isn't known.
func (p *PromptCounts) Compare(tokenizer, engine int) {
	switch {
	case p == nil || tokenizer == 0 || engine == 0:
	case tokenizer == engine:
		p.equal.Add(1)
	default:
		p.differs.Store(true)
	}
}
