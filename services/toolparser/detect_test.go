package toolparser

import (
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestDetect checks which formats of calls and of reasoning are detected in a chat template. Each
// case has the relevant part of a model family's template.
func TestDetect(t *testing.T) {
	tests := []struct{ name, template, tools, reasoning string }{
		{"plain", `{% for m in messages %}{{ m.content }}{% endfor %}`, "", ""},
		{"Hermes", `within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>`, "hermes", ""},
		{"Qwen 3", `<tool_call>\n{"name": <function-name>, "arguments": {}}</tool_call>{%- set content = content.split('</think>')[-1] %}`, "hermes", "qwen3"},
		{"GLM 4.5", `<tool_call>{function-name}\n<arg_key>{"name"}</arg_key>\n<arg_value>v</arg_value>{{ c.split('</think>') }}`, "glm45", "glm45"},
		{"dots", `<dots_function_call>\n<invoke name="f">`, "dots", ""},
		{"Kimi K2", `<|tool_calls_section_begin|><|tool_call_begin|>{{ id }}<|tool_call_argument_begin|>`, "kimi_k2", ""},
		{"Kimi K2 Thinking", `<|tool_calls_section_begin|><|tool_call_begin|>{{ id }}<|tool_call_argument_begin|><think></think>`, "kimi_k2", "kimi_k2"},
		{"Kimi K3", `{{ '<|open|>' + tag + '<|sep|>' }}{{ '<|close|>' + tag + '<|sep|>' }}`, "kimi_k3", "kimi_k3"},
		{"DeepSeek V3.2", `{% set dsml_token = "｜DSML｜" %}<{{ dsml_token }}function_calls>{{ message.tool_calls }}</think>`, "deepseek_v32", "deepseek_v4"},
		{"DeepSeek V4", `{% set dsml_token = "｜DSML｜" %}<{{ dsml_token }}tool_calls></think>`, "deepseek_v4", "deepseek_v4"},
		{"DeepSeek V4.1", `{% set dsml_token = "｜DSML｜" %}<{{ dsml_token }} calls></think>`, "deepseek_v41", "deepseek_v4"},
		{"MiniMax M2", `{% set begin = '<minimax:tool_call>' %}<invoke name="f">{{ ']~b]ai\n<think>\n' }}`, "minimax_m2", "minimax_m2"},
		{"MiniMax M3", `{% set ns = ']<]minimax[>[' %}{{ ns }}<tool_call><mm:think>`, "minimax_m3", "minimax_m3"},
		{"Gemma 4", `<|tool_call>call:{{ name }}{ {{ '<|"|>' }} }<tool_call|><|channel>thought<channel|>`, "gemma4", "gemma4"},
		{"FunctionGemma", `<start_function_call>call:{{ name }}`, "functiongemma", ""},
		{"MiMo", `You are MiMo.<tool_call>\n<function=f>\n<parameter=k>v</parameter></function></think>`, "mimo", "qwen3"},
		{"Seed-OSS with tools", `<seed:think><seed:tool_call>\n<function=f>`, "seed_oss", "seed_oss"},
		{"Hunyuan V3", `{{ '<tool_calls' ~ s ~ '>' }}{{ '<tool_sep' ~ s ~ '>' }}{{ '<arg_key' ~ s ~ '>' }}`, "hy_v3", "hy_v3"},
		{"Hunyuan V4", `{{ '<tool_calls' ~ s ~ '>' }}{{ '<tool_call' ~ s ~ '>' }}{{ '<arg_key' ~ s ~ '>' }}`, "hy_v4", "hy_v3"},
		{"K2 Horizon", `<ifm|tool_calls><ifm|tool_call>f<ifm|arg_key>k</ifm|arg_key>{{ '<ifm|think_fast>' }}`, "k2_horizon", "k2_horizon"},
		{"PLaMo 3", `<|plamo:begin_tool_requests:plamo|>{{ "<|plamo:begin_think:plamo|>" }}`, "plamo3", "plamo3"},
		{"Inkling", `<|message_model|>{{ name }}<|content_invoke_tool_json|>{{ "<|content_thinking|>" }}`, "inkling", "inkling"},
		{"Muse Glimmer", `{{- raise_exception('MuseGlimmer: arguments must be a mapping') }}<atem:function_calls>{{ '<|start|>assistant to=self<|message|>' }}`, "muse_glimmer", "muse_glimmer"},
		{"Muse Spark", `<|start|>assistant to=self<|message|><atem:function_calls>`, "muse", "muse"},
		{"Hunyuan-A13B", `<tool_calls>[{"name": "f", "arguments": {}}]</tool_calls>助手：<think>\n\n</think>`, "hunyuan_a13b", "hunyuan_a13b"},
		{"Step 3", `<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="f"></think>`, "step3", "qwen3"},
		{"MiniCPM5", `<function name="f"><param name="k">v</param></function>`, "minicpm5", ""},
		{"Olmo 3", `wrapped in <function_calls></function_calls> XML tags`, "olmo3", ""},
		{"LFM 2", `{{ "<|tool_call_start|>[" }}`, "lfm2", ""},
		{"ERNIE 4.5", `<think>\n</think>\n<response>\n</response>\n<tool_call>\n{"name": "f", "arguments": {}}`, "ernie45", "ernie45"},
		{"Command A", `<|START_THINKING|><|START_ACTION|><|START_RESPONSE|>`, "cohere_command3", "cohere_command3"},
		{"Command A+", `<|START_THINKING|><|START_ACTION|><|START_TEXT|>`, "cohere_command4", "cohere_command4"},
		{"xLAM", `make calls in a single JSON array: [{"name": "tool_call_name", "arguments": {}}]`, "xlam", ""},
		{"LongCat", `<longcat_tool_call>{"name": "f"}`, "longcat", ""},
		{"GigaChat 3", `{% set sep = "<|role_sep|>" %}'role': 'function call'`, "gigachat3", ""},
		{"Apertus", `{{ '<|tools_prefix|>[' }}`, "apertus", ""},
		{"InternLM", `<|action_start|><|plugin|>`, "internlm", ""},
		{"Qwen3-Coder", `<tool_call>\n<function=example>\n<parameter=x>\nvalue\n</parameter>\n</function>\n</tool_call>`, "qwen3_coder", ""},
		{"Llama 3.1", `Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.`, "llama3_json", ""},
		{"Llama 4", `[func_name1(params_name1=params_value1, params_name2=params_value2...), func_name2(params)]`, "llama4_pythonic", ""},
		{"Mistral", `{{- "[TOOL_CALLS]" + name + "[ARGS]" }}`, "mistral", ""},
		{"Magistral", `{{- "[TOOL_CALLS]" }}[THINK]`, "mistral", "mistral"},
		{"Granite 3", `respond only with <|tool_call|> followed by a JSON list of tools used`, "granite", ""},
		{"Granite 3.0", `{%- elif message['role'] == 'assistant_tool_call' %}{{- '<|start_of_role|>assistant<|end_of_role|><|tool_call|>' }}`, "granite", ""},
		{"Granite 3.2", `Write your thoughts after 'Here is my thought process:'`, "", "granite"},
		{"DeepSeek R1", "{{'<｜Assistant｜><think>\\n'}}{{'<｜tool▁call▁begin｜>' + type + '<｜tool▁sep｜>' + name + '\\n```json\\n'}}{{ c.split('</think>') }}", "deepseek_v3", "deepseek_r1"},
		{"DeepSeek V3.1", "{% if thinking %}{{'<｜Assistant｜></think>'}}{% endif %}<｜tool▁call▁begin｜>'+ name + '<｜tool▁sep｜>'", "deepseek_v31", "qwen3"},
		{"gpt-oss", `<|start|>assistant<|channel|>analysis<|message|>`, "openai", "openai_gptoss"},
		{"Jamba", `<tool_calls>[{"name": "f", "arguments": {}}]</tool_calls>`, "jamba", ""},
		{"Firefunction", `formatted as functools[{"name": [function name]}]`, "phi4_mini_json", ""},
		{"granite-20b-functioncalling", `{# granite #}<function_call> {"name": "f"}`, "granite-20b-fc", ""},
		{"Seed-OSS", `<seed:think>`, "", "seed_oss"},
	}
	found := map[string]bool{}
	for _, tt := range tests {
		found["tools "+tt.tools], found["reasoning "+tt.reasoning] = true, true
		t.Run(tt.name, func(t *testing.T) {
			tools, reasoning := (Dialects{}).Detect(tt.template)
			if tools.Name != tt.tools || reasoning.Name != tt.reasoning {
				t.Errorf("got %+v, %+v", tools, reasoning)
			}
			for _, found := range []inference.Detected{tools, reasoning} {
				if (found.Name == "") != (found.Sign == "") {
					t.Errorf("a name without the texts by which it was found, or texts without a name: %+v", found)
				}
			}
		})
	}
	// Dialects that no template shows are set by hand.
	for _, byHand := range []string{"tools pythonic", "tools json", "reasoning minimax_m2_append_think", "reasoning step3p5"} {
		if found[byHand] {
			t.Errorf("%s: a template has it", byHand)
		}
		found[byHand] = true
	}
	for _, d := range toolDialects() {
		if !found["tools "+d.names[0]] {
			t.Errorf("no template has the tool-call parser %s", d.names[0])
		}
	}
	for _, d := range reasoningDialects() {
		if !found["reasoning "+d.names[0]] {
			t.Errorf("no template has the reasoning parser %s", d.names[0])
		}
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

// TestNames checks that no two dialects have the same name, because users
// choose dialects by name.
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
