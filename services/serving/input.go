package serving

import (
	"context"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/toolparser"
)

// EnforcesInput reports whether a model's engine is known to hold the input of a forced call to a
// constraint, so that [inference.ToolChoice] may have it as Input. It reports false for a model that isn't ready.
func EnforcesInput(ctx context.Context, model *catalog.Resolution, c *inference.Structured) bool {
	if model.Confirm(ctx) != nil { // Generate returns the error
		return false
	}
	card := model.Card
	if card.Backend == nil || card.StructuredOutputs == "" || !(toolparser.Dialects{}).ConstrainsInput(card.ToolParser, card.ReasoningParser) {
		return false
	}
	judge, ok := card.Backend.(inference.Constrainer)
	if !ok {
		return false
	}
	_, err := judge.Constrain(&card.Target, c)
	return err == nil
}
