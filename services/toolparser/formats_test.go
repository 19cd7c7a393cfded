package toolparser

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

func thinks(tools, reasoning, prompt string) func() *inference.ParserOptions {
	return func() *inference.ParserOptions {
		o := options(tools, reasoning)
		o.Prompt = prompt
		return o
	}
}

// TestReasoningOfFamilies checks that the reasoning is separated from the answer in the format of
// each model family, and that a call ends the reasoning.
func TestReasoningOfFamilies(t *testing.T) {
	now := []call{{"now", "{}"}}
	check(t, thinks("glm45", "glm45", "<|assistant|>\n<think>"), []example{
		{name: "GLM", in: "\na</think>\nb", reasoning: "a", text: "b"},
		{name: "GLM, a call in thoughts", in: "a <tool_call>now</tool_call>", reasoning: "a ", calls: now},
	})
	check(t, thinks("kimi_k2", "kimi_k2", "<think>"), []example{
		{name: "Kimi K2", in: "a<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>", reasoning: "a", calls: now},
	})
	check(t, thinks("kimi_k3", "kimi_k3", "<|open|>think<|sep|>"), []example{
		{name: "Kimi K3", in: "a<|close|>think<|sep|><|open|>response<|sep|>b<|close|>response<|sep|><|close|>message<|sep|>", reasoning: "a", text: "b"},
		{name: "Kimi K3, thoughts without an end", in: "a<|open|>response<|sep|>b", reasoning: "a", text: "b"},
	})
	check(t, thinks("deepseek_v4", "deepseek_v4", "<｜Assistant｜><think>"), []example{
		{name: "DeepSeek V4", in: "a</think>b", reasoning: "a", text: "b"},
		{name: "DeepSeek V4, a call in thoughts", in: "a<｜DSML｜tool_calls><｜DSML｜invoke name=\"now\"></｜DSML｜invoke></｜DSML｜tool_calls>", reasoning: "a", calls: now},
	})
	check(t, thinks("minimax_m2", "minimax_m2", ""), []example{
		{name: "MiniMax M2", in: "a</think>b", reasoning: "a", text: "b"},
		{name: "MiniMax M2, a call in thoughts", in: "a<minimax:tool_call><invoke name=\"now\"></invoke></minimax:tool_call>", reasoning: "a", calls: now},
	})
	check(t, thinks("minimax_m2", "minimax_m2_append_think", ""), []example{
		{name: "MiniMax M2, thoughts as text", in: "a</think>b", text: "<think>a</think>b"},
		{name: "MiniMax M2, no answer"},
	})
	check(t, thinks("minimax_m3", "minimax_m3", ""), []example{{name: "MiniMax M3", in: "<mm:think>a</mm:think>b", reasoning: "a", text: "b"}})
	check(t, thinks("gemma4", "gemma4", "<|turn>model\n"), []example{
		{name: "Gemma 4", in: "<|channel>thought\na<channel|>b", reasoning: "a", text: "b"},
		{name: "Gemma 4, a channel without a name", in: "<|channel>a<channel|>b", reasoning: "a", text: "b"},
		{name: "Gemma 4, a call in thoughts", in: "<|channel>thought\na<|tool_call>call:now{}<tool_call|>", reasoning: "a", calls: now},
	})
	check(t, thinks("ernie45", "ernie45", ""), []example{{name: "ERNIE 4.5", in: "a\n</think>\n\n\n<response>\nb\n</response>\n", reasoning: "a\n", text: "b"}})
	check(t, thinks("hunyuan_a13b", "hunyuan_a13b", ""), []example{{name: "Hunyuan-A13B", in: "<think>\na\n</think>\n<answer>\nb\n</answer>", reasoning: "a\n", text: "b"}})
	check(t, thinks("hy_v3", "hy_v3", "<think:x1>"), []example{
		{name: "Hunyuan V3", in: "a</think>b</think:x1><tool_calls:x1><tool_call:x1>now<tool_sep:x1></tool_call:x1></tool_calls:x1>", reasoning: "a</think>b", calls: now},
	})
	check(t, thinks("hy_v3", "hy_v3", ""), []example{{name: "Hunyuan V3 without a suffix", in: "<think>a</think>b", reasoning: "a", text: "b"}})
	check(t, thinks("cohere_command3", "cohere_command3", ""), []example{
		{name: "Command A", in: "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b <co>c</co: 0:[1]>.<|END_RESPONSE|>", reasoning: "a", text: "b c."},
	})
	check(t, thinks("seed_oss", "seed_oss", ""), []example{
		{name: "Seed-OSS", in: "<seed:think>a<seed:tool_call>\n<function=now>\n</function>\n</seed:tool_call>", reasoning: "a", calls: now},
	})
	check(t, thinks("qwen3_coder", "step3p5", ""), []example{{name: "Step 3.5", in: "a</think>b", reasoning: "a", text: "b"}})
}

// TestWrappersWithoutTools checks that parsers remove the markers around text also if the request
// has no tools.
func TestWrappersWithoutTools(t *testing.T) {
	check(t, thinks("", "kimi_k3", ""), []example{
		{name: "by the reasoning parser", in: "<|open|>response<|sep|>a <|open|> b<|close|>response<|sep|>", text: "a <|open|> b"},
	})
	check(t, func() *inference.ParserOptions {
		o := options("cohere_command4", "")
		o.Choice = inference.ToolChoice{Mode: inference.ToolNone}
		return o
	}, []example{{name: "by the tool parser", in: "<|START_TEXT|>a</co<|END_TEXT|>", text: "a</co"}})
}

// TestIDsOfModels checks that Parser.Parse returns a tool call with the id that the model wrote for
// it, and otherwise a random id.
func TestIDsOfModels(t *testing.T) {
	tests := []struct{ tools, in, id string }{
		{"kimi_k2", "<|tool_call_begin|>functions.a.b:12<|tool_call_argument_begin|>{}<|tool_call_end|>", "functions.a.b:12"},
		{"kimi_k2", "<|tool_call_begin|>functions.now<|tool_call_argument_begin|>{}<|tool_call_end|>", ""},
		{"mistral", "[TOOL_CALLS]now[CALL_ID]aB3dE6gH9[ARGS]{}", "aB3dE6gH9"},
		{"mistral", "[TOOL_CALLS]now[CALL_ID]call_1[ARGS]{}", ""},
		{"mistral", "[TOOL_CALLS]now[ARGS]{}", ""},
		{"cohere_command3", `<|START_ACTION|>[{"tool_call_id": "3", "tool_name": "now", "parameters": {}}]`, "3"},
		{"cohere_command3", `<|START_ACTION|>[{"tool_name": "now", "parameters": {}}]`, ""},
		{"cohere_command3", `<|START_ACTION|>[{"tool_call_id": 3, "tool_name": "now"}]`, ""},
	}
	for _, tt := range tests {
		whole, ids := parseWithIDs(t, options(tt.tools, ""), tt.in)
		if len(whole.Calls) != 1 || len(ids) != 1 || ids[0] != tt.id {
			t.Errorf("%s: %q has the calls %+v with ids %q: want %q", tt.tools, tt.in, whole.Calls, ids, tt.id)
		}
	}
}

// TestIDsOnce checks that Parser.Parse gives a tool call a random id if the model repeats the id of
// an earlier call.
func TestIDsOnce(t *testing.T) {
	again := "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
	whole, ids := parseWithIDs(t, options("kimi_k2", ""), again+again)
	if len(whole.Calls) != 2 || !slices.Equal(ids, []string{"functions.now:0", ""}) {
		t.Errorf("%+v has the ids %q", whole.Calls, ids)
	}
}

// TestGemma checks how the values of Gemma's calls are parsed, with values that the recorded vectors
// don't contain.
func TestGemma(t *testing.T) {
	check(t, tools("gemma4"), []example{
		{name: "types", in: `<|tool_call>call:get_weather{zip:5,days:-2.5,any:null,x:yes}<tool_call|>`, calls: []call{{"get_weather", `{"zip": "5", "days": -2.5, "any": null, "x": "yes"}`}}},
		{name: "quoted keys", in: `<|tool_call>call:f{<|"|>a b<|"|>:{c:[],d:{}}}<tool_call|>`, calls: []call{{"f", `{"a b": {"c": [], "d": {}}}`}}},
		{name: "brackets and tags in a string", in: `<|tool_call>call:f{x:<|"|>}]<b>, "<|"|>}<tool_call|>.`, text: ".", calls: []call{{"f", `{"x": "}]<b>, \""}`}}},
		{name: "no prefix", in: `<|tool_call>:f{x:1}<tool_call|>`, calls: []call{{"f", `{"x": 1}`}}},
		{name: "parentheses", in: `<|tool_call>call:f(x:1)<tool_call|>`, calls: []call{{"f", `{"x": 1}`}}},
		{name: "closed too early", in: `<|tool_call>call:f{x:[1,{y:2<tool_call|>z`, text: "z", calls: []call{{"f", `{"x": [1, {"y": 2}]}`}}},
		{name: "no call", in: `<|tool_call>f<tool_call|>`, text: `<|tool_call>f<tool_call|>`},
		{name: "cut off in a word", in: `<|tool_call>call:f{x:12`, calls: []call{{"f", `{"x": "12`}}, broken: true},
		{name: "cut off before a key", in: `<|tool_call>call:f{x:12,`, calls: []call{{"f", `{"x": 12`}}, broken: true},
	})
	check(t, tools("functiongemma"), []example{
		{name: "a tag in a word", in: "<start_function_call>call:f{x:a<b,y:<escape>c<d<escape>}<end_function_call>", calls: []call{{"f", `{"x": "a<b", "y": "c<d"}`}}},
	})
}

// TestMiniMaxM3 checks that the elements of MiniMax M3's calls are converted to JSON by the schema of
// the tool.
func TestMiniMaxM3(t *testing.T) {
	wrap := func(body string) string { return m3Outer + m3Call + `"get_weather">` + body + m3CallEnd + m3OuterEnd }
	el := func(name, body string) string { return m3Open + name + ">" + body + m3Close + name + ">" }
	check(t, tools("minimax_m3"), []example{
		{name: "a list by its schema", in: wrap(el("near", el("item", "a"))), calls: []call{{"get_weather", `{"near": ["a"]}`}}},
		{name: "a list by its names", in: wrap(el("x", "a") + el("y", "b") + el("x", "c")), calls: []call{{"get_weather", `{"x": ["a", "c"], "y": "b"}`}}},
		{name: "an empty list and an empty object", in: wrap(el("near", "") + el("box", " ")), calls: []call{{"get_weather", `{"near": [], "box": {}}`}}},
		{name: "text between elements", in: wrap(el("box", "t"+el("a", "1"))), calls: []call{{"get_weather", `{"box": {"a": "1", "$text": "t"}}`}}},
		{name: "a broken element", in: wrap(el("days", "2") + m3Open + "x>"), calls: []call{{"get_weather", `{"days": 2}`}}},
		{name: "cut off", in: m3Call + `"get_weather">` + el("days", "2") + m3Open + "x>1", calls: []call{{"get_weather", `{"days": 2`}}, broken: true},
		{name: "cut off before an element", in: m3Call + `"get_weather">` + m3Open + "x>1", calls: []call{{"get_weather", `{`}}, broken: true},
		{name: "no call", in: m3Outer + "x", text: m3Outer + "x"},
	})
}

// TestXMLValues checks how the values of calls in XML formats are parsed, in the form of each model
// family.
func TestXMLValues(t *testing.T) {
	check(t, tools("minicpm5"), []example{
		{name: "CDATA and entities", in: `<function name="f"><param name="a"><![CDATA[<b> & "c"]]></param><param name="d">1 &lt; 2</param></function>`, calls: []call{{"f", `{"a": "<b> & \"c\"", "d": "1 < 2"}`}}},
	})
	check(t, tools("step3"), []example{
		{name: "a string that looks like null", in: `<steptml:invoke name="get_weather"><steptml:parameter name="city"> None </steptml:parameter><steptml:parameter name="limit">None</steptml:parameter></steptml:invoke>`, calls: []call{{"get_weather", `{"city": "None", "limit": null}`}}},
	})
	check(t, tools("deepseek_v32"), []example{
		{name: "a type that isn't the schema's", in: `<｜DSML｜invoke name="get_weather"><｜DSML｜parameter name="days" string="true">3</｜DSML｜parameter><｜DSML｜parameter name="city" string="false">[1]</｜DSML｜parameter><｜DSML｜parameter name="x">y</｜DSML｜parameter></｜DSML｜invoke>`, calls: []call{{"get_weather", `{"days": "3", "city": [1], "x": "y"}`}}},
	})
	check(t, tools("kimi_k3"), []example{
		{name: "escapes of attributes", in: `<|open|>call tool="now" index="1"<|sep|><|open|>argument key="a&amp;&quot;b" type="string"<|sep|>&amp;<|close|>argument<|sep|><|close|>call<|sep|>`, calls: []call{{"now", `{"a&\"b": "&amp;"}`}}},
	})
	check(t, tools("kimi_k3"), []example{
		{name: "all arguments as JSON", in: `<|open|>call tool="now" index="1"<|sep|><|open|>json type="object"<|sep|> {"a": 1}<|close|>json<|sep|><|close|>call<|sep|>`, calls: []call{{"now", `{"a": 1}`}}},
		{name: "no JSON", in: `<|open|>call tool="now" index="1"<|sep|><|open|>json type="object"<|sep|><|close|>json<|sep|><|close|>call<|sep|>`, calls: []call{{"now", `{}`}}},
		{name: "cut off in JSON", in: `<|open|>call tool="now" index="1"<|sep|><|open|>json type="object"<|sep|>{"a": `, calls: []call{{"now", `{"a": `}}, broken: true},
	})
	check(t, tools("minimax_m2"), []example{
		{name: "quotes", in: `<invoke name='f'><parameter name=x> 1 </parameter></invoke>`, calls: []call{{"f", `{"x": " 1 "}`}}},
	})
	check(t, tools("glm45"), []example{
		{name: "a value without its tags", in: "<tool_call>get_weather<arg_key>city</arg_key>Rome<arg_key>days</arg_key><arg_value>2</tool_call>ok", text: "ok", calls: []call{{"get_weather", `{"city": "Rome", "days": 2}`}}},
		{name: "JSON", in: `<tool_call>{"name": "f"}</tool_call>`, text: `<tool_call>{"name": "f"}</tool_call>`},
	})
}

// TestHeads checks Kimi K2's calls without arguments, and that a call whose head isn't a function
// name is emitted as text.
func TestHeads(t *testing.T) {
	wrap := func(head, arguments string) string {
		return "<|tool_call_begin|>" + head + "<|tool_call_argument_begin|>" + arguments + "<|tool_call_end|>"
	}
	check(t, tools("kimi_k2"), []example{
		{name: "no arguments", in: wrap("functions.now:0", "") + "<|tool_calls_section_end|>.", text: ".", calls: []call{{"now", "{}"}}},
		{name: "no name", in: wrap("what is it", ""), text: wrap("what is it", "")},
		{name: "no arguments follow", in: wrap("functions.now:0", "x"), text: wrap("functions.now:0", "x")},
		{name: "cut off after the head", in: "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>", text: "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>"},
	})
}

// TestKeyedObjects checks calls whose JSON objects have keys besides the function's name, and that
// objects which aren't calls are emitted as text.
func TestKeyedObjects(t *testing.T) {
	check(t, tools("apertus"), []example{
		{name: "a second key", in: `<|tools_prefix|>[{"now": {}, "id": [1]}]<|tools_suffix|>`, calls: []call{{"now", "{}"}}},
		{name: "no arguments", in: `<|tools_prefix|>[{"now": 1}]<|tools_suffix|>`, text: `<|tools_prefix|>[{"now": 1}]<|tools_suffix|>`},
		{name: "no name", in: `<|tools_prefix|>[{"": {}}]<|tools_suffix|>`, text: `<|tools_prefix|>[{"": {}}]<|tools_suffix|>`},
	})
	check(t, tools("cohere_command3"), []example{
		{name: "an id that is too long", in: `<|START_ACTION|>[{"tool_call_id": "` + strings.Repeat("1", 300) + `", "tool_name": "now", "parameters": {}}]`, calls: []call{{"now", "{}"}}},
		{name: "an id after the arguments", in: `<|START_ACTION|>[{"tool_name": "now", "parameters": {}, "tool_call_id": "1"}]`, calls: []call{{"now", "{}"}}},
		{name: "another key", in: `<|START_ACTION|>[{"name": "x", "tool_name": "now", "parameters": {}}]`, calls: []call{{"now", "{}"}}},
	})
}

// TestOlmo3 checks that Olmo 3's calls are parsed if separators are between them, and that lines
// which aren't calls are emitted as text.
func TestOlmo3(t *testing.T) {
	check(t, tools("olmo3"), []example{
		{name: "separators", in: "<function_calls>now(), f(x=1);\nnow()</function_calls>", calls: []call{{"now", "{}"}, {"f", `{"x": 1}`}, {"now", "{}"}}},
		{name: "text after calls", in: "<function_calls>\nnow()\nand so on", text: "and so on", calls: []call{{"now", "{}"}}},
		{name: "no end", in: "<function_calls>\nnow()\n</func", text: "</func", calls: []call{{"now", "{}"}}},
	})
}

// TestHYV3Suffix checks that tags of Hunyuan V3 with an invalid suffix are emitted as text.
func TestHYV3Suffix(t *testing.T) {
	check(t, tools("hy_v3"), []example{
		{name: "another tag", in: "<tool_calls_x>a", text: "<tool_calls_x>a"},
		{name: "no tag", in: "<tool_calls" + strings.Repeat("x", 300), text: "<tool_calls" + strings.Repeat("x", 300)},
		{name: "a call after another tag", in: "<tool_calls a><tool_calls:b><tool_call:b>now</tool_call:b></tool_calls:b>", text: "<tool_calls a>", calls: []call{{"now", "{}"}}},
	})
}

// TestMiniMaxM3Schemas checks the conversion of MiniMax M3's elements to JSON with schemas of all
// kinds.
func TestMiniMaxM3Schemas(t *testing.T) {
	el := func(name, body string) string { return m3Open + name + ">" + body + m3Close + name + ">" }
	tool := `{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
		"either": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "integer"}}]},
		"types": {"type": ["array", "null"], "items": {"type": "boolean"}},
		"untyped": {"items": {"type": "number"}},
		"fields": {"properties": {"n": {"type": "integer"}}},
		"more": {"type": "object", "additionalProperties": {"type": "integer"}},
		"odd": 7}}}}`
	check(t, func() *inference.ParserOptions {
		o := options("minimax_m3", "")
		o.Definitions = []json.RawMessage{json.RawMessage(tool)}
		return o
	}, []example{{
		name: "all", in: m3Call + `"f">` + el("either", el("item", "1")) + el("types", el("item", "true")) + el("untyped", el("item", "1.5")) + el("fields", el("n", "2")) +
			el("more", el("a", "3")+el("b", "4")) + el("odd", "x") + el("none", "y") + m3CallEnd,
		calls: []call{{"f", `{"either": [1], "types": [true], "untyped": [1.5], "fields": {"n": 2}, "more": {"a": 3, "b": 4}, "odd": "x", "none": "y"}`}},
	}})
}
