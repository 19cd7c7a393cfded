package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

const (
	// oneSystem has one slot for a system message and rejects others.
	oneSystem = `{% if messages[0].role == 'system' %}S:{{ messages[0].content }};{% set messages = messages[1:] %}{% endif %}` +
		`{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('system must be first') }}{% endif %}{{ m.role[0] }}:{{ m.content }};{% endfor %}`
	// firstSystem shows the first system message and drops others without an error.
	firstSystem = `{% for m in messages %}{% if m.role != 'system' or loop.first %}{{ m.role[0] }}:{{ m.content }};{% endif %}{% endfor %}`
	// topSystem shows all system messages at the start.
	topSystem = `{% for m in messages %}{% if m.role == 'system' %}{{ m.content }};{% endif %}{% endfor %}{% for m in messages %}{% if m.role != 'system' %}{{ m.role[0] }}:{{ m.content }};{% endif %}{% endfor %}`
	// pairsOnly rejects all system messages, and consecutive messages of one role.
	pairsOnly = `{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}{{ m.role[0] }}:{{ m.content }};{% endfor %}`
	// noSystem rejects all system messages.
	noSystem = `{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ m.role[0] }}:{{ m.content }};{% endfor %}`
)

// chatOf returns the messages of a chat from lines such as "user: hi".
func chatOf(lines ...string) []inference.Message {
	messages := make([]inference.Message, len(lines))
	for i, line := range lines {
		role, text, _ := strings.Cut(line, ": ")
		messages[i] = inference.Message{Role: role, Text: text}
	}
	return messages
}

func TestArrange(t *testing.T) {
	tests := []struct {
		name, source string
		messages     []inference.Message
		want         string
	}{
		{"as written where the template shows all", plain, chatOf("system: a", "system: b", "user: c", "system: d"), "[system]a[system]b[user]c[system]d[assistant]"},
		{"leading ones are merged", oneSystem, chatOf("system: a", "developer: b", "user: c"), "S:a\n\nb;u:c;"},
		{"leading ones that would be dropped are merged", firstSystem, chatOf("system: a", "system: b", "user: c"), "s:a\n\nb;u:c;"},
		{"one in the middle becomes a part of the next user message", oneSystem, chatOf("system: a", "user: b", "assistant: c", "system: d", "user: e"), "S:a;u:b;a:c;u:<system>\nd\n</system>\n\ne;"},
		{"one that would be dropped", firstSystem, chatOf("system: a", "user: b", "assistant: c", "system: d", "user: e"), "s:a;u:b;a:c;u:<system>\nd\n</system>\n\ne;"},
		{"several in the middle", oneSystem, chatOf("user: b", "system: d", "developer: e", "tool: f"), "u:b;t:<system>\nd\n</system>\n\n<system>\ne\n</system>\n\nf;"},
		{"one at the end becomes a part of the message before it", oneSystem, chatOf("user: a", "assistant: b", "tool: c", "system: d"), "u:a;a:b;t:c\n\n<system>\nd\n</system>;"},
		{"one between answers becomes a user message", oneSystem, chatOf("user: a", "assistant: b", "system: c", "assistant: d"), "u:a;a:b;u:<system>\nc\n</system>;a:d;"},
		{"where no system message is shown", noSystem, chatOf("system: a", "system: b", "user: c", "system: d"), "u:<system>\na\n</system>\n\n<system>\nb\n</system>\n\nc\n\n<system>\nd\n</system>;"},
		{"where all system messages are shown at the start", topSystem, chatOf("system: a", "user: b", "assistant: c", "system: d"), "a;u:b;a:c;u:<system>\nd\n</system>;"},
		{"leading and middle ones", oneSystem, chatOf("system: a", "system: b", "user: c", "system: d", "user: e"), "S:a\n\nb;u:c;u:<system>\nd\n</system>\n\ne;"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			written := fmt.Sprint(tt.messages)
			got, err := render(t, tt.source, &inference.Request{Messages: tt.messages})
			if err != nil || got != tt.want {
				t.Errorf("got %q, want %q, error %v", got, tt.want, err)
			}
			if is := fmt.Sprint(tt.messages); is != written {
				t.Errorf("the request's messages became %s", is)
			}
		})
	}
}

// TestArrangeParts checks that a message whose content is a list of parts reaches the chat template
// as a list, when messages are rearranged.
func TestArrangeParts(t *testing.T) {
	user := inference.Message{Role: "user", Parts: []inference.Part{{Kind: inference.PartText, Text: "p"}}}
	source := strings.ReplaceAll(oneSystem, "{{ m.content }}", "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}<{{ p.text }}>{% endfor %}{% endif %}")
	req := &inference.Request{Messages: append(chatOf("user: a", "assistant: b", "system: c"), user)}
	got, err := render(t, source, req)
	if want := "u:a;a:b;u:<<system>\nc\n</system>\n\n><p>;"; err != nil || got != want {
		t.Errorf("got %q, want %q, error %v", got, want, err)
	}
	if len(user.Parts) != 1 || user.Parts[0].Text != "p" {
		t.Errorf("the request's parts became %v", user.Parts)
	}
}

// TestArrangeErrors checks that the error is the template's own if it rejects all
// arrangements, and that the parameter of an error has an index of the request.
func TestArrangeErrors(t *testing.T) {
	_, err := render(t, pairsOnly, &inference.Request{Messages: chatOf("system: a", "user: c", "user: d")})
	if e := inference.AsError(err); err == nil || e.Param != "messages" || !strings.Contains(e.Message, "roles must alternate") {
		t.Errorf("got %v", err)
	}
	messages := chatOf("system: a", "system: b", "user: c", "user: d")
	messages[3].Parts = []inference.Part{{Kind: inference.PartImage}}
	_, err = render(t, oneSystem, &inference.Request{Messages: messages})
	if e := inference.AsError(err); err == nil || e.Param != "messages[3].content[0]" {
		t.Errorf("got %v", err)
	}
}

// TestMalformedCalls checks that the chat template renders malformed arguments of a tool call as
// the model wrote them.
func TestMalformedCalls(t *testing.T) {
	const (
		asText   = `{% for m in messages %}{% for c in m.tool_calls %}{% if c.function.arguments is string %}{{ c.function.arguments }}{% else %}{{ c.function.arguments | tojson }}{% endif %}{% endfor %}{% endfor %}`
		asObject = `{% for m in messages %}{% for c in m.tool_calls %}{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }};{% endfor %}{% endfor %}{% endfor %}`
	)
	tests := []struct{ name, source, arguments, want string }{
		{"cut off, as text", asText, `{"a": 1, "b`, `{"a": 1, "b`},
		{"cut off, as an object", asObject, `{"a": 1, "b`, `arguments={"a": 1, "b;`},
		{"a repeated key, as text", asText, `{"a": 1, "a": 2}`, `{"a": 1, "a": 2}`},
		{"a repeated key, as an object", asObject, `{"a": 1, "a": 2}`, `a=2;`},
		{"a list, as text", asText, `[1]`, `[1]`},
		{"a list, as an object", asObject, `[1]`, `arguments=[1];`},
		{"no JSON", asText, `city: Oslo`, `city: Oslo`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			call := inference.ToolCall{ID: "c", Name: "f", Arguments: json.RawMessage(tt.arguments), Malformed: true}
			got, err := render(t, tt.source, &inference.Request{Messages: []inference.Message{{Role: "user", Text: "x"}, {Role: "assistant", NoContent: true, ToolCalls: []inference.ToolCall{call}}}})
			if err != nil || got != tt.want {
				t.Errorf("got %q, want %q, error %v", got, tt.want, err)
			}
		})
	}
}
