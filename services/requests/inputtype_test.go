package requests

import (
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestSetInputType checks the types of inputs by their names in each API, and names of prompts.
func TestSetInputType(t *testing.T) {
	for name, want := range map[string]struct {
		kind   inference.InputType
		prompt string
	}{
		"": {"", "set"}, "query": {"query", "set"}, "search_query": {"query", "set"}, "document": {"document", "set"}, "passage": {"document", "set"},
		"search_document": {"document", "set"}, "clustering": {"", "clustering"},
	} {
		req := inference.EncodeRequest{PromptName: "set"}
		SetInputType(&req, name)
		if req.Type != want.kind || req.PromptName != want.prompt {
			t.Errorf("%q: type %q, prompt %q", name, req.Type, req.PromptName)
		}
		if (req.PromptParam == "input_type") != (name == "clustering") {
			t.Errorf("%q: an error would name %q", name, req.PromptParam)
		}
	}
}
