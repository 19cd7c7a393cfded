package toolparser

import (
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestBlocks checks how answers of blocks are parsed that the recorded vectors don't contain.
func TestBlocks(t *testing.T) {
	check(t, thinks("inkling", "inkling", "<|message_model|>"), []example{
		{name: "text between blocks", in: "<|content_thinking|>a<|end_message|>b<|message_model|><|content_text|>c<|end_message|>", reasoning: "a", text: "bc"},
		{name: "a name and no content", in: "get_weather", text: "get_weather"},
		{name: "text before a content", in: "a b<|content_text|>c", text: "a bc"},
		{name: "text that begins like a content", in: "a<|content_b", text: "a<|content_b"},
		{name: "a block that isn't JSON", in: "now<|content_invoke_tool_json|>now()<|end_message|><|message_model|><|content_text|>a", text: "now()a"},
		{name: "a tool's input as text", in: "f<|content_invoke_tool_text|>a<|content_model_end_sampling|>", text: "a"},
	})
	check(t, thinks("muse", "muse", "<|start|>assistant"), []example{
		{name: "text between messages", in: " to=self<|message|>a<|eom|>b", reasoning: "a", text: "b"},
		{name: "a recipient in text", in: " to=user<|message|>Write to=b and to=<|x.<|eot|>", text: "Write to=b and to=<|x."},
		{name: "a message to developers", in: " to=developer<|message|>a<|eom|><|start|>assistant to=user<|message|>b", text: "b"},
		{name: "no call in a message to a tool", in: " to=f<|message|>a<|eom|>", text: "a"},
		{name: "a name with a namespace", in: ` to=f<|message|><atem:invoke name="now.now"></atem:invoke><atem:invoke name="now.b"></atem:invoke>`, calls: []call{{"now", "{}"}, {"now.b", "{}"}}},
		{name: "a start without a message", in: "<|start|>a", text: "<|start|>a"},
	})
	check(t, func() *inference.ParserOptions {
		o := options("inkling", "")
		o.Choice = inference.ToolChoice{Mode: inference.ToolNone}
		return o
	}, []example{{name: "no tools", in: "now<|content_invoke_tool_json|>{}<|end_message|>", text: "{}"}})
}

// TestForcedBlocks checks that JSON to which a forced call was constrained is found in answers of blocks.
func TestForcedBlocks(t *testing.T) {
	forced := func(tools string) func() *inference.ParserOptions {
		return func() *inference.ParserOptions {
			o := options(tools, tools)
			o.Choice = inference.ToolChoice{Mode: inference.ToolRequired}
			return o
		}
	}
	now := []call{{"now", "{}"}}
	check(t, forced("inkling"), []example{
		{name: "at once", in: `[{"name": "now", "arguments": {}}]`, calls: now},
		{name: "after reasoning", in: `<|content_thinking|>a<|end_message|><|message_model|><|content_text|>{"name": "now", "arguments": {}}`, reasoning: "a", calls: now},
		{name: "in both forms", in: `<|content_text|>{"name": "f", "arguments": {}}<|end_message|><|message_model|>now<|content_invoke_tool_json|>{"name": "now", "args": {}}`, calls: []call{{"f", "{}"}, {"now", "{}"}}},
		{name: "in its own form first", in: `now<|content_invoke_tool_json|>{"name": "now", "args": {}}<|end_message|><|message_model|><|content_text|>[{"name": "now"}]`, calls: now, text: `[{"name": "now"}]`},
	})
	check(t, forced("muse"), []example{{name: "Muse, at once", in: `[{"name": "now", "arguments": {}}]`, calls: now}})
}

// TestStatedTypes checks the types of K2 Horizon's arguments, which an element may state.
func TestStatedTypes(t *testing.T) {
	argument := func(kind, value string) string {
		return "<ifm|tool_calls><ifm|tool_call>now<ifm|arg_key>x</ifm|arg_key>" + kind + "<ifm|arg_value>" + value + "</ifm|arg_value></ifm|tool_call></ifm|tool_calls>"
	}
	var examples []example
	for _, tt := range []struct{ kind, value, want string }{
		{"<ifm|arg_type>string</ifm|arg_type>", "5", `"5"`},
		{"<ifm|arg_type>integer</ifm|arg_type>", "5", "5"},
		{"<ifm|arg_type>array[integer]</ifm|arg_type>", "[5]", "[5]"},
		{"<ifm|arg_type>any</ifm|arg_type>", "5", `"5"`},
		{"<ifm|arg_type>integer</ifm|arg_type>", "five", `"five"`},
		{"", "5", `"5"`},
		{"<ifm|arg_type>integer", "5", `"<ifm|arg_type>integer<ifm|arg_value>5"`},
	} {
		examples = append(examples, example{name: tt.kind + " " + tt.value, in: argument(tt.kind, tt.value), calls: []call{{"now", `{"x": ` + tt.want + `}`}}})
	}
	check(t, tools("k2_horizon"), examples)
}
