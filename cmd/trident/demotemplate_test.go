package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// templateOfWeights is the chat template of the demo's weights (GGUF: tokenizer.chat_template).
// It doesn't support tools.
const templateOfWeights = `{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}`

// demoTemplate returns the chat template of the demo's chat model. It is read once, because
// reading the models takes two seconds under the race detector.
var demoTemplate = sync.OnceValues(func() (inference.Template, error) {
	var cli commandLine
	parser, err := newParser(&cli)
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse([]string{"--model-repository=../../models"}); err != nil {
		return nil, err
	}
	return templateCommand{Model: "chat"}.template(&cli.flags)
})

// demoPrompt returns the prompt of the demo's chat model for a chat.
func demoPrompt(t *testing.T, chat string) string {
	t.Helper()
	template, err := demoTemplate()
	if err != nil {
		t.Fatal(err)
	}
	return promptOf(t, template, chat)
}

func promptOf(t *testing.T, template inference.Template, chat string) string {
	t.Helper()
	req, err := templateCommand{}.request([]byte(chat))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := render(template, req, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestDemoTemplateWithoutTools checks that chats without tools are rendered as with the
// template of the weights.
func TestDemoTemplateWithoutTools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "weights.jinja")
	if err := os.WriteFile(file, []byte(templateOfWeights), 0o600); err != nil {
		t.Fatal(err)
	}
	weights, err := templateCommand{File: file}.template(&flags{})
	if err != nil {
		t.Fatal(err)
	}
	for name, chat := range map[string]string{
		"a question":          `[{"role": "user", "content": "hi"}]`,
		"a system message":    `[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]`,
		"an empty one":        `[{"role": "system", "content": ""}, {"role": "user", "content": " hi\n"}]`,
		"a developer message": `[{"role": "developer", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]`,
		"a long chat":         `[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "system", "content": "c"}, {"role": "user", "content": "d"}]`,
		"an answer first":     `[{"role": "assistant", "content": "<tool_call>"}, {"role": "user", "content": "<tools>"}]`,
		"tools to be left":    `{"messages": [{"role": "user", "content": "hi"}], "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "none"}`,
		"no tools":            `{"messages": [{"role": "user", "content": "hi"}], "tools": []}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, want := demoPrompt(t, chat), promptOf(t, weights, chat)
			if got != want || got == "" {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

const demoTools = `[{"type": "function", "function": {"name": "clock", "description": "The time <now>.", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}}]`

// TestDemoTemplateTools checks that tools, calls and results have the format of Hermes models.
func TestDemoTemplateTools(t *testing.T) {
	const (
		system = "<|im_start|>system\n"
		own    = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
		tools  = "\n\nYou may call these functions:\n<tools>\n" +
			`{"type": "function", "function": {"name": "clock", "description": "The time <now>.", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}}` +
			"\n</tools>\nTo call a function, answer with its name and arguments as JSON:\n<tool_call>\n" +
			`{"name": "the function", "arguments": {"the argument": "its value"}}` + "\n</tool_call><|im_end|>\n"
		user   = "<|im_start|>user\nWhat time is it?<|im_end|>\n"
		answer = "<|im_start|>assistant\n"
		call   = "<tool_call>\n{\"name\": \"clock\", \"arguments\": {\"zone\": \"UTC\"}}\n</tool_call>"
	)
	const question, asked = `{"role": "user", "content": "What time is it?"}`, `{"id": "a", "type": "function", "function": {"name": "clock", "arguments": "{\"zone\": \"UTC\"}"}}`
	for _, tt := range []struct{ name, messages, want string }{
		{"tools", `[` + question + `]`, system + own + tools + user + answer},
		{"after a system message", `[{"role": "system", "content": "Be brief."}, ` + question + `]`, system + "Be brief." + tools + user + answer},
		{
			"a call without content, and its result", `[` + question + `, {"role": "assistant", "content": null, "tool_calls": [` + asked + `]}, {"role": "tool", "tool_call_id": "a", "content": "noon"}]`,
			system + own + tools + user + answer + call + "<|im_end|>\n<|im_start|>user\n<tool_response>\nnoon\n</tool_response><|im_end|>\n" + answer,
		},
		{
			"calls with content, and results in a row",
			`[` + question + `, {"role": "assistant", "content": "Let me see.", "tool_calls": [` + asked + `, ` + asked + `]}, {"role": "tool", "tool_call_id": "a", "content": "noon"}, {"role": "tool", "tool_call_id": "a", "content": "12"}, {"role": "assistant", "content": "Noon."}, ` + question + `]`,
			system + own + tools + user + answer + "Let me see.\n" + call + "\n" + call + "<|im_end|>\n<|im_start|>user\n<tool_response>\nnoon\n</tool_response>\n<tool_response>\n12\n</tool_response><|im_end|>\n" +
				answer + "Noon.<|im_end|>\n" + user + answer,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := demoPrompt(t, `{"messages": `+tt.messages+`, "tools": `+demoTools+`}`)
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestDemoTemplatePrefix checks that the prompt of a turn, without the generation prompt, is a prefix
// of the next turn's prompt. Prefix caches need such prefixes.
func TestDemoTemplatePrefix(t *testing.T) {
	messages, before := `{"role": "user", "content": "go"}`, ""
	const turns = 20
	for turn := range turns {
		prompt := demoPrompt(t, `{"messages": [`+messages+`], "tools": `+demoTools+`}`)
		if !strings.HasPrefix(prompt, before) || len(prompt) <= len(before) {
			t.Fatalf("turn %d: %q is no prefix of %q", turn, before, prompt)
		}
		before = prompt
		messages += fmt.Sprintf(`, {"role": "assistant", "content": null, "tool_calls": [{"id": "c%[1]d", "type": "function", "function": {"name": "clock", "arguments": "{\"zone\": \"%[1]d\"}"}}]}`+
			`, {"role": "tool", "tool_call_id": "c%[1]d", "content": "%[1]d"}, {"role": "system", "content": "It is turn %[1]d."}`, turn)
	}
}
