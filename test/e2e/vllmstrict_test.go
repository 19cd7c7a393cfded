package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// emptySettings returns the path of a new file of settings without any.
func emptySettings(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trident.yaml")
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// vllmStrict checks that a call that the model makes by itself has arguments that match the schema of
// a strict tool, if the engine is known to run xgrammar. Otherwise the response's header names the
// field. Models continue what a chat repeats: here it repeats a call with other arguments.
//
// A request with parallel_tool_calls false would be cancelled after its first call, and the engine
// would still run it when the next one comes. vLLM 0.13 ends without a GPU if one batch has requests
// with and without a constraint: it pins the memory of their indices, which needs CUDA. So each
// request here ends by itself.
func vllmStrict(t *testing.T, c contract, model string) {
	t.Helper()
	if backend := os.Getenv("VLLM_MODEL_JSON"); strings.Contains(backend, "guidance") || strings.Contains(backend, "outlines") {
		t.Skip("the engine runs no xgrammar, which alone enforces structural tags")
	}
	const call = "<tool_call>\n{\"name\": \"now\", \"arguments\": {\"zone\": 5}}\n</tool_call>"
	const field, zones = "tools[0].function.strict", `{"type":"object","properties":{"in":{"type":"string","enum":["Rome","Oslo"]}},"required":["in"],"additionalProperties":false}`
	var messages []object
	for range 4 {
		messages = append(messages, object{"role": "user", "content": call}, object{"role": "assistant", "content": call})
	}
	body := ask("", "model", model, "temperature", 0, "max_tokens", 60, "messages", messages[:7],
		"tools", []object{{"type": "function", "function": object{"name": "now", "strict": true, "parameters": json.RawMessage(zones)}}})
	set := func(settings object, ignored string) (last answer) {
		file, err := json.Marshal(object{"models": object{model: settings}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.settings, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if !poll(startLimit, func() bool {
			last = c.post(t, "/v1/chat/completions", body)
			return last.status == http.StatusOK && last.header.Get("X-Trident-Ignored-Fields") == ignored
		}) {
			t.Fatalf("with %s the response is %d %s, and ignores %q", file, last.status, last.body, last.header.Get("X-Trident-Ignored-Fields"))
		}
		return last
	}
	set(object{"tool-call-parser": "hermes"}, field)
	type chat struct {
		Choices []struct {
			Message struct {
				ToolCalls []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
	check := func(got chat) {
		t.Helper()
		calls := got.Choices[0].Message.ToolCalls
		if len(calls) == 0 {
			t.Errorf("the response has no call: %+v", got)
		}
		for _, call := range calls {
			if f := call.Function; f.Name != "now" || !slices.Contains([]string{`{"in":"Rome"}`, `{"in":"Oslo"}`}, strings.ReplaceAll(f.Arguments, " ", "")) {
				t.Errorf("a call has arguments that don't match the schema: %+v", f)
			}
		}
	}
	check(decode[chat](t, set(object{"tool-call-parser": "hermes", "structured-outputs": "xgrammar"}, "")))
	// A forced call is in the model's own form, which is a structural tag, too.
	body["tool_choice"] = object{"type": "function", "function": object{"name": "now"}}
	check(decode[chat](t, c.post(t, "/v1/chat/completions", body).want(t, http.StatusOK)))
	delete(body, "tool_choice")
	for _, tag := range []string{`{"structures": [], "triggers": []}`, `{"structures": [{"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}], "triggers": ["<g"]}`} {
		invalid := ask("Hi", "model", model, "max_tokens", 8, "structured_outputs", object{"structural_tag": tag})
		if e := c.post(t, "/v1/chat/completions", invalid).want(t, http.StatusBadRequest).failure(t); text(e.Param) != "structured_outputs.structural_tag" {
			t.Errorf("%s: param %s: %s", tag, text(e.Param), text(e.Message))
		}
	}
	set(object{"tool-call-parser": "hermes", "structured-outputs": "auto"}, field)
}
