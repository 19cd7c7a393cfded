package anthropic

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// toolTurns returns the body of the request after n calls of tools, as Claude Code sends it. The hint to
// caches is at the last block. Reminders are beside results. A line of the system prompt changes.
func toolTurns(n int) string {
	var b strings.Builder
	hint := func(last bool) string {
		if last {
			return `,"cache_control":{"type":"ephemeral"}`
		}
		return ""
	}
	fmt.Fprintf(&b, `{"model":"m","max_tokens":9,"tools":[{"name":"Bash","description":"runs","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],`)
	fmt.Fprintf(&b, `"system":[{"type":"text","text":"x-anthropic-billing-header: cch=%d;"},{"type":"text","text":"You are an agent.","cache_control":{"type":"ephemeral"}}],`, n)
	fmt.Fprintf(&b, `"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>r</system-reminder>"},{"type":"text","text":"Begin."%s}]}`, hint(n == 0))
	for i := range n {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"thinking","thinking":"step %d","signature":""},{"type":"text","text":"Now."},{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"z":1,"command":"ls %d"}}]}`, i, i, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":[{"type":"text","text":"out %d"}],"is_error":%t%s},{"type":"text","text":"reminder %d"}]}`, i, i, i%3 == 0, hint(i == n-1), i)
	}
	return b.String() + "]}"
}

// TestToolTurns checks that the prompt of each of 20 tool turns is a prefix of the next turn's, and that a
// compaction keeps the prompt up to the conversation.
func TestToolTurns(t *testing.T) {
	f := serve(t, Config{}, inferencetest.StreamText("x"), map[string]string{"trident.tool_call_parser": "hermes", "trident.chat_template": strings.ReplaceAll(callTemplate, "{% if add_generation_prompt %}<assistant>{% endif %}", "")})
	before := ""
	for n := range 21 {
		answer := f.post(t, "/v1/messages", toolTurns(n))
		if answer.Code != http.StatusOK {
			t.Fatalf("%d %s", answer.Code, answer.Body)
		}
		if got := answer.Header().Get("X-Trident-Ignored-Fields"); got != "system[0]" {
			t.Errorf("ignored: %q", got)
		}
		prompt := f.prompt(t)
		if !strings.HasPrefix(prompt, before) || prompt == before {
			t.Fatalf("turn %d:\n%s\nbefore:\n%s", n, prompt, before)
		}
		before = prompt
	}
	if !strings.Contains(before, `<assistant><think>step 19</think>Now.[Bash {"z": 1, "command": "ls 19"}]</><tool>out 19</><user>reminder 19</>`) {
		t.Errorf("the last prompt is %s", before)
	}
	compacted := strings.Replace(toolTurns(0), `Begin.`, `This session is being continued: a summary.`, 1)
	if answer := f.post(t, "/v1/messages", compacted); answer.Code != http.StatusOK {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	head, _, _ := strings.Cut(before, "Begin.")
	if prompt := f.prompt(t); !strings.HasPrefix(prompt, head) || !strings.Contains(head, "You are an agent.") {
		t.Errorf("after the compaction: %s", prompt)
	}
}

// TestSystemInTheMiddle checks that a system message in the middle of the conversation reaches a chat template that
// has only one system message, at its place: the prompt of the previous turn stays a prefix.
func TestSystemInTheMiddle(t *testing.T) {
	params := abilities()
	params["trident.chat_template"] = `{% if messages[0].role == 'system' %}S:{{ messages[0].content }};{% set messages = messages[1:] %}{% endif %}` +
		`{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('system must be first') }}{% endif %}{{ m.role }}:{{ m.content }};{% endfor %}`
	f := serve(t, Config{}, inferencetest.StreamText("x"), params)
	const before = `{"role":"user","content":"b"},{"role":"assistant","content":"c"}`
	for messages, want := range map[string]string{
		before + `,{"role":"user","content":"e"}`: "S:a;user:b;assistant:c;user:e;",
		before + `,{"role":"system","content":"x-anthropic-billing-header: z\nd"},{"role":"user","content":"e"}`: "S:a;user:b;assistant:c;user:<system>\nd\n</system>\n\ne;",
		before + `,{"role":"user","content":"e"},{"role":"system","content":[{"type":"text","text":"d"}]}`:       "S:a;user:b;assistant:c;user:e\n\n<system>\nd\n</system>;",
	} {
		if answer := f.post(t, "/v1/messages", request("["+messages+"]", `,"system":"a"`)); answer.Code != http.StatusOK || f.prompt(t) != want {
			t.Errorf("%d %s: the prompt is %q, want %q", answer.Code, answer.Body, f.prompt(t), want)
		}
	}
}
