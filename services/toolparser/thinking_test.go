package toolparser

import (
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

func reasoning(name, prompt string) func() *inference.ParserOptions {
	return func() *inference.ParserOptions {
		o := options("hermes", name)
		o.Prompt = prompt
		return o
	}
}

const nowCall = `<tool_call>{"name": "now", "arguments": {}}</tool_call>`

func TestThinking(t *testing.T) {
	check(t, reasoning("qwen3", "<|im_start|>assistant\n"), []example{
		{name: "text", in: "\nHi, <think>no</think>", text: "\nHi, <think>no</think>"},
		{name: "reasoning", in: "<think>\nLet me <see>.\n</think>\n\nHi", reasoning: "Let me <see>.\n", text: "Hi"},
		{name: "none", in: "<think>\n\n</think>\n\nHi", text: "Hi"},
		{name: "white space before", in: "\n <think>a</think>b", reasoning: "a", text: "b"},
		{name: "a call after it", in: "<think>a</think>\n\n" + nowCall, reasoning: "a", calls: []call{{"now", "{}"}}},
		{name: "a call within it", in: "<think>a " + nowCall + " b</think>c", reasoning: "a " + nowCall + " b", text: "c"},
		{name: "cut off", in: "<think>a </thi", reasoning: "a </thi"},
		{name: "cut off in the tag", in: "<thi", text: "<thi"},
		{name: "Unicode", in: "<think>é😀</think>東", reasoning: "é😀", text: "東"},
	})
	check(t, reasoning("qwen3", "<|im_start|>assistant\n<think>\n"), []example{
		{name: "opened by the prompt", in: "\na</think>b", reasoning: "a", text: "b"},
		{name: "opened again", in: "<think>a</think>b", reasoning: "a", text: "b"},
		{name: "never shut", in: "a b", reasoning: "a b"},
		{name: "nothing"},
	})
	check(t, reasoning("deepseek_r1", "<think>\n\n</think>\n\n"), []example{
		{name: "shut by the prompt", in: "a</think>", text: "a</think>"},
	})
	check(t, reasoning("deepseek_r1", "<｜Assistant｜>"), []example{
		{name: "assumed", in: "a</think>b", reasoning: "a", text: "b"},
		{name: "not only assumed", in: "<think>a</think>b", reasoning: "a", text: "b"},
		{name: "white space", in: " \n"},
	})
	continued := func(name, text string) func() *inference.ParserOptions {
		return func() *inference.ParserOptions {
			o := reasoning(name, "<think>"+text)()
			o.Continued = &text
			return o
		}
	}
	check(t, continued("deepseek_r1", "Hello"), []example{{name: "a message that is continued", in: " you</think>", text: " you</think>"}})
	check(t, continued("qwen3", "<think>a</think>Hello"), []example{{name: "a message after reasoning that is continued", in: " you", text: " you"}})
	check(t, continued("qwen3", "<think>a</think><think>b"), []example{{name: "reasoning that is continued", in: " c</think>d", reasoning: " c", text: "d"}})
	check(t, continued("qwen3", "<think>"), []example{{name: "reasoning that is opened by the message", in: "\nc</think>d", reasoning: "c", text: "d"}})
	check(t, continued("minimax_m2_append_think", "Hello"), []example{{name: "a message without a leading tag", in: " you", text: " you"}})
	check(t, reasoning("mistral", ""), []example{{name: "tags", in: "[THINK]a [1][/THINK]b", reasoning: "a [1]", text: "b"}})
	check(t, reasoning("seed_oss", ""), []example{{name: "tags", in: "<seed:think>a</seed:think>b", reasoning: "a", text: "b"}})
	check(t, reasoning("granite", ""), []example{
		{name: "sentences", in: "Here is my thought process: a: Here b. Here is my response: c", reasoning: "a: Here b. ", text: "c"},
		{name: "short sentences", in: "Here's my thought process:\na\nHere's my response:\nc", reasoning: "a\n", text: "c"},
		{name: "text", in: "Here is my response: c", text: "Here is my response: c"},
	})
	check(t, func() *inference.ParserOptions { return options("qwen3_coder", "qwen3") }, []example{
		{name: "a call instead of the end", in: "<think>a <tool_call> b\n<tool_call>\n<function=now>\n</function>\n</tool_call>", reasoning: "a <tool_call> b\n", calls: []call{{"now", "{}"}}},
	})
	check(t, func() *inference.ParserOptions { return options("", "qwen3") }, []example{
		{name: "calls that nobody reads", in: "<think>a</think>" + nowCall, reasoning: "a", text: nowCall},
	})
}

func TestHarmony(t *testing.T) {
	check(t, tools("openai"), []example{
		{name: "plain text", in: " Hello", text: " Hello"},
		{name: "reasoning and text", in: "<|channel|>analysis<|message|>Let me think.<|end|><|start|>assistant<|channel|>final<|message|> Hi <b><|return|>", reasoning: "Let me think.", text: " Hi <b>"},
		{name: "the end left out", in: "<|channel|>final<|message|>Hi", text: "Hi"},
		{
			name: "a call", in: "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>" + paris + "<|call|>",
			reasoning: "a", calls: []call{{"get_weather", paris}},
		},
		{name: "the recipient first", in: "<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>" + paris, calls: []call{{"get_weather", paris}}},
		{name: "the recipient first of all", in: " to=functions.now<|channel|>commentary <|constrain|>json<|message|>{}", calls: []call{{"now", "{}"}}},
		{name: "no arguments", in: "<|channel|>commentary to=functions.now<|message|><|call|>", calls: []call{{"now", "{}"}}},
		{name: "a preamble and two calls", in: "<|channel|>commentary<|message|>I'll look.<|end|><|start|>assistant<|channel|>commentary to=functions.a<|message|>{}<|call|><|start|>assistant<|channel|>commentary to=functions.b<|message|>{\"x\": \"1\n\"}<|call|>", text: "I'll look.", calls: []call{{"a", "{}"}, {"b", `{"x": "1\n"}`}}},
		{name: "the model's own tools", in: "<|channel|>commentary to=python code<|message|>print(1)<|call|>", reasoning: "print(1)"},
		{name: "no JSON", in: "<|channel|>commentary to=functions.a<|message|>{x}<|call|>", calls: []call{{"a", "{x}"}}, broken: true},
		{name: "a message without its end", in: "<|channel|>analysis<|message|>a<|channel|>final<|message|>b", reasoning: "a", text: "b"},
		{name: "a header that never ends", in: "<|channel|>" + strings.Repeat("x", 300), text: "<|channel|>" + strings.Repeat("x", 300)},
		{name: "cut off in a header", in: "<|channel|>ana", text: "<|channel|>ana"},
	})
	check(t, func() *inference.ParserOptions { return options("", "openai_gptoss") }, []example{
		{name: "calls that nobody reads", in: "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=functions.a<|message|>{}<|call|>", reasoning: "a", text: "{}"},
	})
}
