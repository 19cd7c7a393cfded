package openai

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

const customTools2 = `"tools":[{"type":"function","function":{"name":"now"}},{"type":"custom","custom":{"name":"run","description":"D","format":{"type":"grammar","grammar":{"syntax":"regex","definition":"[a-z\n]+"}}}}]`

// TestCustomToolsOfChats checks calls of custom tools in non-streaming and in streamed chats.
func TestCustomToolsOfChats(t *testing.T) {
	const run = `<tool_call>{"name": "run", "arguments": {"input": "a\nb"}}</tool_call>`
	const now = `<tool_call>{"name": "now", "arguments": {}}</tool_call>`
	server, _ := serveTools(t, inferencetest.StreamText(strings.Split(run+now+run, "")...))
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(customTools2))
	openaitest.WantDocument(t, "CreateChatCompletionResponse", body)
	const call = `{"custom":{"input":"a\nb","name":"run"},"id":"call_1","type":"custom"}`
	want := `"tool_calls":[` + call + `,{"function":{"arguments":"{}","name":"now"},"id":"call_1","type":"function"},` + call + `]`
	if got := callID.ReplaceAllString(body, `"id":"call_1"`); resp.StatusCode != http.StatusOK || !strings.Contains(got, want) || !strings.Contains(got, `"finish_reason":"tool_calls"`) {
		t.Errorf("%d %s", resp.StatusCode, got)
	}
	if got := resp.Header.Get("X-Trident-Ignored-Fields"); got != "tools[1].custom.format" {
		t.Errorf("ignored %q", got)
	}

	_, body = openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"stream":true,`+customTools2))
	var calls []string
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		openaitest.WantDocument(t, "CreateChatCompletionStreamResponse", data)
		if _, rest, found := strings.Cut(callID.ReplaceAllString(data, `"id":"call_1"`), `"tool_calls":`); found {
			rest, _, _ = strings.Cut(rest, `},"logprobs"`)
			calls = append(calls, rest)
		}
	}
	piece := func(index, text string) string { return `[{"index":` + index + `,"custom":{"input":"` + text + `"}}]` }
	head := func(index string) string {
		return `[{"index":` + index + `,"id":"call_1","type":"custom","custom":{"name":"run","input":""}}]`
	}
	wanted := []string{
		head("0"), piece("0", "a"), piece("0", `\n`), piece("0", "b"),
		`[{"index":1,"id":"call_1","type":"function","function":{"name":"now","arguments":""}}]`, `[{"index":1,"function":{"arguments":"{"}}]`, `[{"index":1,"function":{"arguments":"}"}}]`,
		head("2"), piece("2", "a"), piece("2", `\n`), piece("2", "b"),
	}
	if !slices.Equal(calls, wanted) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(calls, "\n"), strings.Join(wanted, "\n"))
	}
}

// TestCustomInputAtTheEnd checks a streamed input that is known only at the end of the call.
func TestCustomInputAtTheEnd(t *testing.T) {
	server, _ := serveTools(t, inferencetest.StreamText(`<tool_call>{"name": "run", "arguments": {"code": "a"}}</tool_call>`))
	_, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"stream":true,`+customTools2))
	if at, finish := strings.Index(body, `"custom":{"input":"a"}`), strings.Index(body, `"finish_reason":"tool_calls"`); at < 0 || finish < at {
		t.Errorf("%s", body)
	}
}

// TestForcedCustomToolOfChats checks that a forced call of a custom tool is constrained to its format.
func TestForcedCustomToolOfChats(t *testing.T) {
	for _, choice := range []string{`{"type":"custom","custom":{"name":"run"}}`, `"required"`} {
		server, engine := serveTools(t, inferencetest.StreamText("a\n", "b"))
		tools := customTools2
		if choice == `"required"` {
			tools = strings.Replace(tools, `{"type":"function","function":{"name":"now"}},`, "", 1)
		}
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"tool_choice":`+choice+`,`+tools))
		sent := inferencetest.Input(engine.Requests()[0], "sampling_parameters")
		if resp.Header.Get("X-Trident-Ignored-Fields") != "" || !strings.Contains(sent, `regex`) || !strings.Contains(body, `"custom":{"input":"a\nb","name":"run"}`) {
			t.Errorf("%s: sent %s, ignored %q\ngot %s", choice, sent, resp.Header.Get("X-Trident-Ignored-Fields"), body)
		}
	}
}

// TestCustomCallsInHistories checks that templates get earlier calls of custom tools as calls of
// functions.
func TestCustomCallsInHistories(t *testing.T) {
	messages, err := DecodeMessages([]byte(`[{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"run","input":"a\n\"b"}}]}]`))
	if err != nil || len(messages[0].ToolCalls) != 1 {
		t.Fatalf("%v %v", messages, err)
	}
	if call := messages[0].ToolCalls[0]; call.ID != "c" || call.Name != "run" || string(call.Arguments) != `{"input":"a\n\"b"}` || call.Malformed {
		t.Errorf("%+v", call)
	}
}

// TestCustomToolWithoutName checks that an empty name is refused by the field that has it.
func TestCustomToolWithoutName(t *testing.T) {
	server, _ := serveTools(t, inferencetest.StreamText("x"))
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"tools":[{"type":"custom","custom":{"name":""}}]`))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"tools[0].custom.name"`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
