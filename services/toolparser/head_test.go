package toolparser

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// formedCalls has a call of the tool NAME in each dialect that has a form.
var formedCalls = map[string]string{
	"hermes":       "<tool_call>\n{\"name\": \"NAME\", \"arguments\": {}}\n</tool_call>",
	"ernie45":      "<tool_call>\n{\"name\": \"NAME\", \"arguments\": {}}\n</tool_call>",
	"deepseek_v3":  "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	"deepseek_v31": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	"kimi_k2":      "<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
	"minimax_m2":   "<minimax:tool_call>\n<invoke name=\"NAME\">\n</invoke>\n</minimax:tool_call>",
	"dots":         "<dots_function_call>\n<invoke name=\"NAME\">\n</invoke>\n</dots_function_call>",
	"seed_oss":     "<seed:tool_call>\n<function=NAME>\n</function>\n</seed:tool_call>",
	"mimo":         "<tool_call>\n<function=NAME>\n</function>\n</tool_call>",
	"qwen3_coder":  "<tool_call>\n<function=NAME>\n</function>\n</tool_call>",
}

// TestConstrainNames checks the expression for answers with calls of some of the tools, for each
// dialect that has a form: which answers match as a whole, and that the dialect reads the call.
func TestConstrainNames(t *testing.T) {
	seen := 0
	for _, d := range toolDialects() {
		name := d.names[0]
		if d.form == nil {
			_, err := Dialects{}.ConstrainNames(name, "", inference.ToolChoice{Allowed: []string{"now"}})
			if e := inference.AsError(err); e == nil || e.Reason != inference.ReasonUnsupported || e.Param != "tool_choice" || !strings.Contains(e.Message, name) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) { checkNames(t, &d) })
	}
	if seen != len(formedCalls) {
		t.Errorf("%d dialects have a form, %d have an example", seen, len(formedCalls))
	}
}

func checkNames(t *testing.T, d *toolDialect) {
	t.Helper()
	form, example := d.form(), formedCalls[d.names[0]]
	first := form.trigger[:1]
	call := func(name string) string { return strings.ReplaceAll(example, "NAME", name) }
	matches := namesPattern(t, d.names[0], "", "now", "a.b")
	for _, answer := range []string{
		"", "Hello.", "2 < 3\nand 4 <tool", first, first + first + "x", form.trigger[:len(form.trigger)-1], call("now"), call("a.b"),
		"Wait." + call("now") + "\n" + call("a.b") + " And " + first,
	} {
		if !matches.MatchString(answer) {
			t.Errorf("%q doesn't match %s", answer, matches)
		}
	}
	for _, answer := range []string{call("other"), call("nowhere"), call("axb"), form.trigger, call("now") + call("other"), first + call("other"), "x" + form.trigger + "x"} {
		if matches.MatchString(answer) {
			t.Errorf("%q matches %s", answer, matches)
		}
	}
	after := namesPattern(t, d.names[0], "qwen3", "now")
	if thought := "<think>Perhaps " + call("other") + "</think>"; !after.MatchString(thought+call("now")) || after.MatchString(thought+call("other")) || !after.MatchString(call("now")) {
		t.Errorf("reasoning: %s", after)
	}
	o := options(d.names[0], "")
	parser, err := Dialects{}.Parser(o)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	pieces, _ := parser.Parse([]byte(call("now")))
	for _, p := range append(pieces, parser.Finish()...) {
		got += p.Call.Name
	}
	if got != "now" {
		t.Errorf("the call is read as %q", got)
	}
}

// namesPattern returns the expression that whole answers must match.
func namesPattern(t *testing.T, tools, reasoning string, names ...string) *regexp.Regexp {
	t.Helper()
	s, err := Dialects{}.ConstrainNames(tools, reasoning, inference.ToolChoice{Allowed: names})
	if err != nil || s.Kind != "regex" || s.Param != "tool_choice" {
		t.Fatalf("got %+v, %v", s, err)
	}
	var pattern string
	if err := json.Unmarshal(s.Value, &pattern); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("^(?:" + pattern + ")$")
}

// TestAllowedCalls checks that calls of tools that the choice doesn't allow become text, whatever
// the engine enforces.
func TestAllowedCalls(t *testing.T) {
	some := func() *inference.ParserOptions {
		o := options("hermes", "qwen3")
		o.Choice.Allowed = []string{"now"}
		return o
	}
	const other, now = `<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>`, `<tool_call>{"name": "now", "arguments": {}}</tool_call>`
	check(t, some, []example{
		{name: "an allowed call", in: now, calls: []call{{"now", "{}"}}},
		{name: "another call", in: other, text: `{"name": "get_weather", "arguments": {"city": "Paris"}}`},
		{name: "both", in: other + now, text: `{"name": "get_weather", "arguments": {"city": "Paris"}}`, calls: []call{{"now", "{}"}}},
		{name: "text behind it", in: "<think>a</think>" + other + "b", reasoning: "a", text: `{"name": "get_weather", "arguments": {"city": "Paris"}}b`},
	})
}

// TestAllowedCallsAllocate checks that the text of an answer needs no memory of its own for each
// token if the choice allows some tools.
func TestAllowedCallsAllocate(t *testing.T) {
	o := options("hermes", "")
	o.Choice.Allowed = []string{"now"}
	parser, err := Dialects{}.Parser(o)
	if err != nil {
		t.Fatal(err)
	}
	token := []byte("word")
	allocations := testing.AllocsPerRun(100, func() {
		if pieces, _ := parser.Parse(token); len(pieces) != 1 || string(pieces[0].Text) != "word" {
			t.Fatalf("got %+v", pieces)
		}
	})
	if allocations > 0 {
		t.Errorf("%v allocations for a token", allocations)
	}
}
