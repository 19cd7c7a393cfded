package chat

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/tier"
)

func renderHistory(t *testing.T, source string, req *inference.Request) (string, error) {
	t.Helper()
	template, err := Compile("m", inference.TemplateSource{Source: source, Liquid: true})
	if err != nil {
		t.Fatal(err)
	}
	return template.Render(t.Context(), req)
}

// TestHistoryGoldens checks the prompts of the history templates in testdata/history/*.liquid. Each
// template shows one common way to write history templates.
func TestHistoryGoldens(t *testing.T) {
	chat := &inference.Request{Messages: []inference.Message{
		{Role: "developer", Text: "Answer in verse."},
		{Role: "user", Text: "  What is <rain>?\n", Name: "Ada"},
		{Role: "assistant", NoContent: true, ToolCalls: []inference.ToolCall{{Name: "look"}}},
		{Role: "tool", ToolCallID: "1", Text: `{"rain": "water"}`},
		{Role: "assistant", Text: "Sky's own tears; größer: 雨"},
		{Role: "user", Parts: []inference.Part{{Kind: inference.PartText, Text: "And"}, {Kind: inference.PartText, Text: "snow?"}}},
	}}
	tests := []struct{ name, want string }{
		{"plain", "System: Answer in verse.\nUser:   What is <rain>?\n\nAssistant: \nTool: {\"rain\": \"water\"}\n" +
			"Assistant: Sky's own tears; größer: 雨\nUser: And\nsnow?\nAssistant:"},
		{"headers", "<|begin|><|head|>system<|/head|>\n\nAnswer in verse.<|eot|><|head|>user<|/head|>\n\nWhat is <rain>?<|eot|>" +
			"<|head|>assistant<|/head|>\n\n<|eot|><|head|>tool<|/head|>\n\n{\"rain\": \"water\"}<|eot|>" +
			"<|head|>assistant<|/head|>\n\nSky's own tears; größer: 雨<|eot|><|head|>user<|/head|>\n\nAnd\nsnow?<|eot|><|head|>assistant<|/head|>\n\n"},
		{"cases", "<<SYS>>Answer in verse.<</SYS>>[Ada]   What is <rain>?\n ## {tool: {\"rain\": \"water\"}} ## Sky's own tears; größer: 雨 [user] And\nsnow? ##"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			source, err := os.ReadFile("testdata/history/" + tt.name + ".liquid")
			if err != nil {
				t.Fatal(err)
			}
			got, err := renderHistory(t, strings.TrimSuffix(string(source), "\n"), chat)
			if err != nil || got != tt.want {
				t.Errorf("got\n%q, %v\nwant\n%q", got, err, tt.want)
			}
		})
	}
}

func TestHistoryRefuses(t *testing.T) {
	const source = `{% for i in items %}{{ i.content }}{% endfor %}`
	user := []inference.Message{{Role: "user", Text: "x"}}
	tests := []struct {
		name  string
		req   inference.Request
		param string
	}{
		{"tools", inference.Request{Messages: user, Tools: tools(`{}`)}, "tools"},
		{"variables", inference.Request{Messages: user, TemplateArgs: []byte(`{"a":1}`)}, "chat_template_kwargs"},
		{"documents", inference.Request{Messages: user, Documents: json.RawMessage(`[{"text":"x"}]`)}, "documents"},
		{"no next message", inference.Request{Messages: user, Closed: true}, "add_generation_prompt"},
		{"an effort", inference.Request{Messages: user, ReasoningEffort: "high"}, "reasoning_effort"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := renderHistory(t, source, &tt.req)
			if e := inference.AsError(err); err == nil || e.Param != tt.param || e.Reason != inference.ReasonUnsupported {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestHistoryContinues(t *testing.T) {
	const source = `{% for i in items %}{{ i.identity }}: {{ i.content }}; {% endfor %}Assistant:`
	got, err := renderHistory(t, source, &inference.Request{
		Messages: []inference.Message{{Role: "user", Text: "x"}, {Role: "assistant", Text: "Once upon"}},
		Closed:   true, Continue: true, ReasoningEffort: inference.EffortDefault,
	})
	if want := "User: x; Assistant: Once upon"; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestHistorySyntax(t *testing.T) {
	tests := []struct{ name, source, want string }{
		{"open block", "a\n{% for i in items %}", `unterminated "for" block`},
		{"unknown tag", "{% frobnicate %}", "frobnicate"},
		{"unknown filter", "{% for i in items %}{{ i.content | frobnicate }}{% endfor %}", "frobnicate"},
		{"include", "{% include 'passwd' %}", "include is not supported"},
		{"range", "{% assign r = (1..999999999) %}", "line 1: Liquid ranges are not supported"},
		{"range in a loop", "\n{% for i in items %}{% for j in (1..9) %}{% endfor %}{% endfor %}", "line 2: Liquid ranges are not supported"},
		{"range in a branch", "{% if true %}{% elsif false %}{{ (1..9) | join }}{% endif %}", "ranges are not supported"},
		{"bad regular expression of a filter", "{{ 'x' | truncate: 100000 }}", "repeat count"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Compile("m", inference.TemplateSource{Source: tt.source, Liquid: true})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := Compile("m", inference.TemplateSource{Source: "a..b {{ '..' }}", Liquid: true}); err != nil {
		t.Errorf("dots in texts: %v", err)
	}
}

// TestHistoryBounds checks that no history template hangs or kills the process. The limits are a
// fraction of the real ones, so that they are reached sooner.
func TestHistoryBounds(t *testing.T) {
	tier.Computes(t)
	many := make([]inference.Message, 2000)
	for i := range many {
		many[i] = inference.Message{Role: "user", Text: "some text"}
	}
	const each = "{% for a in items %}"
	tests := []struct{ name, source, want string }{
		{"loops in loops", each + each + each + "{% endfor %}{% endfor %}{% endfor %}", "loop iterations"},
		{"loops in branches", each + "{% if true %}" + each + "{% case 1 %}{% when 1 %}" + each + "{% endfor %}{% endcase %}{% endfor %}{% endif %}{% endfor %}", "loop iterations"},
		{"loops in tables", "{% tablerow a in items %}{% tablerow b in items %}{% endtablerow %}{% endtablerow %}", "loop iterations"},
		{"loops in captures", "{% capture x %}" + each + each + "{% endfor %}{% endfor %}{% endcapture %}", "loop iterations"},
		{"output", each + each + "{{ a.content }}{% for c in items %}0123456789{% endfor %}{% endfor %}{% endfor %}", ""},
		{"text doubles by append", "{% assign s = 'x' %}" + each + "{% assign s = s | append: s %}{% endfor %}", "bytes"},
		{"text doubles by capture", "{% assign s = 'x' %}" + each + "{% capture s %}{{ s }}{{ s }}{% endcapture %}{% endfor %}", "bytes"},
		{"text doubles by prepend", "{% assign s = 'x' %}" + each + "{% assign s = s | prepend: s %}{% endfor %}", "bytes"},
		{"text grows by replace", "{% assign s = 'xx' %}" + each + "{% assign s = s | replace: 'x', s %}{% endfor %}", "bytes"},
		{"text grows by join", "{% assign s = ',' %}" + each + "{% assign s = items | map: 'content' | join: s %}{% endfor %}", "bytes"},
		{"list doubles by concat", "{% assign s = items %}" + each + "{% assign s = s | concat: s %}{% endfor %}", "bytes"},
		{"list of a text's letters", "{% assign s = 'x' %}" + each + "{% assign s = s | append: s %}{% assign l = s | split: '' %}{% endfor %}", "bytes"},
		{"uniq compares all", "{% assign s = items %}{% for a in items limit: 5 %}{% assign s = s | concat: s %}{% endfor %}{% assign u = s | uniq %}", "bytes"},
		{"table of much text", "{% tablerow a in items %}{% tablerow b in items %}x{% endtablerow %}{% endtablerow %}", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			template, err := compiler{part: 16}.compileHistory(tt.source, "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = template.Render(t.Context(), &inference.Request{Messages: many})
			e, ok := errors.AsType[*inference.Error](err)
			if !ok || e.Param != "messages" || !strings.Contains(e.Message, "the template needs more than") || !strings.Contains(e.Message, tt.want) {
				t.Fatalf("got %v", err)
			}
			if len(e.Err.Error()) > 300 {
				t.Errorf("the error has a stack: %s", e.Err)
			}
		})
	}
}

func TestHistoryCancel(t *testing.T) {
	template, err := Compile("m", inference.TemplateSource{Source: "{% for i in items %}{% endfor %}", Liquid: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := template.Render(ctx, &inference.Request{Messages: []inference.Message{{}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
