package responses_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

// Tools in the forms in which Codex CLI 0.169.0 sends them: the tools of an MCP server, and a freeform
// tool with a grammar.
const (
	weatherTools = `{"type":"namespace","name":"mcp__weather","description":"Weather of cities.","tools":[` +
		`{"type":"function","name":"cities","description":"List","strict":false,"parameters":{"type":"object","properties":{}}},` +
		`{"type":"function","name":"forecast","strict":false,"parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]}`
	patchTool  = `{"type":"custom","name":"apply_patch","description":"Edits files.","format":{"type":"grammar","syntax":"lark","definition":"start: \"x\"\n"}}`
	plainTool  = `{"type":"function","name":"now","parameters":{"type":"object","properties":{}}}`
	codexTools = `"tools":[` + plainTool + `,` + weatherTools + `,` + patchTool + `]`
)

const ignoredHeader = "X-Trident-Ignored-Fields"

// functions returns the names and descriptions of the functions in the last prompt of the model chat.
func functions(t *testing.T, engine *inferencetest.Engine) (names []string, described map[string]string) {
	t.Helper()
	_, raw, _ := strings.Cut(lastPrompt(engine), "}][{")
	var list []struct {
		Function struct{ Name, Description string }
	}
	if err := json.Unmarshal([]byte("[{"+raw), &list); err != nil {
		t.Fatalf("%v in %s", err, lastPrompt(engine))
	}
	described = map[string]string{}
	for _, f := range list {
		names = append(names, f.Function.Name)
		described[f.Function.Name] = f.Function.Description
	}
	return names, described
}

func lastPrompt(engine *inferencetest.Engine) string {
	requests := engine.Requests()
	return inferencetest.Input(requests[len(requests)-1], "text_input")
}

// ask sends a request that must succeed, and returns the response without random ids.
func ask(t *testing.T, url, fields string) (http.Header, string) {
	t.Helper()
	resp, body := openaitest.Do(t, http.MethodPost, url+responsePath, respond(fields))
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", fields, resp.StatusCode, body)
	}
	openaitest.WantDocument(t, "Response", body)
	return resp.Header, body
}

// TestToolForms checks the functions that a model sees of the tools of Codex CLI.
func TestToolForms(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText("x"))
	header, body := ask(t, server.URL, `"input":"hi",`+codexTools)
	names, described := functions(t, engine)
	if !slices.Equal(names, []string{"now", "mcp__weather__cities", "mcp__weather__forecast", "apply_patch"}) {
		t.Errorf("%q", names)
	}
	if got := described["mcp__weather__cities"]; got != "List\n\nAbout all tools whose names start with mcp__weather__: Weather of cities." {
		t.Errorf("%q", got)
	}
	if got := described["apply_patch"]; !strings.HasPrefix(got, "Edits files.\n\n") || !strings.HasSuffix(got, "Lark:\nstart: \"x\"\n") {
		t.Errorf("%q", got)
	}
	if !strings.Contains(lastPrompt(engine), `"parameters": {"type": "object", "properties": {"input": {"type": "string", "description": "The whole input of the tool, as plain text."}}, "required": ["input"], "additionalProperties": false}`) {
		t.Errorf("%s", lastPrompt(engine))
	}
	if got := header.Get(ignoredHeader); got != "tools[2].format" {
		t.Errorf("ignored: %s", got)
	}
	if !strings.Contains(body, `"tools":[{"description":null,"name":"now"`) || !strings.Contains(body, weatherTools+","+patchTool) {
		t.Errorf("%s", body)
	}
}

// TestToolCalls checks the items and the events of calls of the tools of Codex CLI.
func TestToolCalls(t *testing.T) {
	call := func(name, arguments string) string {
		return `<tool_call>{"name": "` + name + `", "arguments": ` + arguments + `}</tool_call>`
	}
	const patch = `{"input": "*** \"a\"\n+\u00e9"}`
	custom := `{"call_id":"call_","id":"ctc_","input":"*** \"a\"\n+é","name":"apply_patch","status":"completed","type":"custom_tool_call"}`
	for _, tt := range []struct{ name, says, want string }{
		{"of a namespace", call("mcp__weather__forecast", `{"city": "Oslo"}`), `{"arguments":"{\"city\": \"Oslo\"}","call_id":"call_","id":"fc_","name":"forecast","namespace":"mcp__weather","status":"completed","type":"function_call"}`},
		{"of a namespace, without it", call("forecast", `{}`), `{"arguments":"{}","call_id":"call_","id":"fc_","name":"forecast","namespace":"mcp__weather","status":"completed","type":"function_call"}`},
		{"of no namespace", call("now", `{}`), `{"arguments":"{}","call_id":"call_","id":"fc_","name":"now","status":"completed","type":"function_call"}`},
		{"custom", call("apply_patch", patch), custom},
		{"custom, with another key", call("apply_patch", `{"patch": "a"}`), `{"call_id":"call_","id":"ctc_","input":"a","name":"apply_patch","status":"completed","type":"custom_tool_call"}`},
		{"two", call("apply_patch", patch) + call("now", `{}`), custom + `,{"arguments":"{}","call_id":"call_","id":"fc_","name":"now","status":"completed","type":"function_call"}`},
		{"custom twice", call("apply_patch", patch) + call("apply_patch", patch), custom + "," + custom},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, _ := serveResponses(t, openai.Default(), inferencetest.StreamText(strings.Split(tt.says, "")...))
			_, body := ask(t, server.URL, `"input":"hi",`+codexTools)
			if got := maskItems(body); !strings.Contains(got, `"output":[`+tt.want+`]`) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
			_, body = openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","stream":true,`+codexTools))
			events := typedEvents(t, body)
			if got := maskItems(string(events[len(events)-1].Response)); !strings.Contains(got, `"output":[`+tt.want+`]`) {
				t.Errorf("streamed %s", got)
			}
			checkInputs(t, events)
		})
	}
}

// maskItems masks all random ids.
func maskItems(s string) string { return customID.ReplaceAllString(maskIDs(s), "${1}_") }

// checkInputs checks that the pieces of each custom tool's input make up the whole.
func checkInputs(t *testing.T, events []event) {
	t.Helper()
	pieces, input := "", struct{ Input string }{}
	for _, e := range events {
		switch e.Type {
		case "response.custom_tool_call_input.delta":
			pieces += e.Delta
			if e.Delta == "" {
				t.Errorf("empty: %s", e.raw)
			}
		case "response.custom_tool_call_input.done":
			if err := json.Unmarshal([]byte(e.raw), &input); err != nil || input.Input != pieces {
				t.Errorf("pieces %q, whole %q, %v", pieces, input.Input, err)
			}
			pieces = ""
		}
	}
}

// TestCustomCallEvents checks each event of a call of a custom tool.
func TestCustomCallEvents(t *testing.T) {
	server, _ := serveResponses(t, openai.Default(), inferencetest.StreamText(`<tool_call>{"name": "apply_patch", "arguments": `, `{"input": "a`, `b\`, `nc"}`, `}</tool_call>`))
	_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","stream":true,`+codexTools))
	var got []string
	for _, e := range typedEvents(t, body) {
		if e.Response == nil {
			got = append(got, maskItems(e.raw))
		}
	}
	want := []string{
		`{"type":"response.output_item.added","output_index":0,"item":{"call_id":"call_","id":"ctc_","input":"","name":"apply_patch","status":"in_progress","type":"custom_tool_call"},"sequence_number":2}`,
		`{"type":"response.custom_tool_call_input.delta","item_id":"ctc_","output_index":0,"delta":"a","sequence_number":3}`,
		`{"type":"response.custom_tool_call_input.delta","item_id":"ctc_","output_index":0,"delta":"b","sequence_number":4}`,
		`{"type":"response.custom_tool_call_input.delta","item_id":"ctc_","output_index":0,"delta":"\nc","sequence_number":5}`,
		`{"type":"response.custom_tool_call_input.done","item_id":"ctc_","output_index":0,"input":"ab\nc","sequence_number":6}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"call_id":"call_","id":"ctc_","input":"ab\nc","name":"apply_patch","status":"completed","type":"custom_tool_call"},"sequence_number":7}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestCutCustomCall checks a call of a custom tool that reaches the limit of tokens.
func TestCutCustomCall(t *testing.T) {
	server, _ := serveResponses(t, openai.Default(), inferencetest.StreamText(`<tool_call>{"name": "apply_patch", "arguments": {"input": "a\`))
	_, body := ask(t, server.URL, `"input":"hi",`+codexTools)
	if got := maskItems(body); !strings.Contains(got, `"input":"a","name":"apply_patch"`) {
		t.Errorf("%s", got)
	}
}

// TestForcedCustomCall checks that a forced call of a custom tool is constrained to its only argument,
// and that a forced tool of a namespace may have either name.
func TestForcedCustomCall(t *testing.T) {
	for _, tt := range []struct{ name, choice, says, constraint, output string }{
		{"custom", `{"type":"custom","name":"apply_patch"}`, `{"input":"x"}`, `"required":["input"]`, `"input":"x","name":"apply_patch"`},
		{"of a namespace", `{"type":"function","name":"forecast"}`, `{"city":"Oslo"}`, `"city"`, `"name":"forecast","namespace":"mcp__weather"`},
		{"of a namespace by its whole name", `{"type":"function","name":"mcp__weather__forecast"}`, `{"city":"Oslo"}`, `"city"`, `"name":"forecast","namespace":"mcp__weather"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText(tt.says))
			_, body := ask(t, server.URL, `"input":"hi","tool_choice":`+tt.choice+`,`+codexTools)
			sent := strings.ReplaceAll(inferencetest.Input(engine.Requests()[0], "sampling_parameters"), `\"`, `"`)
			if !strings.Contains(sent, tt.constraint) || !strings.Contains(body, tt.output) || !strings.Contains(body, `"tool_choice":`+tt.choice) {
				t.Errorf("sent %s\ngot %s", sent, body)
			}
		})
	}
}

// TestToolHistory checks the messages of earlier calls, in the forms in which Codex CLI 0.169.0 sends
// them back.
func TestToolHistory(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText("x"))
	const user = `{"role":"user","content":"u"}`
	for _, tt := range []struct{ name, items, prompt, ignored string }{
		{
			"a call of a namespace", `{"type":"function_call","id":"fc_1","name":"forecast","namespace":"mcp__weather","arguments":"{\"city\":\"Oslo\"}","call_id":"c1"},` +
				`{"type":"function_call_output","id":"fco_1","call_id":"c1","output":[{"type":"input_text","text":"Wall time: 1"},{"type":"input_text","text":"rain"}]}`,
			`{"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "mcp__weather__forecast", "arguments": {"city": "Oslo"}}}]}, {"role": "tool", "content": "Wall time: 1\nrain", "tool_call_id": "c1"}`, "",
		},
		{
			"a custom call", `{"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"apply_patch","input":"*** \"a\"\n"},{"type":"custom_tool_call_output","id":"ctco_1","call_id":"c1","output":"Exit code: 0"}`,
			`{"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "apply_patch", "arguments": {"input": "*** \"a\"\n"}}}]}, {"role": "tool", "content": "Exit code: 0", "tool_call_id": "c1"}`, "",
		},
		{
			"an empty output", `{"type":"function_call","name":"now","arguments":"{}","call_id":"c1"},{"type":"function_call_output","call_id":"c1","output":[]},` +
				`{"type":"custom_tool_call","call_id":"c2","name":"exec","input":"1"},{"type":"custom_tool_call_output","call_id":"c2","output":[]}`,
			`{"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "now", "arguments": {}}}]}, {"role": "tool", "content": "", "tool_call_id": "c1"}, ` +
				`{"role": "assistant", "content": "", "tool_calls": [{"id": "c2", "type": "function", "function": {"name": "exec", "arguments": {"input": "1"}}}]}, {"role": "tool", "content": "", "tool_call_id": "c2"}`, "",
		},
		{
			"a local shell", `{"type":"local_shell_call","id":"lsh_1","call_id":"c1","status":"completed","action":{"type":"exec","command":["ls"],"env":{}}},{"type":"local_shell_call_output","id":"c1","output":"a.txt"}`,
			`{"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "local_shell", "arguments": {"type": "exec", "command": ["ls"], "env": {}}}}]}, {"role": "tool", "content": "a.txt", "tool_call_id": "c1"}`, "",
		},
		{
			"a shell", `{"type":"shell_call","call_id":"c1","action":{"commands":["ls"]}},{"type":"shell_call_output","call_id":"c1","output":[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]}`,
			`{"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "shell", "arguments": {"commands": ["ls"]}}}]}, {"role": "tool", "content": "[{\"stdout\":\"a\",\"stderr\":\"\",\"outcome\":{\"type\":\"exit\",\"exit_code\":0}}]", "tool_call_id": "c1"}`, "",
		},
		{
			"a patch", `{"type":"apply_patch_call","call_id":"c1","status":"completed","operation":{"type":"delete_file","path":"a"}},{"type":"apply_patch_call_output","call_id":"c1","status":"failed"}`,
			`{"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "apply_patch", "arguments": {"type": "delete_file", "path": "a"}}}]}, {"role": "tool", "content": "failed", "tool_call_id": "c1"}`, "",
		},
		{
			"a message of an agent", `{"type":"agent_message","id":"amsg_1","author":"/root","recipient":"/root/a","content":[{"type":"input_text","text":"Payload:\n"},{"type":"encrypted_content","encrypted_content":"say hi"}]}`,
			`{"role": "user", "content": "Payload:\nsay hi"}`, "",
		},
		{
			"items without text", `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},{"type":"web_search_call"},{"type":"image_generation_call","id":"ig_1","result":"aGk=","status":"completed"},` +
				`{"type":"tool_search_call","call_id":null,"arguments":{},"execution":"server","status":"completed"},{"type":"local_shell_call"},{"type":"compaction","encrypted_content":"x"},{"type":"context_compaction"},{"role":"assistant","content":"a"}`,
			`{"role": "assistant", "content": "a"}`, "input[1], input[3], input[4], input[5], input[6], input[7]",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header, _ := ask(t, server.URL, `"input":[`+user+`,`+tt.items+`]`)
			if got, want := lastPrompt(engine), `[{"role": "user", "content": "u"}, `+tt.prompt+`]`; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if got := header.Get(ignoredHeader); got != tt.ignored {
				t.Errorf("ignored %q, want %q", got, tt.ignored)
			}
		})
	}
}

// TestToolsLeftOut checks that tools that the server doesn't run are left out and listed, that a strict
// server refuses them, and that extra keys of tools and items are never an error.
func TestToolsLeftOut(t *testing.T) {
	const searches = `"tools":[{"type":"web_search","external_web_access":true},` + plainTool + `,{"type":"tool_search","execution":"client","description":"d","parameters":{}},` +
		`{"type":"web_search","filters":null},{"type":"image_generation"},{"type":"local_shell"},{"type":"code_interpreter","container":{"type":"auto"}},` +
		`{"type":"file_search","vector_store_ids":["v"]},{"type":"computer_use_preview"}]`
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText("x"))
	header, body := ask(t, server.URL, `"input":"hi",`+searches)
	if got := header.Get(ignoredHeader); got != "tools[0], tools[2], tools[4], tools[5], tools[6], tools[7], tools[8]" {
		t.Errorf("ignored: %s", got)
	}
	if names, _ := functions(t, engine); !slices.Equal(names, []string{"now"}) || strings.Contains(body, "web_search") {
		t.Errorf("%q %s", names, body)
	}
	for _, tt := range []struct{ fields, ignored string }{
		{
			`"input":[{"role":"user","content":"u","zeta":1},{"role":"user","content":"u","zeta":2}],"tools":[{"type":"function","name":"f","zeta":{"a":1}},{"type":"custom","name":"g","zeta":1,"format":{"type":"text","zeta":1}}]`,
			"input[0].zeta, tools[0].zeta, tools[1].format.zeta",
		},
		{`"input":"hi","reasoning":{"context":"all_turns"}`, "reasoning.context"},
		{`"input":[{"type":"web_search_call","zeta":1},{"role":"user","content":"u"}]`, "input[0].zeta, input[0]"},
		{
			`"input":"hi","tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f","defer_loading":true,"output_schema":{"type":"object"}},{"type":"function","name":"g","defer_loading":true,"allowed_callers":["programmatic"]}]}]`,
			"tools[0].tools[0].output_schema, tools[0].tools[0].defer_loading, tools[0].tools[1].allowed_callers",
		},
	} {
		if header, _ := ask(t, server.URL, tt.fields); header.Get(ignoredHeader) != tt.ignored {
			t.Errorf("%s: ignored %s", tt.fields, header.Get(ignoredHeader))
		}
	}
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"instructions":"be short","input":[{"type":"web_search_call"}]`))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "input has nothing that the model can read") {
		t.Errorf("only items that are left out: %d %s", resp.StatusCode, body)
	}
	strict, _ := serveResponses(t, openai.Config{Strict: true}, inferencetest.StreamText("x"))
	for fields, want := range map[string]string{
		`"input":"hi","tools":[{"type":"web_search"}]`:        `"message":"tools[0] is a tool of the type web_search, which this server doesn't run: send only functions and custom tools","type":"invalid_request_error","param":"tools[0]"`,
		`"input":[{"type":"web_search_call"}]`:                `"param":"input[0]"`,
		`"input":"hi","tools":[` + patchTool + `]`:            `"param":"tools[0].format"`,
		`"input":"hi","tools":[{"type":"custom","name":"f"}]`: "",
	} {
		resp, body := openaitest.Do(t, http.MethodPost, strict.URL+responsePath, respond(fields))
		if (want == "") != (resp.StatusCode == http.StatusOK) || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", fields, resp.StatusCode, body)
		}
	}
}

// TestAdditionalTools checks that items add tools, that they replace earlier tools of the same name,
// and that requests that continue from the response have them too. The form is that of Codex CLI
// 0.169.0, which adds all of its tools in this way for some models.
func TestAdditionalTools(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText(`<tool_call>{"name": "exec", "arguments": {"input": "1"}}</tool_call>`))
	const added = `{"type":"additional_tools","id":"at_1","role":"developer","tools":[{"type":"namespace","name":"functions","description":"","tools":[` +
		`{"type":"custom","name":"exec","description":"new","format":{"type":"text"}},{"type":"function","name":"wait","parameters":{"type":"object","properties":{"z":{},"a":{}}}}]},{"type":"web_search"}]}`
	header, body := ask(t, server.URL, `"input":[`+added+`,{"role":"user","content":"u"}],"tools":[`+plainTool+`,{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec","description":"old"}]}]`)
	names, described := functions(t, engine)
	if !slices.Equal(names, []string{"now", "exec", "wait"}) || !strings.HasPrefix(described["exec"], "new\n") || !strings.Contains(lastPrompt(engine), `"properties": {"z": {}, "a": {}}`) {
		t.Errorf("%q %q\n%s", names, described, lastPrompt(engine))
	}
	if got := header.Get(ignoredHeader); got != "input[0].tools[1]" {
		t.Errorf("ignored: %s", got)
	}
	if !strings.Contains(body, `"input":"1","name":"exec","namespace":"functions"`) {
		t.Errorf("%s", body)
	}
	var answer struct{ ID string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	ask(t, server.URL, `"previous_response_id":"`+answer.ID+`","input":"go on"`)
	if names, _ := functions(t, engine); !slices.Equal(names, []string{"exec", "wait"}) {
		t.Errorf("continued with %q", names)
	}
	if !strings.Contains(lastPrompt(engine), `"function": {"name": "exec", "arguments": {"input": "1"}}`) {
		t.Errorf("%s", lastPrompt(engine))
	}
	if got := inputItems(t, server, answer.ID, "?order=asc").Data; len(got) != 2 || !strings.Contains(string(got[0]), `"id":"at_1"`) || !strings.Contains(string(got[0]), `"type":"additional_tools"`) {
		t.Errorf("%s", got)
	}
	ask(t, server.URL, `"input":[{"role":"user","content":"u"},{"type":"tool_search_output","call_id":"c","tools":[{"type":"function","name":"found","defer_loading":true}]}]`)
	if names, _ := functions(t, engine); !slices.Equal(names, []string{"found"}) {
		t.Errorf("found %q", names)
	}
	ask(t, server.URL, `"input":[{"type":"shell_call","call_id":"c","action":{},"tools":[{"type":"mcp"},{"type":"function","name":"extra"}]}]`)
	if strings.Contains(lastPrompt(engine), "extra") {
		t.Errorf("the extra key tools of a call defines a tool: %s", lastPrompt(engine))
	}
}

// TestEqualNames checks tools whose names are equal after the namespaces are joined.
func TestEqualNames(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText(`<tool_call>{"name": "a__b_2", "arguments": {}}</tool_call>`))
	const tools = `"tools":[{"type":"function","name":"a__b"},{"type":"namespace","name":"a","tools":[{"type":"function","name":"b"}]},{"type":"namespace","name":"c","tools":[{"type":"function","name":"b"}]}]`
	_, body := ask(t, server.URL, `"input":[{"role":"user","content":"u"},{"type":"function_call","call_id":"c1","name":"b","namespace":"a","arguments":""}],`+tools)
	if names, _ := functions(t, engine); !slices.Equal(names, []string{"a__b", "a__b_2", "c__b"}) || !strings.Contains(lastPrompt(engine), `"function": {"name": "a__b_2", "arguments": {}}`) {
		t.Errorf("%q %s", names, lastPrompt(engine))
	}
	if !strings.Contains(body, `"name":"b","namespace":"a"`) {
		t.Errorf("%s", body)
	}
}

// TestEnforcedFormats checks that the format of a custom tool is enforced where its call is forced and
// the model's engine is known to enforce it, and else listed in the header.
func TestEnforcedFormats(t *testing.T) {
	const number = `{"type":"custom","name":"f","format":{"type":"grammar","syntax":"regex","definition":"[0-9]+"}}`
	const lark = `{"type":"custom","name":"f","format":{"type":"grammar","syntax":"lark","definition":"start: \"a\""}}`
	const named = `"tool_choice":{"type":"custom","name":"f"}`
	for _, tt := range []struct{ name, setting, fields, sent, ignored string }{
		{"a forced regex", "", named + `,"tools":[` + number + `,` + plainTool + `]`, `{"regex":"[0-9]+"}`, ""},
		{"a regex of the only tool", "", `"tool_choice":"required","tools":[` + number + `]`, `{"regex":"[0-9]+"}`, ""},
		{"a regex of one of two tools", "", `"tool_choice":"required","tools":[` + number + `,` + plainTool + `]`, `"anyOf"`, "tools[0].format"},
		{"a regex that may be called", "", `"tools":[` + number + `]`, "", "tools[0].format"},
		{"two tools with formats", "", named + `,"tools":[` + number + `,` + patchTool + `]`, `{"regex":"[0-9]+"}`, "tools[1].format"},
		{"a forced grammar", "", named + `,"tools":[` + lark + `]`, `{"json":`, "tools[0].format"},
		{"a forced grammar with a backend that takes it", "guidance", named + `,"tools":[` + lark + `]`, `{"grammar":"start: \"a\""}`, ""},
		{"a regex that isn't one", "", named + `,"tools":[` + strings.Replace(number, "[0-9]+", "(", 1) + `]`, `{"json":`, "tools[0].format"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			says, want := "123", `"input":"123","name":"f"`
			switch {
			case strings.HasPrefix(tt.sent, `{"json"`):
				says = `{"input": "123"}`
			case tt.sent == "":
				says = `<tool_call>{"name": "f", "arguments": {"input": "123"}}</tool_call>`
			case tt.sent == `"anyOf"`:
				says = `[{"name": "f", "arguments": {"input": "123"}}]`
			}
			engine := inferencetest.New()
			parameters := map[string]string{"trident.chat_template": `{{ messages | tojson }}`, "trident.tool_call_parser": "hermes"}
			if tt.setting != "" {
				parameters["trident.structured_outputs"] = tt.setting
			}
			engine.AddModel("chat", inferencetest.StreamText(strings.SplitAfter(says, "1")...), parameters)
			server := serveEngine(t, openai.Default(), engine)
			header, body := ask(t, server.URL, `"input":"hi",`+tt.fields)
			var sampling struct {
				Structured json.RawMessage `json:"structured_outputs"`
			}
			raw := inferencetest.Input(engine.Requests()[0], "sampling_parameters")
			if err := json.Unmarshal([]byte(raw), &sampling); err != nil {
				t.Fatal(err)
			}
			var text string
			if json.Unmarshal(sampling.Structured, &text) != nil {
				text = string(sampling.Structured)
			}
			if !strings.Contains(text, tt.sent) || tt.sent == "" && text != "" || header.Get(ignoredHeader) != tt.ignored || !strings.Contains(body, want) {
				t.Errorf("sent %s\nignored %q\ngot %s", raw, header.Get(ignoredHeader), body)
			}
		})
	}
}

// TestStrictTools checks that a strict tool whose arguments the engine doesn't constrain is named in
// the header of the response by the path that the client used, and refused with --strict.
func TestStrictTools(t *testing.T) {
	const tools = `"tools":[{"type":"web_search"},{"type":"namespace","name":"n","description":"","tools":[{"type":"function","name":"a"},{"type":"function","name":"b","strict":true}]}]`
	const field = "tools[1].tools[1].strict"
	server, _ := serveResponses(t, openai.Default(), inferencetest.StreamText("x"))
	for _, stream := range []string{"", `,"stream":true`} {
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi",`+tools+stream))
		if got := resp.Header.Get(ignoredHeader); resp.StatusCode != http.StatusOK || got != "tools[0], "+field {
			t.Errorf("%d, ignored %q: %s", resp.StatusCode, got, body)
		}
	}
	strict := openai.Default()
	strict.Strict = true
	server, _ = serveResponses(t, strict, inferencetest.StreamText("x"))
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi",`+strings.Replace(tools, `{"type":"web_search"}`, `{"type":"function","name":"c"}`, 1)))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"`+field+`"`) || !strings.Contains(body, field+" has no effect") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	server, _ = serveResponses(t, openai.Default(), inferencetest.StreamText("x"))
	resp, body = openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","tools":[{"type":"function","name":"b","strict":true,"parameters":{"type":"nonsense"}}]`))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"tools[0].parameters"`) {
		t.Errorf("a strict tool with an invalid schema: %d %s", resp.StatusCode, body)
	}
}

// TestAllowedNamespaces checks that a tool choice of allowed tools has the names that the model uses
// for tools of namespaces and for custom tools.
func TestAllowedNamespaces(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText("x"))
	const tools = `"tools":[{"type":"namespace","name":"n","description":"","tools":[{"type":"function","name":"a"}]},{"type":"custom","name":"patch"},{"type":"function","name":"b"}]`
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"a"},{"type":"custom","name":"patch"}]},`+tools))
	sampling := inferencetest.Input(engine.Requests()[0], "sampling_parameters")
	if resp.StatusCode != http.StatusOK || !strings.Contains(sampling, `{\"const\":\"n__a\"}`) || !strings.Contains(sampling, `{\"const\":\"patch\"}`) || strings.Contains(sampling, `{\"const\":\"b\"}`) {
		t.Errorf("%d %s: sent %s", resp.StatusCode, body, sampling)
	}
}

// TestManyTools checks the limits on the tools of a request, and that equal names don't cost more time
// than others.
func TestManyTools(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText("x"))
	repeat := func(n int, text func(i int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = text(i)
		}
		return strings.Join(list, ",")
	}
	plain := func(i int) string { return fmt.Sprintf(`{"type":"function","name":"f%d"}`, i) }
	added := func(tools string) string { return `{"type":"additional_tools","tools":[` + tools + `]}` }
	same := added(repeat(1024, plain))
	for _, tt := range []struct{ name, fields, want string }{
		{"the most", `"input":[{"role":"user","content":"u"},` + repeat(16, func(int) string { return same }) + `]`, ""},
		{"too many definitions", `"input":[{"role":"user","content":"u"},` + repeat(16, func(int) string { return same }) + `,` + added(plain(0)) + `]`, "input[17].tools[0] exceeds the maximum of 16384 definitions of tools in a request"},
		{"too many tools", `"input":[{"role":"user","content":"u"},` + same + `,` + added(plain(1024)) + `]`, "input[2].tools[0] exceeds the maximum of 1024 tools in a request"},
		{"equal names", `"input":"hi","tools":[` + repeat(1024, func(i int) string {
			return `{"type":"namespace","name":"a` + strings.Repeat("_", i) + `","tools":[{"type":"function","name":"f"}]}`
		}) + `]`, ""},
	} {
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(tt.fields))
		if (resp.StatusCode == http.StatusOK) != (tt.want == "") || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %.300s", tt.name, resp.StatusCode, body)
		}
	}
	names, _ := functions(t, engine)
	if n := len(names); n != 1024 || names[0] != "a__f" || names[1] != "a__f_2" || names[1023] != "a__f_1024" {
		t.Errorf("%d, %q", n, names[:2])
	}
}
