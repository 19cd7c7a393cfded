package openai

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/serving"
)

// serveTools is serve with a model that has Hermes's tool calls and Qwen 3's
// reasoning.
func serveTools(t *testing.T, script inferencetest.Script) (*httptest.Server, *inferencetest.Engine) {
	t.Helper()
	engine := inferencetest.New()
	engine.AddModel("chat", script, map[string]string{
		"trident.chat_template": inferencetest.ChatTemplate, "trident.tool_call_parser": "hermes", "trident.reasoning_parser": "qwen3",
	})
	server := httptest.NewServer(newHandler(Config{}, inferencetest.Service(t, serving.Config{}, engine), newValidator(t)))
	t.Cleanup(server.Close)
	return server, engine
}

const twoTools = `"tools":[{"type":"function","function":{"name":"get","strict":true,"parameters":{"type":"object","properties":{"city":{"type":"string"}}}}},{"type":"function","function":{"name":"now"}}]`

// allowedNow is an entry of allowed_tools in a chat.
const allowedNow = `{"type":"function","function":{"name":"now"}}`

// callID matches the ids, which differ between calls.
var callID = regexp.MustCompile(`"id":"call_\w{24,}"`)

func TestToolCalls(t *testing.T) {
	const get = `{"function":{"arguments":"{\"city\": \"Paris\"}","name":"get"},"id":"call_1","type":"function"}`
	const now = `{"function":{"arguments":"{}","name":"now"},"id":"call_1","type":"function"}`
	tests := []struct {
		name, fields string
		say          []string
		message      string
		finish       string
	}{
		{
			"parallel", twoTools,
			[]string{`<tool_call>{"name": "get", "argum`, `ents": {"city": "Paris"}}</tool_call><tool_call>{"name": "now", "arguments": {}}</tool_call>`},
			`{"content":null,"refusal":null,"role":"assistant","tool_calls":[` + get + `,` + now + `]}`, "tool_calls",
		},
		{
			"arguments in several responses", twoTools,
			[]string{`<tool_call>{"name": "get", "arguments": {"ci`, `ty": "Pa`, `ris"}}</tool_call>`},
			`{"content":null,"refusal":null,"role":"assistant","tool_calls":[` + get + `]}`, "tool_calls",
		},
		{
			"one alone", twoTools + `,"parallel_tool_calls":false`,
			[]string{`<tool_call>{"name": "now", "arguments": {}}</tool_call>`, `<tool_call>{"name": "now", "arguments": {}}</tool_call>`},
			`{"content":null,"refusal":null,"role":"assistant","tool_calls":[` + now + `]}`, "tool_calls",
		},
		{
			"with text and reasoning", twoTools + `,"tool_choice":"auto"`,
			[]string{"<think>Hm</think>", "Wait.", `<tool_call>{"name": "now", "arguments": {}}</tool_call>`},
			`{"content":"Wait.","reasoning":"Hm","reasoning_content":"Hm","refusal":null,"role":"assistant","tool_calls":[` + now + `]}`, "tool_calls",
		},
		{
			"required", twoTools + `,"tool_choice":"required"`,
			[]string{`[{"name": "now", "arguments": {}}]`},
			`{"content":null,"refusal":null,"role":"assistant","tool_calls":[` + now + `]}`, "tool_calls",
		},
		{
			"named", twoTools + `,"tool_choice":{"type":"function","function":{"name":"get"}}`,
			[]string{`{"city": "Paris"}`},
			`{"content":null,"refusal":null,"role":"assistant","tool_calls":[` + get + `]}`, "tool_calls",
		},
		{"none", twoTools + `,"tool_choice":"none"`, []string{"<tool_call>"}, `{"content":"\u003ctool_call\u003e","refusal":null,"role":"assistant"}`, "stop"},
		{"reasoning alone", "", []string{"<think>Hm", "m</think>Yes"}, `{"content":"Yes","reasoning":"Hmm","reasoning_content":"Hmm","refusal":null,"role":"assistant"}`, "stop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, _ := serveTools(t, inferencetest.StreamText(tt.say...))
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(tt.fields))
			var answer struct {
				Choices []struct {
					Message      map[string]any
					FinishReason string `json:"finish_reason"`
				}
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil || resp.StatusCode != http.StatusOK || len(answer.Choices) != 1 {
				t.Fatalf("%d %s %v", resp.StatusCode, body, err)
			}
			message, err := json.Marshal(answer.Choices[0].Message)
			if err != nil {
				t.Fatal(err)
			}
			if got := callID.ReplaceAllString(string(message), `"id":"call_1"`); got != tt.message || answer.Choices[0].FinishReason != tt.finish {
				t.Errorf("got %s, %s", got, answer.Choices[0].FinishReason)
			}
		})
	}
}

func TestStreamedToolCalls(t *testing.T) {
	role := chunk(`{"content":"","refusal":null,"role":"assistant"}`, "null", "")
	tests := []struct {
		name, fields string
		say          []string
		want         []string
	}{
		{
			"calls", twoTools,
			[]string{`<tool_call>{"name": "get", "arguments": {"city": "Pa`, `ris"}}</tool_call>`, `<tool_call>{"name": "now", "arguments": {}}</tool_call>`},
			[]string{
				chunk(`{"content":null,"refusal":null,"role":"assistant"}`, "null", ""),
				chunk(`{"tool_calls":[{"function":{"arguments":"","name":"get"},"id":"call_1","index":0,"type":"function"}]}`, "null", ""),
				chunk(`{"tool_calls":[{"function":{"arguments":"{\"city\": \"Pa"},"index":0}]}`, "null", ""),
				chunk(`{"tool_calls":[{"function":{"arguments":"ris\"}"},"index":0}]}`, "null", ""),
				chunk(`{"tool_calls":[{"function":{"arguments":"","name":"now"},"id":"call_1","index":1,"type":"function"}]}`, "null", ""),
				chunk(`{"tool_calls":[{"function":{"arguments":"{}"},"index":1}]}`, "null", ""),
				chunk(`{}`, `"tool_calls"`, ""), "[DONE]",
			},
		},
		{
			"reasoning, text and a call", twoTools,
			[]string{"<think>Hm \"", "m</think>", "Wait.", `<tool_call>{"name": "now", "arguments": {}}</tool_call>`},
			[]string{
				role, chunk(`{"reasoning":"Hm \"","reasoning_content":"Hm \""}`, "null", ""), chunk(`{"reasoning":"m","reasoning_content":"m"}`, "null", ""), chunk(`{"content":"Wait."}`, "null", ""),
				chunk(`{"tool_calls":[{"function":{"arguments":"","name":"now"},"id":"call_1","index":0,"type":"function"}]}`, "null", ""),
				chunk(`{"tool_calls":[{"function":{"arguments":"{}"},"index":0}]}`, "null", ""),
				chunk(`{}`, `"tool_calls"`, ""), "[DONE]",
			},
		},
		{"text", twoTools, []string{"Hel", "lo"}, []string{role, chunk(`{"content":"Hel"}`, "null", ""), chunk(`{"content":"lo"}`, "null", ""), chunk(`{}`, `"stop"`, ""), "[DONE]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, _ := serveTools(t, inferencetest.StreamText(tt.say...))
			_, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(tt.fields+`,"stream":true`))
			list := events(body)
			for i := range list {
				list[i] = callID.ReplaceAllString(masked(t, list[i]), `"id":"call_1"`)
			}
			if got, want := strings.Join(list, "\n"), strings.Join(tt.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestAllowedTools checks what the model gets for a tool choice of allowed tools: all tools in the
// prompt, and a constraint to calls of these tools.
func TestAllowedTools(t *testing.T) {
	const all = allowedNow + `,{"type":"function","function":{"name":"get"}},{"type":"custom","custom":{"name":"patch"}},` + allowedNow
	tools := strings.TrimSuffix(twoTools, "]") + `,{"type":"custom","custom":{"name":"patch"}}]`
	for _, tt := range []struct {
		name, allowed string
		sent          string // part of the sampling parameters, or "" for no constraint
		others        string // must not be in them
	}{
		{"required", `"mode":"required","tools":[` + allowedNow + `]`, `{\"const\":\"now\"}`, `{\"const\":\"get\"}`},
		{"auto", `"mode":"auto","tools":[` + allowedNow + `]`, `\"regex\":`, "get"},
		{"a custom tool", `"mode":"required","tools":[{"type":"custom","custom":{"name":"patch"}}]`, `{\"const\":\"patch\"}`, `{\"const\":\"now\"}`},
		{"auto, all", `"mode":"auto","tools":[` + all + `]`, "", "structured_outputs"},
		{"required, all", `"mode":"required","tools":[` + all + `]`, `{\"const\":\"get\"}`, "$defs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, engine := serveTools(t, inferencetest.StreamText("x"))
			prompt := func(fields string) (prompt, sampling string) {
				resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(fields))
				if resp.StatusCode != http.StatusOK {
					t.Fatalf("%d %s", resp.StatusCode, body)
				}
				sent := engine.Requests()
				last := sent[len(sent)-1]
				return inferencetest.Input(last, "text_input"), inferencetest.Input(last, "sampling_parameters")
			}
			want, _ := prompt(tools)
			got, sampling := prompt(tools + `,"tool_choice":{"type":"allowed_tools","allowed_tools":{` + tt.allowed + `}}`)
			if got != want || !strings.Contains(sampling, tt.sent) || strings.Contains(sampling, tt.others) {
				t.Errorf("prompt %q instead of %q, sampling %s", got, want, sampling)
			}
		})
	}
}

// TestStrictTools checks that a strict tool whose arguments the engine doesn't constrain is named in
// the header of the response, streaming and not, and refused with --strict. With an engine that
// runs xgrammar it is neither.
func TestStrictTools(t *testing.T) {
	serve := func(cfg Config, backend string) string {
		engine := inferencetest.New()
		engine.AddModel("chat", inferencetest.StreamText("x"), map[string]string{
			"trident.chat_template": inferencetest.ChatTemplate, "trident.tool_call_parser": "hermes", "trident.structured_outputs": backend,
		})
		server := httptest.NewServer(newHandler(cfg, inferencetest.Service(t, serving.Config{}, engine), newValidator(t)))
		t.Cleanup(server.Close)
		return server.URL + chatPath
	}
	const field = "tools[0].function.strict"
	for _, stream := range []string{"", `,"stream":true`} {
		for backend, want := range map[string]string{"auto": field, "xgrammar": ""} {
			resp, body := openaitest.Do(t, http.MethodPost, serve(Config{}, backend), ask(twoTools+stream))
			if got := resp.Header.Get("X-Trident-Ignored-Fields"); resp.StatusCode != http.StatusOK || got != want {
				t.Errorf("%s%s: %d, ignored %q: %s", backend, stream, resp.StatusCode, got, body)
			}
		}
		resp, body := openaitest.Do(t, http.MethodPost, serve(Config{Strict: true}, "auto"), ask(twoTools+stream))
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"`+field+`"`) || !strings.Contains(body, "trident.structured_outputs must be xgrammar") {
			t.Errorf("strict%s: %d %s", stream, resp.StatusCode, body)
		}
		if resp, body := openaitest.Do(t, http.MethodPost, serve(Config{Strict: true}, "xgrammar"), ask(twoTools+stream)); resp.StatusCode != http.StatusOK {
			t.Errorf("strict, xgrammar%s: %d %s", stream, resp.StatusCode, body)
		}
	}
	resp, body := openaitest.Do(t, http.MethodPost, serve(Config{}, "auto"), ask(`"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"nonsense"}}}]`))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"tools[0].function.parameters"`) {
		t.Errorf("a strict tool with an invalid schema: %d %s", resp.StatusCode, body)
	}
}
