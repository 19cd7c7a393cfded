package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

func render(t *testing.T, source string, req *inference.Request) (string, error) {
	t.Helper()
	return renderWith(t, compiler{}, source, req)
}

func renderWith(t *testing.T, templates compiler, source string, req *inference.Request) (string, error) {
	t.Helper()
	template, err := templates.compile("m", inference.TemplateSource{Source: source, Tokens: map[string]string{"bos_token": "<s>", "eos_token": "</s>"}})
	if err != nil {
		t.Fatal(err)
	}
	return template.Render(t.Context(), req)
}

const (
	plain = `{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}`
	lists = `{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}<{{ p.type }}>{{ p.text }}{% endfor %}{% endif %}{% endfor %}`
)

func TestRender(t *testing.T) {
	user := inference.Message{Role: "user", Text: "hi"}
	parts := inference.Message{Role: "user", Parts: []inference.Part{{Kind: "text", Text: "a"}, {Kind: "text", Text: "b"}}}
	call := inference.Message{Role: "assistant", NoContent: true, ToolCalls: []inference.ToolCall{{ID: "c1", Name: "f", Arguments: json.RawMessage(`{"z": 1, "a": "<é>"}`)}}}
	tests := []struct {
		name, source string
		req          inference.Request
		want         string
	}{
		{"messages", plain, inference.Request{Messages: []inference.Message{{Role: "system", Text: "s"}, user}}, "[system]s[user]hi[assistant]"},
		{"developer for a template that knows no such role", plain, inference.Request{Messages: []inference.Message{{Role: "developer", Text: "s"}}}, "[system]s[assistant]"},
		{"developer for one that does", "{# developer #}" + plain, inference.Request{Messages: []inference.Message{{Role: "developer", Text: "s"}}}, "[developer]s[assistant]"},
		{"function is an older name of tool", plain, inference.Request{Messages: []inference.Message{{Role: "function", Name: "f", Text: "r"}}}, "[tool]r[assistant]"},
		{"parts for a template that reads texts", plain, inference.Request{Messages: []inference.Message{parts}}, "[user]a\nb[assistant]"},
		{"parts for a template that reads lists", lists, inference.Request{Messages: []inference.Message{parts}}, "<text>a<text>b"},
		{"no content is none", `{{ messages[0].content is none }}`, inference.Request{Messages: []inference.Message{call}}, "True"},
		{"a refusal is the content", `{{ messages[0].content }}`, inference.Request{Messages: []inference.Message{{Role: "assistant", NoContent: true, Refusal: "no"}}}, "no"},
		{
			"arguments are objects with their keys in order", `{% for c in messages[0].tool_calls %}{{ c.id }} {{ c.type }} {{ c.function.name }} {{ c.function.arguments | tojson }}{% endfor %}`,
			inference.Request{Messages: []inference.Message{call}},
			`c1 function f {"z": 1, "a": "<é>"}`,
		},
		{
			"reasoning", `{% for m in messages %}{{ m.reasoning_content | default("-") }}{{ m.content }}{% endfor %}`,
			inference.Request{Messages: []inference.Message{user, {Role: "assistant", Text: "b", Reasoning: "hm"}}},
			"-hihmb",
		},
		{
			"tools keep their keys in order", `{% for t in tools %}{{ t | tojson }}{% endfor %}`,
			inference.Request{Messages: []inference.Message{user}, Tools: []json.RawMessage{json.RawMessage(`{"type":"function","b":1,"a":2}`)}},
			`{"type": "function", "b": 1, "a": 2}`,
		},
		{"no tools are none", `{{ tools is none }}`, inference.Request{Messages: []inference.Message{user}}, "True"},
		{"tokens", `{{ bos_token }}{{ eos_token }}`, inference.Request{Messages: []inference.Message{user}}, "<s></s>"},
		{
			"variables that say what holds anyway", `{{ tools | length }}{{ add_generation_prompt }}{{ documents is none }}`,
			inference.Request{
				Messages: []inference.Message{user}, Tools: []json.RawMessage{json.RawMessage(`{}`)},
				TemplateArgs: json.RawMessage(`{"tools":null,"documents":null,"add_generation_prompt":true,"continue_final_message":false}`),
			},
			"1TrueTrue",
		},
		{"further variables", `{{ enable_thinking }}`, inference.Request{Messages: []inference.Message{user}, TemplateArgs: json.RawMessage(`{"enable_thinking":false}`)}, "False"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := render(t, tt.source, &tt.req)
			if err != nil || got != tt.want {
				t.Errorf("got %q, want %q, error %v", got, tt.want, err)
			}
		})
	}
}

func TestRenderErrors(t *testing.T) {
	tests := []struct {
		name, source string
		req          inference.Request
		param, text  string
	}{
		{"the template refuses", `{{ raise_exception('roles must alternate') }}`, inference.Request{}, "messages", "roles must alternate"},
		{"the template fails", `{{ messages[0].x.y }}`, inference.Request{Messages: []inference.Message{{Role: "user"}}}, "messages", "the model's chat template can't render these messages: line 1: "},
		{"arguments that are no JSON", plain, inference.Request{Messages: []inference.Message{{}, {ToolCalls: []inference.ToolCall{{Arguments: json.RawMessage("{")}}}}}, "messages[1].tool_calls", "JSON object"},
		{"tools that are no JSON", plain, inference.Request{Tools: []json.RawMessage{json.RawMessage("{")}}, "tools", "JSON"},
		{"further variables that are no object", plain, inference.Request{TemplateArgs: json.RawMessage("[1]")}, "chat_template_kwargs", "object"},
		{"messages as a variable", plain, inference.Request{TemplateArgs: json.RawMessage(`{"messages":[{"role":"system","content":"x"}]}`)}, "chat_template_kwargs.messages", "messages can't be set"},
		{"no messages as a variable", plain, inference.Request{TemplateArgs: json.RawMessage(`{"messages":[]}`)}, "chat_template_kwargs.messages", "messages can't be set"},
		{"tools as a variable", plain, inference.Request{TemplateArgs: json.RawMessage(`{"a":1,"tools":[{}]}`)}, "chat_template_kwargs.tools", "tools can't be set"},
		{"documents as a variable", plain, inference.Request{TemplateArgs: json.RawMessage(`{"documents":"x"}`)}, "chat_template_kwargs.documents", "documents can't be set"},
		{"no next message", plain, inference.Request{TemplateArgs: json.RawMessage(`{"add_generation_prompt":false}`)}, "chat_template_kwargs.add_generation_prompt", "add_generation_prompt can't be set"},
		{"an open message", plain, inference.Request{TemplateArgs: json.RawMessage(`{"continue_final_message":true}`)}, "chat_template_kwargs.continue_final_message", "continue_final_message can't be set"},
		{"an endless template", `{% for a in range(100000) %}{% for b in range(100000) %}{{ b }}{% endfor %}{% endfor %}`, inference.Request{}, "messages", "the model's chat template can't render these messages: the template needs more than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := renderWith(t, compiler{part: 16}, tt.source, &tt.req)
			e := inference.AsError(err)
			if err == nil || e.Code != inference.CodeInvalid || e.Param != tt.param || !strings.Contains(e.Message, tt.text) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCompileErrorHasLine(t *testing.T) {
	_, err := Compile("m", inference.TemplateSource{Source: "a\n{% for %}"})
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}

func tools(definitions ...string) []json.RawMessage {
	list := make([]json.RawMessage, len(definitions))
	for i, d := range definitions {
		list[i] = json.RawMessage(d)
	}
	return list
}
