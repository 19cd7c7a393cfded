package dialect

import "testing"

// TestDetect has the parts of templates that show calls and reasoning, as the
// families of models write them.
func TestDetect(t *testing.T) {
	tests := []struct{ name, template, tools, reasoning string }{
		{"plain", `{% for m in messages %}{{ m.content }}{% endfor %}`, "", ""},
		{"Hermes", `within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>`, "hermes", ""},
		{"Qwen 3", `<tool_call>\n{"name": <function-name>, "arguments": {}}</tool_call>{%- set content = content.split('</think>')[-1] %}`, "hermes", "qwen3"},
		{"GLM", `<tool_call>{function-name}\n<arg_key>{"name"}</arg_key> arguments`, "", ""},
		{"Qwen3-Coder", `<tool_call>\n<function=example>\n<parameter=x>\nvalue\n</parameter>\n</function>\n</tool_call>`, "qwen3_coder", ""},
		{"Llama 3.1", `Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.`, "llama3_json", ""},
		{"Llama 4", `[func_name1(params_name1=params_value1, params_name2=params_value2...), func_name2(params)]`, "llama4_pythonic", ""},
		{"Mistral", `{{- "[TOOL_CALLS]" + name + "[ARGS]" }}`, "mistral", ""},
		{"Magistral", `{{- "[TOOL_CALLS]" }}[THINK]`, "mistral", "mistral"},
		{"Granite 3", `respond only with <|tool_call|> followed by a JSON list of tools used`, "granite", ""},
		{"Granite 3.2", `Write your thoughts after 'Here is my thought process:'`, "", "granite"},
		{"DeepSeek R1", "{{'<｜Assistant｜><think>\\n'}}{{'<｜tool▁call▁begin｜>' + type + '<｜tool▁sep｜>' + name + '\\n```json\\n'}}{{ c.split('</think>') }}", "deepseek_v3", "deepseek_r1"},
		{"DeepSeek V3.1", "{% if thinking %}{{'<｜Assistant｜></think>'}}{% endif %}<｜tool▁call▁begin｜>'+ name + '<｜tool▁sep｜>'", "deepseek_v31", "qwen3"},
		{"gpt-oss", `<|start|>assistant<|channel|>analysis<|message|>`, "openai", "openai_gptoss"},
		{"Jamba", `<tool_calls>[{"name": "f", "arguments": {}}]</tool_calls>`, "jamba", ""},
		{"Firefunction", `formatted as functools[{"name": [function name]}]`, "phi4_mini_json", ""},
		{"granite-20b-functioncalling", `{# granite #}<function_call> {"name": "f"}`, "granite-20b-fc", ""},
		{"Seed-OSS", `<seed:think>`, "", "seed_oss"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tools, reasoning := (Dialects{}).Detect(tt.template); tools != tt.tools || reasoning != tt.reasoning {
				t.Errorf("got %q, %q", tools, reasoning)
			}
		})
	}
}

func TestSpecialTokens(t *testing.T) {
	tests := []struct {
		tools, reasoning string
		want             bool
	}{
		{"", "", false},
		{"json", "", false},
		{"pythonic", "qwen3", false},
		{"hermes", "", true},
		{"llama3", "", true},
		{"", "openai_gptoss", true},
		{"", "mistral", true},
	}
	for _, tt := range tests {
		if got := (Dialects{}).SpecialTokens(tt.tools, tt.reasoning); got != tt.want {
			t.Errorf("%q, %q: got %v", tt.tools, tt.reasoning, got)
		}
	}
}

// TestNames wants each name once: it is the user's.
func TestNames(t *testing.T) {
	check := func(names []string) {
		seen := map[string]bool{}
		for _, n := range names {
			if seen[n] {
				t.Errorf("%s stands for two dialects", n)
			}
			seen[n] = true
		}
	}
	var tools, reasoning []string
	for _, d := range toolDialects() {
		tools = append(tools, d.names...)
	}
	for _, d := range reasoningDialects() {
		reasoning = append(reasoning, d.names...)
	}
	check(tools)
	check(reasoning)
}
