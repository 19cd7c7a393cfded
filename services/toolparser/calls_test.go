package toolparser

import "testing"

const paris = `{"city": "Paris", "days": 3}`

func TestHermes(t *testing.T) {
	check(t, tools("hermes"), []example{
		{name: "text", in: "Hello, <b>world</b>. a < b\n", text: "Hello, <b>world</b>. a < b\n"},
		{name: "white space alone", in: " \n\t", text: " \n\t"},
		{name: "white space before text", in: "\n\n hi ", text: "\n\n hi "},
		{name: "nothing"},
		{name: "a call", in: "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " + paris + "}\n</tool_call>", calls: []call{{"get_weather", paris}}},
		{name: "text before a call", in: "Let me see.\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n", text: "Let me see.\n", calls: []call{{"now", "{}"}}},
		{name: "white space before a call", in: "\n\n<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>", calls: []call{{"now", "{}"}}},
		{
			name: "two calls", in: "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " + paris + "}\n</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>",
			calls: []call{{"get_weather", paris}, {"now", "{}"}},
		},
		{name: "two calls in one tag", in: `<tool_call>{"name":"a","arguments":{"x":1}}` + "\n" + `{"name":"b","arguments":{}}</tool_call>`, calls: []call{{"a", `{"x":1}`}, {"b", "{}"}}},
		{name: "calls in an array", in: `<tool_call>[{"name":"a","arguments":{}}, {"name":"b","arguments":{}}]</tool_call>.`, text: ".", calls: []call{{"a", "{}"}, {"b", "{}"}}},
		{name: "text after a call", in: `<tool_call>{"name":"a","arguments":{}}</tool_call>` + "\n\nDone.", text: "Done.", calls: []call{{"a", "{}"}}},
		{name: "arguments before the name", in: `<tool_call>{"arguments": {"x": "}"}, "name": "a"}</tool_call>`, calls: []call{{"a", `{"x": "}"}`}}},
		{name: "no arguments", in: `<tool_call>{"name": "now"}</tool_call>`, calls: []call{{"now", "{}"}}},
		{name: "null arguments", in: `<tool_call>{"name": "now", "arguments": null}</tool_call>`, calls: []call{{"now", "{}"}}},
		{name: "arguments as a string", in: `<tool_call>{"name": "a", "arguments": "{\"x\": \"\\n\"}"}</tool_call>`, calls: []call{{"a", `{"x": "\n"}`}}},
		{name: "an empty string as arguments", in: `<tool_call>{"name": "a", "arguments": ""}</tool_call>`, calls: []call{{"a", `{}`}}},
		{name: "other keys", in: `<tool_call>{"type": "function", "id": [1, {"name": "x"}], "name": "a", "arguments": {}, "z": 1.5e3}</tool_call>`, calls: []call{{"a", "{}"}}},
		{name: "an escaped name", in: `<tool_call>{"name": "caf\u00e9", "arguments": {}}</tool_call>`, calls: []call{{"café", "{}"}}},
		{name: "a tool that wasn't offered", in: `<tool_call>{"name": "other", "arguments": {}}</tool_call>`, calls: []call{{"other", "{}"}}},
		{name: "the end of the tag is missing", in: `<tool_call>{"name":"a","arguments":{"x":[]}}`, calls: []call{{"a", `{"x":[]}`}}},
		{name: "the last brace is missing", in: `<tool_call>{"name":"a","arguments":{"x":1}</tool_call>ok`, text: "ok", calls: []call{{"a", `{"x":1}`}}},
		{name: "a line break in a string", in: "<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":\"1\n2\t\x01\"}}</tool_call>", calls: []call{{"a", `{"x":"1\n2\t\u0001"}`}}},
		{name: "a line break in a string before the name", in: "<tool_call>{\"arguments\":{\"x\":\"1\n2\"},\"name\":\"a\"}</tool_call>", calls: []call{{"a", `{"x":"1\n2"}`}}},
		{name: "the tag in an argument", in: `<tool_call>{"name":"a","arguments":{"x":"</tool_call><tool_call>"}}</tool_call>`, calls: []call{{"a", `{"x":"</tool_call><tool_call>"}`}}},
		{name: "Unicode", in: `<tool_call>{"name":"a","arguments":{"città":"東京 😀"}}</tool_call>é`, text: "é", calls: []call{{"a", `{"città":"東京 😀"}`}}},
		{name: "no JSON", in: "<tool_call>get_weather(Paris)</tool_call>", text: "<tool_call>get_weather(Paris)</tool_call>"},
		{name: "no object", in: "<tool_call>[1]</tool_call>", text: "<tool_call>[1]</tool_call>"},
		{name: "no name", in: `<tool_call>{"arguments": {"a": 1}}</tool_call>`, text: `<tool_call>{"arguments": {"a": 1}}</tool_call>`},
		{name: "a name that is no string", in: `<tool_call>{"name": 1}</tool_call>`, text: `<tool_call>{"name": 1}</tool_call>`},
		{name: "arguments that are no object", in: `<tool_call>{"name": "a", "arguments": [1]}</tool_call>`, text: `<tool_call>{"name": "a", "arguments": [1]}</tool_call>`},
		{name: "a call after one that is none", in: `<tool_call>{bad}</tool_call><tool_call>{"name":"a","arguments":{}}</tool_call>`, text: "<tool_call>{bad}</tool_call>", calls: []call{{"a", "{}"}}},
		{name: "a tag in a tag", in: `<tool_call><tool_call>{"name":"a","arguments":{}}</tool_call>`, text: "<tool_call>", calls: []call{{"a", "{}"}}},
		{name: "cut off in the tag", in: "so <tool_c", text: "so <tool_c"},
		{name: "cut off before it is certain", in: `so <tool_call>{"name": "a", "argu`, text: `so <tool_call>{"name": "a", "argu`},
		{name: "cut off in the arguments", in: `<tool_call>{"name": "a", "arguments": {"x": "y`, calls: []call{{"a", `{"x": "y`}}, broken: true},
		{name: "arguments that are no JSON", in: `<tool_call>{"name": "a", "arguments": {"x": oops}}</tool_call> ok`, text: "ok", calls: []call{{"a", `{"x": oops}}`}}, broken: true},
	})
}

func TestLlama3(t *testing.T) {
	check(t, tools("llama3"), []example{
		{name: "text", in: "Use {braces} and\n {more}.", text: "Use {braces} and\n {more}."},
		{name: "a call", in: `{"name": "get_weather", "parameters": ` + paris + `}`, calls: []call{{"get_weather", paris}}},
		{name: "with the tag", in: `<|python_tag|>{"name": "get_weather", "parameters": ` + paris + `}`, calls: []call{{"get_weather", paris}}},
		{name: "several", in: `<|python_tag|>{"name": "a", "parameters": {}}; {"name": "b", "parameters": {"x": 1}}`, calls: []call{{"a", "{}"}, {"b", `{"x": 1}`}}},
		{name: "the tag twice", in: `<|python_tag|>{"name": "a", "parameters": {}}<|python_tag|>{"name": "b", "parameters": {}}`, calls: []call{{"a", "{}"}, {"b", "{}"}}},
		{name: "arguments", in: `{"type": "function", "name": "a", "arguments": {"x": null}}`, calls: []call{{"a", `{"x": null}`}}},
		{name: "after text", in: "I'll look.\n\n" + `{"name": "now", "parameters": {}}`, text: "I'll look.\n\n", calls: []call{{"now", "{}"}}},
		{name: "after text, a tool that wasn't offered", in: "Like\n" + `{"name": "Ann", "parameters": {}}`, text: "Like\n" + `{"name": "Ann", "parameters": {}}`},
		{name: "within a line", in: `Like {"name": "now", "parameters": {}}`, text: `Like {"name": "now", "parameters": {}}`},
		{name: "an object of another kind", in: `{"name": "Ann", "age": 3}`, text: `{"name": "Ann", "age": 3}`},
		{name: "an object with a tool's name", in: `{"name": "now"}`, calls: []call{{"now", "{}"}}},
		{name: "a built-in tool", in: `<|python_tag|>search.call(query="x")`, text: `<|python_tag|>search.call(query="x")`},
		{name: "text after", in: `{"name": "a", "parameters": {}}` + "\nassistant", text: "assistant", calls: []call{{"a", "{}"}}},
		{name: "a separator and text", in: `{"name": "a", "parameters": {}}; then`, text: "; then", calls: []call{{"a", "{}"}}},
		{name: "braces on lines", in: "{\n{\n{\"name\": \"now\", \"parameters\": {}}", text: "{\n{\n", calls: []call{{"now", "{}"}}},
	})
}

func TestMistral(t *testing.T) {
	check(t, tools("mistral"), []example{
		{name: "text", in: "See [1] and [TOOL].", text: "See [1] and [TOOL]."},
		{name: "an array", in: `[TOOL_CALLS][{"name": "get_weather", "arguments": ` + paris + `, "id": "abcdefghi"}, {"name": "now", "arguments": {}}]`, calls: []call{{"get_weather", paris}, {"now", "{}"}}},
		{name: "an array, a space before", in: `[TOOL_CALLS] [{"name": "now", "arguments": {}}]`, calls: []call{{"now", "{}"}}},
		{name: "an array without the tag", in: ` [{"name": "other", "arguments": {}}, {"name": "more", "arguments": {}}]`, calls: []call{{"other", "{}"}, {"more", "{}"}}},
		{name: "an array that holds no calls", in: `[{"x": 1}]`, text: `[{"x": 1}]`},
		{name: "a name", in: `[TOOL_CALLS]get_weather[ARGS]` + paris, calls: []call{{"get_weather", paris}}},
		{name: "a name and an id", in: `[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]` + paris, calls: []call{{"get_weather", paris}}},
		{name: "a name alone", in: `[TOOL_CALLS]get_weather` + paris, calls: []call{{"get_weather", paris}}},
		{name: "two names", in: `So:[TOOL_CALLS]a[ARGS]{"x": {}}[TOOL_CALLS]b[ARGS]{}`, text: "So:", calls: []call{{"a", `{"x": {}}`}, {"b", "{}"}}},
		{name: "no arguments follow", in: `[TOOL_CALLS]a[ARGS]x`, text: `[TOOL_CALLS]a[ARGS]x`},
		{name: "no name", in: `[TOOL_CALLS]what is it? {}`, text: `[TOOL_CALLS]what is it? {}`},
		{name: "cut off", in: `[TOOL_CALLS]get_wea`, text: `[TOOL_CALLS]get_wea`},
	})
	opts := options("mistral", "")
	p, _ := Dialects{}.Parser(opts)
	pieces, _ := p.Parse([]byte(`[TOOL_CALLS]a[ARGS]{}`))
	if id := pieces[0].Call.ID; len(id) != 9 {
		t.Errorf("id %q: Mistral's templates take 9 letters and digits", id)
	}
}

func TestGranite(t *testing.T) {
	check(t, tools("granite"), []example{
		{name: "the token", in: `<|tool_call|>[{"name": "get_weather", "arguments": ` + paris + `}, {"name": "now", "arguments": {}}]`, calls: []call{{"get_weather", paris}, {"now", "{}"}}},
		{name: "the tag", in: `<tool_call>[{"name": "now", "arguments": {}}]`, calls: []call{{"now", "{}"}}},
		{name: "neither", in: ` [{"name": "now", "arguments": {}}]`, calls: []call{{"now", "{}"}}},
		{name: "an array later on", in: `So [{"name": "now", "arguments": {}}]`, text: `So [{"name": "now", "arguments": {}}]`},
		{name: "an empty array", in: `<|tool_call|>[]`, text: `<|tool_call|>[]`},
	})
	check(t, tools("granite-20b-fc"), []example{
		{name: "calls", in: `Hm <function_call> {"name": "a", "arguments": {}} <function_call> {"name": "b", "arguments": {}}`, text: "Hm ", calls: []call{{"a", "{}"}, {"b", "{}"}}},
	})
}

func TestOtherJSON(t *testing.T) {
	check(t, tools("json"), []example{
		{name: "an object", in: `{"name": "a", "arguments": {}}`, calls: []call{{"a", "{}"}}},
		{name: "an array", in: `[{"name": "a", "arguments": {}}, {"name": "b", "parameters": {}}]`, calls: []call{{"a", "{}"}, {"b", "{}"}}},
		{name: "in a fence", in: "```json\n{\"name\": \"now\", \"arguments\": {}}\n```", text: "```json\n```", calls: []call{{"now", "{}"}}},
	})
	check(t, tools("jamba"), []example{
		{name: "calls", in: "<tool_calls>[\n{\"name\": \"a\", \"arguments\": {}},\n{\"name\": \"b\", \"arguments\": {}}\n]</tool_calls>", calls: []call{{"a", "{}"}, {"b", "{}"}}},
	})
	check(t, tools("phi4_mini_json"), []example{
		{name: "calls", in: `functools[{"name": "a", "arguments": {"x": 1}}]`, calls: []call{{"a", `{"x": 1}`}}},
		{name: "the word", in: `Python's functools has reduce`, text: `Python's functools has reduce`},
	})
}

func TestDeepseek(t *testing.T) {
	fenced := func(name, arguments string) string {
		return "<｜tool▁call▁begin｜>function<｜tool▁sep｜>" + name + "\n```json\n" + arguments + "\n```<｜tool▁call▁end｜>"
	}
	check(t, tools("deepseek_v3"), []example{
		{name: "a call", in: "<｜tool▁calls▁begin｜>" + fenced("get_weather", paris) + "<｜tool▁calls▁end｜>", calls: []call{{"get_weather", paris}}},
		{name: "two calls", in: "Ok.<｜tool▁calls▁begin｜>" + fenced("a", `{"x": "`+"```"+`"}`) + "\n" + fenced("b", "{}") + "<｜tool▁calls▁end｜>", text: "Ok.", calls: []call{{"a", `{"x": "` + "```" + `"}`}, {"b", "{}"}}},
		{name: "without the outer markers", in: fenced("a", "{}"), calls: []call{{"a", "{}"}}},
		{name: "no fence", in: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>a\n{}", text: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>a\n{}"},
		{name: "cut off", in: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>a\n```json\n{\"x\": ", calls: []call{{"a", `{"x": `}}, broken: true},
	})
	bare := func(name, arguments string) string {
		return "<｜tool▁call▁begin｜>" + name + "<｜tool▁sep｜>" + arguments + "<｜tool▁call▁end｜>"
	}
	check(t, tools("deepseek_v31"), []example{
		{name: "text", in: "a <｜ b <｜tool▁calls▁end｜>", text: "a <｜ b <｜tool▁calls▁end｜>"},
		{name: "two calls", in: "Ok.<｜tool▁calls▁begin｜>" + bare("get_weather", paris) + bare("now", "{}") + "<｜tool▁calls▁end｜>", text: "Ok.", calls: []call{{"get_weather", paris}, {"now", "{}"}}},
		{name: "no JSON", in: bare("a", `{"x": 1,}`) + "!", text: "!", calls: []call{{"a", `{"x": 1,}`}}, broken: true},
		{name: "no arguments", in: bare("a", "none"), text: bare("a", "none")},
		{name: "text between", in: "<｜tool▁calls▁begin｜>and", text: "<｜tool▁calls▁begin｜>and"},
	})
}
