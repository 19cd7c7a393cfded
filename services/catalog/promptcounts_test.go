package catalog

import "testing"

// TestPromptCounts checks when the engine is asked for the number of a prompt's tokens: until the
// tokenizer was equal 16 times, then for one request of 32, and for all after a difference.
func TestPromptCounts(t *testing.T) {
	var p PromptCounts
	for i := range provenPrompts {
		if !p.Asks() {
			t.Fatalf("after %d equal counts the engine isn't asked", i)
		}
		p.Compare(0, 7) // unknown numbers prove nothing
		p.Compare(7, 0)
		p.Compare(7, 7)
	}
	asked := 0
	for range 10 * auditedPrompts {
		if p.Asks() {
			asked++
		}
	}
	if asked != 10 {
		t.Errorf("%d of %d requests asked, not 10", asked, 10*auditedPrompts)
	}
	p.Compare(7, 8)
	p.Compare(7, 7)
	for range auditedPrompts {
		if !p.Asks() {
			t.Fatal("after a difference the engine isn't asked")
		}
	}
	var none *PromptCounts
	none.Compare(7, 8)
	if !none.Asks() {
		t.Error("without a tokenizer the engine must be asked")
	}
}
