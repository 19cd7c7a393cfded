package toolparser

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestConstrainStrict checks the structural tags of strict tools: which tools they have, with which
// schemas, and that reasoning stays free.
func TestConstrainStrict(t *testing.T) {
	definitions := []json.RawMessage{
		json.RawMessage(`{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}`),
		json.RawMessage(`{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{"b":{}}}}}`),
		json.RawMessage(`{"type":"function","function":{"name":"h","strict":true}}`),
	}
	const f, g = `{"begin":"<tool_call>\n{\"name\": \"f\", \"arguments\": ","schema":{"type":"object","properties":{"a":{"type":"integer"}}},"end":"}\n</tool_call>"}`,
		`{"begin":"<tool_call>\n{\"name\": \"g\", \"arguments\": ","schema":{"type":"object"},"end":"}\n</tool_call>"}`
	const h = `{"begin":"<tool_call>\n{\"name\": \"h\", \"arguments\": ","schema":{"type":"object","properties":{},"additionalProperties":false},"end":"}\n</tool_call>"}`
	const nested = `{"type":"triggered_tags","triggers":["<｜tool▁call▁begin｜>"],"tags":[{"type":"tag","begin":"<｜tool▁call▁begin｜>h<｜tool▁sep｜>","content":{"type":"json_schema","json_schema":{"type":"object","properties":{},"additionalProperties":false}},"end":"<｜tool▁call▁end｜>"}]}`
	for _, tt := range []struct {
		name, tools, reasoning string
		allowed                []string
		want                   string
	}{
		{"all", "hermes", "", nil, `{"structures":[` + f + `,` + g + `,` + h + `],"triggers":["<tool_call>"]}`},
		{"some allowed", "hermes", "", []string{"g", "h"}, `{"structures":[` + g + `,` + h + `],"triggers":["<tool_call>"]}`},
		{
			name: "after reasoning", tools: "deepseek_v31", reasoning: "qwen3", allowed: []string{"h"},
			want: `{"type":"structural_tag","format":{"type":"or","elements":[{"type":"sequence","elements":[{"type":"tag","begin":"<think>","content":{"type":"any_text"},"end":"</think>"},` + nested + `]},` + nested + `]}}`,
		},
		{"arguments that aren't JSON", "qwen3_coder", "", nil, ""},
		{"calls without a certain beginning", "llama3_json", "", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			choice := inference.ToolChoice{Allowed: tt.allowed}
			strict := Dialects{}.Strict(choice, definitions)
			s, err := Dialects{}.ConstrainStrict(tt.tools, tt.reasoning, choice, definitions, strict)
			switch {
			case err != nil:
				t.Fatal(err)
			case tt.want == "" && s == nil:
				return
			case tt.want == "" || s == nil:
				t.Fatalf("got %+v", s)
			}
			var got, want any
			if json.Unmarshal(s.Value, &got) != nil || json.Unmarshal([]byte(tt.want), &want) != nil {
				t.Fatalf("%s isn't JSON", s.Value)
			}
			if !equalJSON(t, got, want) || s.Kind != "structural_tag" {
				t.Errorf("got %s: %s\nwant %s", s.Kind, s.Value, tt.want)
			}
		})
	}
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	first, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(b)
	return err == nil && bytes.Equal(first, second)
}
