package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/chat"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/tier"
)

// toolTurns returns a chat of n tool calls, with a system message after each result.
func toolTurns(n int) []inference.Message {
	messages := []inference.Message{
		{Role: "system", Text: "You are an agent."}, {Role: "developer", Text: "Use the tools."}, {Role: "user", Text: "Begin."},
	}
	for i := range n {
		id := fmt.Sprintf("call%05d", i)
		messages = append(messages,
			inference.Message{Role: "assistant", NoContent: true, ToolCalls: []inference.ToolCall{{ID: id, Name: "get_weather", Arguments: json.RawMessage(`{"city": "Oslo"}`)}}},
			inference.Message{Role: "tool", ToolCallID: id, Text: fmt.Sprintf("%d degrees", i)},
			inference.Message{Role: "system", Text: fmt.Sprintf("reminder %d", i)},
		)
	}
	return messages
}

// prefixes reports whether the prompt of each turn is a prefix of the next turn's.
func prefixes(t *testing.T, template inference.Template, turns func(n int) []inference.Message) (bool, error) {
	t.Helper()
	before := ""
	for n := range 21 {
		prompt, err := template.Render(t.Context(), &inference.Request{Messages: turns(n)})
		if err != nil || !strings.HasPrefix(prompt, before) {
			return false, err
		}
		before = prompt
	}
	return true, nil
}

// TestToolTurns checks that the prompts of 20 tool turns suit prefix caches, with a system message
// after each result. It uses templates that show these system messages and templates that don't.
func TestToolTurns(t *testing.T) {
	checkToolTurns(t, append(ourFamilies(t), family{"one system", chat.OneSystem}, family{"first system", chat.FirstSystem}), 6)
}

// TestRealToolTurns checks that the prompts of tool turns suit prefix caches, as TestToolTurns
// does, with the templates of real models.
func TestRealToolTurns(t *testing.T) {
	tier.Computes(t)
	checkToolTurns(t, realFamilies(t), 40)
}

// checkToolTurns compares chats with and without system messages. A template with stable
// prefixes for chats without them must have stable prefixes for chats with them. At least
// the given number of templates must qualify.
func checkToolTurns(t *testing.T, families []family, least int) {
	t.Helper()
	checked := 0
	for _, f := range families {
		template, err := chat.Compile(f.Model, inference.TemplateSource{Source: f.Template, Tokens: map[string]string{"bos_token": "<s>", "eos_token": "</s>"}})
		if err != nil {
			t.Fatalf("%s: %v", f.Model, err)
		}
		without := func(n int) []inference.Message {
			all := toolTurns(n)
			kept := all[:0:0]
			for _, m := range all[1:] {
				if m.Role != "system" {
					kept = append(kept, m)
				}
			}
			return kept
		}
		if stable, _ := prefixes(t, template, without); !stable {
			continue // the template itself breaks the prefix: it drops earlier turns' text, or rejects tools
		}
		stable, err := prefixes(t, template, toolTurns)
		if !stable {
			t.Errorf("%s: the prompt of a turn is no prefix of the next one's (%v)", f.Model, err)
			continue
		}
		prompt, _ := template.Render(t.Context(), &inference.Request{Messages: toolTurns(20)})
		for _, text := range []string{"You are an agent.", "Use the tools.", "reminder 0", "reminder 19"} {
			if !strings.Contains(prompt, text) {
				t.Errorf("%s: the prompt has no %q", f.Model, text)
			}
		}
		checked++
	}
	t.Logf("%d of %d templates render tool turns with stable prefixes", checked, len(families))
	if checked < least {
		t.Errorf("only %d templates were checked, want at least %d", checked, least)
	}
}

// TestToolTurnsOfOnePlace checks that a template that refuses system messages only after tool
// messages has stable prefixes: its system messages elsewhere keep their form when the first tool
// message comes.
func TestToolTurnsOfOnePlace(t *testing.T) {
	const afterTools = `{% for m in messages %}{% if m.role == 'system' and loop.previtem and loop.previtem.role == 'tool' %}{{ raise_exception('no system message after a tool') }}{% endif %}` +
		`<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}`
	template, err := chat.Compile("m", inference.TemplateSource{Source: afterTools})
	if err != nil {
		t.Fatal(err)
	}
	start := []inference.Message{{Role: "user", Text: "a"}, {Role: "assistant", Text: "b"}, {Role: "system", Text: "early"}, {Role: "user", Text: "c"}}
	turns := func(n int) []inference.Message { return append(start[:4:4], toolTurns(n)[3:]...) }
	if stable, err := prefixes(t, template, turns); !stable {
		t.Errorf("the prompt of a turn is no prefix of the next one's (%v)", err)
	}
	prompt, err := template.Render(t.Context(), &inference.Request{Messages: turns(2)})
	want := "<user>a<assistant>b<user><system>\nearly\n</system>\n\nc<assistant>get_weather<tool>0 degrees\n\n<system>\nreminder 0\n</system><assistant>get_weather<tool>1 degrees\n\n<system>\nreminder 1\n</system><assistant>"
	if err != nil || prompt != want {
		t.Errorf("got %q, %v", prompt, err)
	}
}
