package requests_test

import (
	"context"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/requests"
)

// TestMayUse checks the early check of a key's models: it reads a body only up to its member model,
// and refuses a model that the key doesn't allow.
func TestMayUse(t *testing.T) {
	keyed := inference.WithClient(t.Context(), &inference.Client{Name: "k", Models: []string{"mine"}})
	for name, tt := range map[string]struct {
		ctx     context.Context //nolint:containedctx // context of one case
		body    string
		refused bool
	}{
		"the key's model":                {keyed, `{"messages": [{"x": [1, "}"]}], "model": "mine"}`, false},
		"another model":                  {keyed, `{"messages": [{"x": [1, "}"]}], "model": "other"}`, true},
		"another model before a flaw":    {keyed, `{"model": "other", "messages": [}`, true},
		"another model behind a flaw":    {keyed, `{"messages": [}, "model": "other"}`, false},
		"a model within":                 {keyed, `{"metadata": {"model": "other"}}`, false},
		"a model that is no string":      {keyed, `{"model": 7}`, false},
		"an empty model":                 {keyed, `{"model": ""}`, false},
		"no object":                      {keyed, `["model", "other"]`, false},
		"a client for all models":        {inference.WithClient(t.Context(), &inference.Client{Name: "k"}), `{"model": "other"}`, false},
		"nobody in particular":           {t.Context(), `{"model": "other"}`, false},
		"the key's model before another": {keyed, `{"model": "mine", "model": "other"}`, false}, // the frontend refuses it
	} {
		t.Run(name, func(t *testing.T) {
			err := requests.MayUse(tt.ctx, []byte(tt.body))
			if (err != nil) != tt.refused {
				t.Fatalf("got %v", err)
			}
			if err != nil && inference.AsError(err).Reason != inference.ReasonModelNotFound {
				t.Errorf("got %+v", inference.AsError(err))
			}
		})
	}
}
