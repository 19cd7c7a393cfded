package inference_test

import (
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestLastText checks which text of a message a model continues.
func TestLastText(t *testing.T) {
	image, text := inference.Part{Kind: inference.PartImage}, func(s string) inference.Part { return inference.Part{Text: s} }
	tests := []struct {
		name, want string // want is - if there is no text
		message    inference.Message
	}{
		{"a string", "a", inference.Message{Text: "a"}},
		{"the empty string", "", inference.Message{}},
		{"no content", "-", inference.Message{NoContent: true}},
		{"the last of a list", "b", inference.Message{Parts: []inference.Part{text("a"), text("b"), image}}},
		{"only images", "-", inference.Message{Parts: []inference.Part{image}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := "-"
			if last := test.message.LastText(); last != nil {
				got = *last
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestKeepsStop checks that a model keeps its stop sequence for clients that ask for it, and where the
// service reports it.
func TestKeepsStop(t *testing.T) {
	stop := []string{"END"}
	tests := []struct {
		name     string
		sampling inference.Sampling
		want     bool
	}{
		{"neither", inference.Sampling{Stop: stop}, false},
		{"not included", inference.Sampling{Stop: stop, IncludeStop: new(false)}, false},
		{"included", inference.Sampling{Stop: stop, IncludeStop: new(true)}, true},
		{"reported", inference.Sampling{Stop: stop, ReportStop: true}, true},
		{"nothing to report", inference.Sampling{ReportStop: true}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.sampling.KeepsStop(); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
