package toolparser

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trident-inference/trident/services/inference"
)

func chosen(choice inference.ToolChoice) func() *inference.ParserOptions {
	return func() *inference.ParserOptions {
		o := options("llama3", "qwen3")
		o.Choice = choice
		return o
	}
}

func TestConstrainedAnswers(t *testing.T) {
	check(t, chosen(inference.ToolChoice{Mode: inference.ToolRequired}), []example{
		{name: "an array", in: `[{"name": "get_weather", "arguments": ` + paris + `}, {"name":"now","arguments":{}}]`, calls: []call{{"get_weather", paris}, {"now", "{}"}}},
		{name: "an object", in: ` {"name": "now", "arguments": {}}`, calls: []call{{"now", "{}"}}},
		{name: "after reasoning", in: `<think>a</think>[{"name": "now", "arguments": {}}]`, reasoning: "a", calls: []call{{"now", "{}"}}},
		{name: "not constrained after all", in: `Sorry`, text: "Sorry"},
	})
	assumed := func() *inference.ParserOptions {
		o := options("hermes", "deepseek_r1")
		o.Choice = inference.ToolChoice{Mode: inference.ToolRequired}
		return o
	}
	check(t, assumed, []example{
		{name: "constrained from the start", in: "\n" + `[{"name": "now", "arguments": {}}]`, calls: []call{{"now", "{}"}}},
		{name: "constrained after the reasoning", in: `Hm {}</think>[{"name": "now", "arguments": {}}]`, reasoning: "Hm {}", calls: []call{{"now", "{}"}}},
	})
	check(t, chosen(inference.ToolChoice{Mode: inference.ToolNamed, Name: "get_weather"}), []example{
		{name: "arguments", in: "\n" + paris, calls: []call{{"get_weather", paris}}},
		{name: "none", in: "{ }", calls: []call{{"get_weather", "{ }"}}},
		{name: "not constrained after all", in: `Sorry {}`, text: "Sorry {}"},
	})
	input := inference.ToolChoice{Mode: inference.ToolNamed, Name: "get_weather", Input: &inference.Structured{Kind: "regex"}}
	check(t, chosen(input), []example{
		{name: "an input", in: "a\n\"é\" {}", calls: []call{{"get_weather", `{"input":"a\n\"é\" {}"}`}}},
		{name: "an input after reasoning", in: `<think>b</think>a`, reasoning: "b", calls: []call{{"get_weather", `{"input":"a"}`}}},
		{name: "no input", in: "", calls: []call{{"get_weather", `{"input":""}`}}},
	})
	check(t, chosen(inference.ToolChoice{Mode: inference.ToolNone}), []example{
		{name: "no call", in: `<|python_tag|>{"name": "now", "parameters": {}}`, text: `<|python_tag|>{"name": "now", "parameters": {}}`},
	})
}

// TestConstrainsInput checks which dialects read inputs that aren't JSON.
func TestConstrainsInput(t *testing.T) {
	for _, tt := range []struct {
		tools, reasoning string
		want             bool
	}{{"hermes", "qwen3", true}, {"", "", true}, {"openai", "", false}, {"hermes", "gpt_oss", false}, {"hermes", "deepseek_r1", false}, {"unknown", "", false}} {
		if got := (Dialects{}).ConstrainsInput(tt.tools, tt.reasoning); got != tt.want {
			t.Errorf("%s, %s: %v", tt.tools, tt.reasoning, got)
		}
	}
}

// TestEitherAnswers checks that a parser with the option Either reads an answer as a call of an
// offered tool, or else as text. JSON that can't be a call is shown from its first key on.
func TestEitherAnswers(t *testing.T) {
	either := func() *inference.ParserOptions {
		o := options("hermes", "qwen3")
		o.Either = true
		return o
	}
	check(t, either, []example{
		{name: "a call", in: `{"name": "get_weather", "arguments": ` + paris + `}`, calls: []call{{"get_weather", paris}}},
		{name: "the client's", in: `{"answer": {"name": "now", "arguments": {}}}`, text: `{"answer": {"name": "now", "arguments": {}}}`},
		{name: "the client's, with a name", in: `{"name": "Ada", "arguments": {}}`, text: `{"name": "Ada", "arguments": {}}`},
		{name: "the client's, with the name of a tool", in: `{"name": "now", "age": 5}`, text: `{"name": "now", "age": 5}`},
		{name: "the client's, with a name that is no string", in: `{"name": ["now"], "arguments": {}}`, text: `{"name": ["now"], "arguments": {}}`},
		{name: "a list", in: `[{"name": "now", "arguments": {}}]`, text: `[{"name": "now", "arguments": {}}]`},
		{name: "nothing in it", in: `{}`, text: `{}`},
		{name: "a string", in: `"{\"name\": \"now\"}"`, text: `"{\"name\": \"now\"}"`},
		{name: "after reasoning", in: `<think>a</think>{"name": "now", "arguments": {}}`, reasoning: "a", calls: []call{{"now", "{}"}}},
		{name: "in the model's own way", in: `<tool_call>{"name": "now", "arguments": {}}</tool_call>`, text: `<tool_call>{"name": "now", "arguments": {}}</tool_call>`},
	})
	parser, err := Dialects{}.Parser(either())
	if err != nil {
		t.Fatal(err)
	}
	shown := ""
	pieces, _ := parser.Parse([]byte(`{"answer":`))
	for _, p := range pieces {
		shown += string(p.Text)
	}
	if shown != `{"answer":` {
		t.Errorf("the client's JSON waits: %q was shown", shown)
	}
}

// TestConstrainEither checks that the schema of ConstrainEither accepts a call of each tool and
// each value that the client's schema accepts. References in the client's schema still work.
func TestConstrainEither(t *testing.T) {
	given := &inference.Structured{Kind: "json", Param: "response_format", Value: json.RawMessage(`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"additionalProperties":false,"$defs":{"n":{"type":"integer"}}}`)}
	tests := []struct {
		name  string
		given *inference.Structured
		valid []string
		wrong []string
	}{
		{"a schema", given, []string{`{"n":1}`, `{"name":"now","arguments":{}}`, `{"name":"walk","arguments":{"tree":{"next":{}}}}`}, []string{`{"n":"x"}`, `{}`, `{"name":"other","arguments":{}}`, `{"name":"now"}`, `[{"name":"now","arguments":{}}]`}},
		{"any object", &inference.Structured{Kind: "json_object", Param: "response_format", Value: json.RawMessage("true")}, []string{`{}`, `{"n":"x"}`, `{"name":"now","arguments":{}}`}, []string{`1`, `[]`}},
	}
	some, err := Dialects{}.ConstrainEither(inference.ToolChoice{Allowed: []string{"now"}}, given, []json.RawMessage{weather, clock, recursive})
	if err != nil || some.Calls != 1 {
		t.Fatalf("got %+v, %v", some, err)
	}
	checkAnswers(t, some.Value, []string{`{"n":1}`, `{"name":"now","arguments":{}}`}, []string{`{"name":"walk","arguments":{"tree":{}}}`})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := string(tt.given.Value)
			s, err := Dialects{}.ConstrainEither(inference.ToolChoice{}, tt.given, []json.RawMessage{weather, clock, recursive})
			if err != nil || s.Kind != "json" || s.Param != "response_format" || s.Calls != 3 || string(tt.given.Value) != before {
				t.Fatalf("got %+v, %v", s, err)
			}
			checkAnswers(t, s.Value, tt.valid, tt.wrong)
		})
	}
}

// checkAnswers checks which answers are valid by a schema.
func checkAnswers(t *testing.T, source json.RawMessage, valid, wrong []string) {
	t.Helper()
	schema := compile(t, source)
	for _, answer := range valid {
		if err := validate(t, schema, answer); err != nil {
			t.Errorf("%s: %v", answer, err)
		}
	}
	for _, answer := range wrong {
		if validate(t, schema, answer) == nil {
			t.Errorf("%s is valid", answer)
		}
	}
}

// TestForcedHarmonyCalls checks that the parser finds forced tool calls of gpt-oss models (Harmony
// format). Depending on the engine, the JSON list of calls is the whole output or the message after
// the reasoning.
func TestForcedHarmonyCalls(t *testing.T) {
	forced := func() *inference.ParserOptions {
		o := options("openai", "openai_gptoss")
		o.Choice = inference.ToolChoice{Mode: inference.ToolRequired}
		return o
	}
	check(t, forced, []example{
		{name: "at once", in: `[{"name": "now", "arguments": {}}]`, calls: []call{{"now", "{}"}}},
		{name: "after reasoning", in: `<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>[{"name": "now", "arguments": {}}]<|return|>`, reasoning: "a", calls: []call{{"now", "{}"}}},
		{name: "in its own way", in: `<|channel|>commentary to=functions.now<|message|>{}<|call|>`, calls: []call{{"now", "{}"}}},
		{name: "in both", in: `<|channel|>final<|message|>{"name": "f", "arguments": {}}<|end|><|channel|>commentary to=functions.now<|message|>{}<|call|>`, calls: []call{{"f", "{}"}, {"now", "{}"}}},
		{name: "text", in: `<|channel|>final<|message|>No`, text: "No"},
		{name: "cut off", in: `<|channel|>final<|message|>[{"name": "now`, text: `[{"name": "now`},
	})
}

// recursive is a tool whose schema refers to its own parts. It also has data that
// looks like such a reference.
var recursive = json.RawMessage(`{"type":"function","function":{"name":"walk","parameters":{"type":"object","properties":{"tree":{"$ref":"#/$defs/node"},"all":{"$ref":"#"}},
	"required":["tree"],"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"v":{"const":{"$ref":"#/x"}}},"additionalProperties":false}}}}}`)

func TestConstrain(t *testing.T) {
	required, named := inference.ToolChoice{Mode: inference.ToolRequired}, inference.ToolChoice{Mode: inference.ToolNamed, Name: "walk"}
	tests := []struct {
		name   string
		choice inference.ToolChoice
		single bool
		valid  []string
		wrong  []string
	}{
		{
			"required", required, false,
			[]string{
				`[{"name":"now","arguments":{}}]`, `[{"name":"get_weather","arguments":{"days":1}},{"name":"now","arguments":{}}]`,
				`[{"name":"walk","arguments":{"tree":{"next":{"next":{}}},"all":{"tree":{"v":{"$ref":"#/x"}}}}}]`,
			},
			[]string{
				`[]`, `{"name":"now","arguments":{}}`, `[{"name":"other","arguments":{}}]`, `[{"name":"now"}]`, `[{"name":"now","arguments":{"x":1}}]`,
				`[{"name":"get_weather","arguments":{"days":"x"}}]`, `[{"name":"walk","arguments":{}}]`,
				`[{"name":"walk","arguments":{"tree":{"next":{"z":1}}}}]`, `[{"name":"walk","arguments":{"tree":{},"all":{}}}]`,
			},
		},
		{"required, one", required, true, []string{`{"name":"now","arguments":{}}`}, []string{`[{"name":"now","arguments":{}}]`, `{}`}},
		{
			"some allowed",
			inference.ToolChoice{Mode: inference.ToolRequired, Allowed: []string{"now", "walk"}},
			false,
			[]string{`[{"name":"now","arguments":{}}]`, `[{"name":"walk","arguments":{"tree":{"next":{}}}}]`},
			[]string{`[{"name":"get_weather","arguments":{"days":1}}]`, `[{"name":"now","arguments":{"x":1}}]`, `[{"name":"walk","arguments":{}}]`},
		},
		{"one allowed", inference.ToolChoice{Mode: inference.ToolRequired, Allowed: []string{"now"}}, true, []string{`{"name":"now","arguments":{}}`}, []string{`{"name":"walk","arguments":{"tree":{}}}`}},
		{"named", named, false, []string{`{"tree":{"next":{}}}`}, []string{`{}`, `{"tree":{"next":1}}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Dialects{}.Constrain(tt.choice, []json.RawMessage{weather, clock, recursive}, tt.single)
			if err != nil || s.Kind != "json" || s.Param != "tool_choice" {
				t.Fatalf("got %+v, %v", s, err)
			}
			checkAnswers(t, s.Value, tt.valid, tt.wrong)
		})
	}
}

func compile(t *testing.T, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatalf("%v in %s", err, schema)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%v in %s", err, schema)
	}
	return compiled
}

func validate(t *testing.T, schema *jsonschema.Schema, answer string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

func TestConstrainErrors(t *testing.T) {
	required := inference.ToolChoice{Mode: inference.ToolRequired}
	deep := `{"type":"function","function":{"name":"f","parameters":{"$ref":"#/a","a":` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `}}}`
	tests := []struct {
		name   string
		choice inference.ToolChoice
		tools  []string
		param  string
		text   string
	}{
		{"no such tool", inference.ToolChoice{Mode: inference.ToolNamed, Name: "x"}, []string{string(clock)}, "tool_choice", "`x`"},
		{"no tools", required, nil, "tool_choice", "no tools"},
		{"no function", required, []string{string(clock), `{"type":"custom"}`}, "tools[1]", "function"},
		{"nested too deep", required, []string{deep}, "tools[0].function.parameters", "levels of nesting"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var definitions []json.RawMessage
			for _, d := range tt.tools {
				definitions = append(definitions, json.RawMessage(d))
			}
			_, err := Dialects{}.Constrain(tt.choice, definitions, false)
			if e := inference.AsError(err); err == nil || e.Code != inference.CodeInvalid || e.Param != tt.param || !strings.Contains(e.Message, tt.text) {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, mode := range []inference.ToolMode{inference.ToolAuto, inference.ToolNone} {
		if s, err := (Dialects{}).Constrain(inference.ToolChoice{Mode: mode}, nil, false); s != nil || err != nil {
			t.Errorf("mode %d: got %+v, %v", mode, s, err)
		}
	}
}
