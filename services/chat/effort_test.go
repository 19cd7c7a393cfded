package chat

import (
	"errors"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

func TestReasoningEffort(t *testing.T) {
	const (
		word     = "{{ reasoning_effort | default('unset') }}"
		thinking = "{{ enable_thinking | default('unset') }}"
	)
	for _, tt := range []struct {
		name, template, effort, want string
		refused                      bool
	}{
		{"a word", word, "high", "high", false},
		{"the default is a word, too", word, "medium", "medium", false},
		{"no word", word, "", "unset", false},
		{"no thinking", thinking, "none", "False", false},
		{"thinking as ever", thinking, "medium", "unset", false},
		{"more thinking", thinking, "high", "", true},
		{"neither", "x", "low", "", true},
		{"neither, by default", "x", "medium", "x", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			template, err := Compile("m", inference.TemplateSource{Source: tt.template})
			if err != nil {
				t.Fatal(err)
			}
			got, err := template.Render(t.Context(), &inference.Request{ReasoningEffort: tt.effort})
			var refusal *inference.Error
			if errors.As(err, &refusal) != tt.refused || got != tt.want {
				t.Errorf("%q, %v", got, err)
			}
			if tt.refused && (refusal.Param != "reasoning_effort" || refusal.Reason != inference.ReasonUnsupported) {
				t.Errorf("refused by %+v", refusal)
			}
		})
	}
	t.Run("the client's own variables win", func(t *testing.T) {
		template, err := Compile("m", inference.TemplateSource{Source: thinking})
		if err != nil {
			t.Fatal(err)
		}
		got, err := template.Render(t.Context(), &inference.Request{ReasoningEffort: "none", TemplateArgs: []byte(`{"enable_thinking":true}`)})
		if err != nil || got != "True" {
			t.Errorf("%q, %v", got, err)
		}
	})
}
