package requests_test

import (
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/requests"
)

// TestContinuation checks the ends of prompts that the two fields select together.
func TestContinuation(t *testing.T) {
	yes, no := new(true), new(false)
	tests := []struct {
		name                    string
		addPrompt, continueLast *bool
		closed, open            bool
		refused                 bool
	}{
		{"neither", nil, nil, false, false, false},
		{"a prompt", yes, no, false, false, false},
		{"no prompt", no, nil, true, false, false},
		{"an open message", no, yes, true, true, false},
		{"an open message and the default", nil, yes, false, true, true},
		{"both", yes, yes, false, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := &inference.Request{}
			err := requests.Continuation(req, tt.addPrompt, tt.continueLast)
			if (err != nil) != tt.refused || err != nil && inference.AsError(err).Param != "continue_final_message" {
				t.Errorf("got %v", err)
			}
			if req.Closed != tt.closed || req.Continue != tt.open {
				t.Errorf("got closed %t, open %t", req.Closed, req.Continue)
			}
		})
	}
}
