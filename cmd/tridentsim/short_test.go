package main

import "testing"

// TestShort checks the properties of the workload that real servers get. Prompts are whole blocks, as
// those servers compare texts. The share of tokens in the cache distinguishes a choice of endpoints that
// follows prompts from one that doesn't.
func TestShort(t *testing.T) {
	withoutRace(t)
	o := defaults(t)
	w := short(o.Seed)
	requests := w.stages()[0].requests
	if n, last := len(requests), requests[len(requests)-1].arrive.Seconds(); n != 1200 || last < 50 || last > 70 {
		t.Errorf("%d requests within %.0f s", n, last)
	}
	for _, r := range requests {
		if r.prompt%blockTokens != 0 || len(r.text()) != r.prompt*tokenBytes {
			t.Fatalf("a prompt has %d tokens and %d bytes", r.prompt, len(r.text()))
		}
	}
	cost, tokens := measured(t, o, &w, "trident"), measured(t, o, &w, "trident-tokens")
	if cost.hit < tokens.hit+0.2 {
		t.Errorf("%.3f of the tokens are in the cache, and %.3f with a choice that doesn't follow prompts", cost.hit, tokens.hit)
	}
}
