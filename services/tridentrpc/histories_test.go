package tridentrpc_test

import (
	"net/http"
	"testing"

	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestHistories checks that the prompts of typed chats have malformed tool calls as the model wrote
// them. Leading messages become one where the template has one place for them.
func TestHistories(t *testing.T) {
	const template = `{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('one system message') }}{% endif %}` +
		`<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}{{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}{% endfor %}{% endfor %}`
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("x"), map[string]string{"trident.chat_template": template})
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, engine), auth.Config{})
	for arguments, want := range map[string]string{
		`{\"a\": 1}`: `{"a": 1}`, `Oslo`: `Oslo`, `{\"a\": [`: `{"a": [`, `{\"a\": 1, \"a\": 2}`: `{"a": 1, "a": 2}`, ``: `{}`, `[1]`: `[1]`,
	} {
		body := `{"model":"chat","messages":[{"role":"ROLE_SYSTEM","content":"S"},{"role":"ROLE_DEVELOPER","content":"D"},{"role":"ROLE_USER","content":"u"},` +
			`{"role":"ROLE_ASSISTANT","toolCalls":[{"id":"c","name":"f","arguments":"` + arguments + `"}]},{"role":"ROLE_TOOL","toolCallId":"c","content":"r"}]}`
		status, text := postJSON(t, httpClient, address+tridentv1connect.ChatServiceChatProcedure, body)
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", arguments, status, text)
			continue
		}
		requests := engine.Requests()
		if got, want := inferencetest.Input(requests[len(requests)-1], "text_input"), "<system>S\n\nD<user>u<assistant>"+want+"<tool>r"; got != want {
			t.Errorf("%s: got %q, want %q", arguments, got, want)
		}
	}
}
