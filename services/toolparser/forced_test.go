package toolparser

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// native returns the options of a forced call in the dialect's own form.
func native(tools, reasoning string, choice inference.ToolChoice, single bool) func() *inference.ParserOptions {
	return func() *inference.ParserOptions {
		o := options(tools, reasoning)
		o.Choice, o.Native, o.Single = choice, true, single
		return o
	}
}

// forcedTag returns the format of ConstrainForced, or nil.
func forcedTag(t *testing.T, tools string, choice inference.ToolChoice, single bool) *tag {
	t.Helper()
	s, err := Dialects{}.ConstrainForced(tools, choice, []json.RawMessage{weather, clock}, single)
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		return nil
	}
	var value struct {
		Type   string `json:"type"`
		Format *tag   `json:"format"`
	}
	if err := json.Unmarshal(s.Value, &value); err != nil || value.Type != "structural_tag" || s.Kind != value.Type || s.Param != "tool_choice" || !s.Native {
		t.Fatalf("got %+v: %s, %v", s, s.Value, err)
	}
	return value.Format
}

// answersOf returns answers that a structural tag accepts: one with each alternative, and for lists one
// with all of their elements. The JSON of a schema that has the property city is paris, otherwise {}.
func answersOf(t *testing.T, f *tag) []string {
	t.Helper()
	switch f.Type {
	case "tag":
		return around3(f.Begin, answersOf(t, f.Content), f.End)
	case "or":
		var all []string
		for i := range f.Elements {
			all = append(all, answersOf(t, &f.Elements[i])...)
		}
		return all
	case "tags_with_separator":
		if !f.AtLeastOne || f.Separator == "" {
			t.Errorf("a list without elements, or without separator: %+v", f)
		}
		var all []string
		for i := range f.Tags {
			all = append(all, answersOf(t, &f.Tags[i])...)
		}
		return append(all, strings.Join(all, f.Separator))
	case "sequence":
		joined := []string{""}
		for i := range f.Elements {
			joined = around3(joined[0], answersOf(t, &f.Elements[i]), "")
		}
		return joined
	case "const_string":
		return []string{f.Value}
	case "regex":
		return []string{"7"}
	case "json_schema":
		if strings.Contains(string(f.Schema), `"city"`) {
			return []string{paris}
		}
		return []string{"{}"}
	}
	t.Fatalf("the format %q isn't known", f.Type)
	return nil
}

func around3(begin string, texts []string, end string) []string {
	var all []string
	for _, text := range texts {
		all = append(all, begin+text+end)
	}
	return all
}

// TestForcedForms checks that each dialect reads the answers that its structural tag accepts, in every
// split, with and without reasoning before them.
func TestForcedForms(t *testing.T) {
	weather, now := call{"get_weather", paris}, call{"now", "{}"}
	required, named := inference.ToolChoice{Mode: inference.ToolRequired}, inference.ToolChoice{Mode: inference.ToolNamed, Name: "now"}
	tests := []struct {
		name   string
		choice inference.ToolChoice
		single bool
		want   [][]call
	}{
		{"required", required, false, [][]call{{weather}, {now}, {weather, now}}},
		{"required, one", required, true, [][]call{{weather}, {now}}},
		{"named", named, false, [][]call{{now}}},
		{"allowed", inference.ToolChoice{Mode: inference.ToolRequired, Allowed: []string{"now"}}, false, [][]call{{now}, {now}}},
	}
	for _, d := range toolDialects() {
		if d.forced == nil {
			continue
		}
		for _, tt := range tests {
			t.Run(d.names[0]+", "+tt.name, func(t *testing.T) {
				answers := answersOf(t, forcedTag(t, d.names[0], tt.choice, tt.single))
				if len(answers) != len(tt.want) {
					t.Fatalf("the tag accepts %q", answers)
				}
				var plain, thought []example
				for i, answer := range answers {
					plain = append(plain, example{name: fmt.Sprint(i), in: answer, calls: tt.want[i]})
					thought = append(thought, example{name: fmt.Sprint(i), in: "a </think>" + answer, reasoning: "a ", calls: tt.want[i]})
				}
				checkCalls(t, native(d.names[0], "", tt.choice, tt.single), plain)
				checkCalls(t, native(d.names[0], "deepseek_r1", tt.choice, tt.single), plain)
				checkCalls(t, native(d.names[0], "deepseek_r1", tt.choice, tt.single), thought)
			})
		}
	}
}

// checkCalls compares the calls, the reasoning and the text, whole and in every split into two parts.
func checkCalls(t *testing.T, opts func() *inference.ParserOptions, examples []example) {
	t.Helper()
	for _, e := range examples {
		for i := 0; i < len(e.in); i += cutStep {
			got := parse(t, opts(), e.in[:i], e.in[i:])
			if got.State == inference.ParseComplete {
				got.State = inference.ParseOpen // the parser of a single call stops after it
			}
			if want := (answered{Reasoning: e.reasoning, Calls: e.calls}); !got.equal(want) {
				t.Fatalf("of %q and %q\ngot  %+v\nwant %+v", e.in[:i], e.in[i:], got, want)
			}
		}
	}
}

// TestForcedForm checks the whole structural tag of one dialect, which puts the last character of a
// call's end between the calls, since xgrammar takes no empty separators.
func TestForcedForm(t *testing.T) {
	s, err := Dialects{}.ConstrainForced("kimi_k2", inference.ToolChoice{Mode: inference.ToolRequired}, []json.RawMessage{clock}, false)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"structural_tag","format":{"type":"tag","begin":"<|tool_calls_section_begin|>","content":{"type":"tags_with_separator","separator":">","at_least_one":true,"tags":[
		{"type":"tag","begin":"<|tool_call_begin|>functions.now:","content":{"type":"sequence","elements":[{"type":"regex","pattern":"[0-9]{1,4}"},
		{"type":"const_string","value":"<|tool_call_argument_begin|>"},{"type":"json_schema","json_schema":{"type":"object","properties":{},"additionalProperties":false}}]},"end":"<|tool_call_end|"}
		]},"end":"><|tool_calls_section_end|>"}}`
	var got, wanted any
	if json.Unmarshal(s.Value, &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil || !equalJSON(t, got, wanted) {
		t.Errorf("got %s", s.Value)
	}
}

// TestForcedFormsOfOthers checks which forced calls have no structural tag.
func TestForcedFormsOfOthers(t *testing.T) {
	required := inference.ToolChoice{Mode: inference.ToolRequired}
	for _, tt := range []struct {
		name, tools string
		choice      inference.ToolChoice
	}{
		{"arguments that aren't JSON", "qwen3_coder", required},
		{"no calls", "hermes", inference.ToolChoice{Mode: inference.ToolNone}},
		{"not forced", "hermes", inference.ToolChoice{}},
		{"a custom tool's input", "hermes", inference.ToolChoice{Mode: inference.ToolNamed, Name: "now", Input: &inference.Structured{Kind: "regex"}}},
		{"no such tool", "hermes", inference.ToolChoice{Mode: inference.ToolNamed, Name: "x"}},
		{"no dialect", "", required},
	} {
		if got := forcedTag(t, tt.tools, tt.choice, false); got != nil {
			t.Errorf("%s: got %+v", tt.name, got)
		}
	}
	if _, err := (Dialects{}).ConstrainForced("xyz", required, nil, false); err == nil {
		t.Error("an unknown dialect is accepted")
	}
	o := native("qwen3_coder", "", required, false)()
	if _, err := (Dialects{}).Parser(o); err == nil || !strings.Contains(err.Error(), "qwen3_coder") {
		t.Errorf("got %v", err)
	}
}
