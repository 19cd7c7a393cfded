package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/test/tier"
)

// TestDemoAllowedTools checks that the demo calls only the tools that tool_choice allows, on each
// API. With auto, the model may also answer with text. The check tier allows the last tool only.
func TestDemoAllowedTools(t *testing.T) {
	t.Parallel()
	s := serving(t)
	function := func(name string) object {
		return object{"name": name, "parameters": json.RawMessage(lookupParameters)}
	}
	names := []string{"lookup", "delete", "search"}
	for _, mode := range []string{"required", "auto"} {
		for _, name := range names[tier.Size(len(names)-1, 0):] {
			chat := ask("Where is the Forum?", "max_tokens", 60, "temperature", 0, "tool_choice", object{
				"type": "allowed_tools", "allowed_tools": object{"mode": mode, "tools": []object{{"type": "function", "function": object{"name": name}}}},
			})
			response := object{
				"model": "chat", "input": "Where is the Forum?", "max_output_tokens": 60, "temperature": 0,
				"tool_choice": object{"type": "allowed_tools", "mode": mode, "tools": []object{{"type": "function", "name": name}}},
			}
			typed := offer{"Where is the Forum?", mode, ""}.typed()
			typed.Tools, typed.ToolChoice.AllowedFunctions = nil, []string{name}
			var nested, flat []object
			for _, n := range names {
				nested = append(nested, object{"type": "function", "function": function(n)})
				flat = append(flat, object{"type": "function", "name": n, "parameters": json.RawMessage(lookupParameters)})
				typed.Tools = append(typed.Tools, &tridentv1.Tool{Tool: &tridentv1.Tool_Function{Function: &tridentv1.FunctionTool{Name: n, Parameters: lookupParameters}}})
			}
			chat["tools"], response["tools"] = nested, flat
			answer, err := tridentv1connect.NewChatServiceClient(client, s.url).Chat(t.Context(), typed)
			if err != nil {
				t.Fatal(err)
			}
			for surface, got := range map[string]called{
				"chat":     ofMessages(t, []json.RawMessage{s.post(t, "/v1/chat/completions", chat).want(t, http.StatusOK).body}),
				"response": ofResponse(t, s.post(t, responsesPath, response).want(t, http.StatusOK).body),
				"typed":    ofTyped(answer),
			} {
				if got.name != name && (mode == "required" || got.name != "") {
					t.Errorf("%s, %s of %s: %+v", surface, mode, name, got)
				}
			}
		}
	}
}

// TestDemoForbiddenCall checks that the demo can't call a tool that tool_choice doesn't allow. Models
// continue what a chat repeats: here it repeats a call, which the model makes again unless the call
// is forbidden.
func TestDemoForbiddenCall(t *testing.T) {
	t.Parallel()
	s := serving(t)
	const call = "<tool_call>\n{\"name\": \"delete\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>"
	var messages []object
	for range 4 {
		messages = append(messages, object{"role": "user", "content": call}, object{"role": "assistant", "content": call})
	}
	tools := []object{}
	for _, name := range []string{"lookup", "delete"} {
		tools = append(tools, object{"type": "function", "function": object{"name": name, "parameters": json.RawMessage(lookupParameters)}})
	}
	body := ask("", "messages", messages[:7], "tools", tools, "temperature", 0, "max_tokens", 60, "parallel_tool_calls", false)
	if got := ofMessages(t, []json.RawMessage{s.post(t, "/v1/chat/completions", body).want(t, http.StatusOK).body}); got.name != "delete" {
		t.Fatalf("the model doesn't repeat the call: %+v", got)
	}
	body["tool_choice"] = object{"type": "allowed_tools", "allowed_tools": object{"mode": "auto", "tools": []object{{"type": "function", "function": object{"name": "lookup"}}}}}
	got := ofMessages(t, []json.RawMessage{s.post(t, "/v1/chat/completions", body).want(t, http.StatusOK).body})
	if got.name != "lookup" && got.name != "" || strings.Contains(got.text, `"delete"`) {
		t.Errorf("with the tool forbidden: %+v", got)
	}
}
