package responses_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/serving"
)

func TestMain(m *testing.M) {
	// The client keeps its connections slightly longer than a test needs them.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

const responsePath = "/v1/responses"

// serveResponses starts the frontend over an engine. Its model chat runs the script and
// has a template that shows all messages.
func serveResponses(t *testing.T, cfg openai.Config, script inferencetest.Script) (*httptest.Server, *inferencetest.Engine) {
	t.Helper()
	engine := inferencetest.New()
	engine.AddModel("chat", script, map[string]string{
		"trident.chat_template": `{{ messages | tojson }}{% if tools %}{{ tools | tojson }}{% endif %}`, "trident.tool_call_parser": "hermes",
		"trident.reasoning_parser": "qwen3", "trident.context_length": "100",
	})
	engine.AddModel("counted", script, map[string]string{
		"trident.chat_template": `{% for m in messages %}{{ m.content }}{% endfor %}{% if tools %}{{ tools | length }}{% endif %}`, "trident.tokenizer": letters(t),
		"trident.reasoning_parser": "qwen3", "trident.context_length": "20", "trident.tool_call_parser": "hermes",
	})
	engine.AddModel("embedding", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	return serveEngine(t, cfg, engine), engine
}

// serveEngine starts the frontend on a loopback port.
func serveEngine(t *testing.T, cfg openai.Config, engine *inferencetest.Engine) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(newHandler(t, cfg, engine))
	t.Cleanup(server.Close)
	return server
}

func newHandler(t *testing.T, cfg openai.Config, engine *inferencetest.Engine) *openai.Handler {
	t.Helper()
	handler, err := openai.New(cfg, inferencetest.Service(t, serving.Config{}, engine), nil)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// letters returns the folder of a tokenizer in which each letter from a to e and each
// digit is a token.
func letters(t *testing.T) string {
	t.Helper()
	vocabulary := map[string]int{}
	for i, letter := range strings.Split("abcde0123456789", "") {
		vocabulary[letter] = i
	}
	const tokenizer = `{"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "pre_tokenizer": null, "post_processor": null,
		"decoder": {"type": "Fuse"}, "added_tokens": [], "model": {"type": "BPE", "dropout": null, "unk_token": null,
		"continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
		"ignore_merges": false, "vocab": %s, "merges": []}}`
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tokenizer.json"), fmt.Appendf(nil, tokenizer, openaitest.JSON(t, vocabulary)), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// respond returns a request with additional fields, for the model chat unless the fields
// name one.
func respond(fields string) string {
	if strings.Contains(fields, `"model":`) && !strings.Contains(fields, "moderation") {
		return "{" + fields + "}"
	}
	return `{"model":"chat",` + fields + `}`
}

// randomID matches the ids, which differ between responses.
var randomID = regexp.MustCompile(`\b(resp|msg|rs|fc|fco|call)_\w{24,}\b`)

// customID matches the ids of calls of custom tools.
var customID = regexp.MustCompile(`\b(ctc)_\w{24,}\b`)

func maskIDs(s string) string { return randomID.ReplaceAllString(s, "${1}_") }

// event is one decoded server-sent event of a streamed response of the Responses API.
type event struct {
	Type     string
	Sequence int `json:"sequence_number"`
	Response json.RawMessage
	Item     json.RawMessage
	ItemID   string `json:"item_id"`
	Delta    string
	raw      string
}

// typedEvents parses a stream. It checks the events against the document, and their
// order.
func typedEvents(t *testing.T, body string) []event {
	t.Helper()
	var list []event
	for text := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		if strings.HasPrefix(text, ":") {
			continue
		}
		line, data, _ := strings.Cut(text, "\n")
		data = strings.TrimPrefix(data, "data: ")
		openaitest.WantDocument(t, "ResponseStreamEvent", data)
		e := event{raw: data}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		if line != "event: "+e.Type || e.Sequence != len(list) {
			t.Errorf("event %d: %s\n%s", len(list), line, data)
		}
		list = append(list, e)
	}
	return list
}

// whole decodes a response without the values that differ between responses.
func whole(t *testing.T, raw string) map[string]any {
	t.Helper()
	openaitest.WantDocument(t, "Response", raw)
	var r map[string]any
	if err := json.Unmarshal([]byte(maskIDs(raw)), &r); err != nil {
		t.Fatal(err)
	}
	if created, _ := r["created_at"].(float64); created < 1 || (r["completed_at"] == nil) != (r["status"] != completed) {
		t.Errorf("times of %s", raw)
	}
	delete(r, "created_at")
	delete(r, "completed_at")
	return r
}

const (
	callNow    = `<tool_call>{"name": "now", "arguments": {}}</tool_call>`
	allowed    = `{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"now"}]}` // allows one of flatTools
	flatTools  = `"tools":[{"type":"function","strict":true,"name":"get","parameters":{"type":"object","properties":{"city":{"type":"string"}}}},{"type":"function","name":"now","description":null}]`
	messageOf  = `{"content":[{"annotations":[],"logprobs":[],"text":%q,"type":"output_text"}],"id":"msg_","role":"assistant","status":%q,"type":"message"}`
	thoughtOf  = `{"content":[{"text":%q,"type":"reasoning_text"}],"id":"rs_","status":%q,"summary":[],"type":"reasoning"}`
	callOf     = `{"arguments":%q,"call_id":"call_","id":"fc_","name":%q,"status":%q,"type":"function_call"}`
	completed  = "completed"
	incomplete = "incomplete"
)

// TestResponse checks that the non-streaming response and the streamed response to the same request
// are equal.
func TestResponse(t *testing.T) {
	script := func(finish string, pieces ...string) inferencetest.Script {
		return func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			for _, p := range pieces {
				send(inferencetest.Token(p, ""))
			}
			send(inferencetest.Token("", finish))
			return nil
		}
	}
	text := func(s string) string { return fmt.Sprintf(messageOf, s, completed) }
	for _, tt := range []struct {
		name, fields string
		say          inferencetest.Script
		output       []string
		status       string
		reason       string
	}{
		{"text", `"input":"hi"`, script("stop", "Hel", "lo\n\"é"), []string{text("Hello\n\"é")}, completed, ""},
		{"nothing", `"input":"hi"`, script("stop"), []string{text("")}, completed, ""},
		{"cut", `"input":"hi","max_output_tokens":2`, script("length", "Hel", "lo"), []string{fmt.Sprintf(messageOf, "Hello", incomplete)}, incomplete, "max_output_tokens"},
		{"reasoning", `"input":"hi"`, script("stop", "<think>Hm", "m</think>", "Yes"), []string{fmt.Sprintf(thoughtOf, "Hmm", completed), text("Yes")}, completed, ""},
		{"cut in its reasoning", `"input":"hi"`, script("length", "<think>Hm", "m"), []string{fmt.Sprintf(thoughtOf, "Hmm", incomplete)}, incomplete, "max_output_tokens"},
		{"calls", `"input":"hi",` + flatTools, script("stop", "<think>Hm</think>", "Wait.", `<tool_call>{"name": "get", "arguments": {"city": "Pa`, `ris"}}</tool_call>`, callNow), []string{
			fmt.Sprintf(thoughtOf, "Hm", completed), text("Wait."), fmt.Sprintf(callOf, `{"city": "Paris"}`, "get", completed), fmt.Sprintf(callOf, `{}`, "now", completed),
		}, completed, ""},
		{"one call", `"input":"hi","parallel_tool_calls":false,` + flatTools, script("stop", callNow, callNow), []string{fmt.Sprintf(callOf, `{}`, "now", completed)}, completed, ""},
		{"a demanded call", `"input":"hi","tool_choice":{"type":"function","name":"get"},` + flatTools, script("stop", `{"city": `, `"Paris"}`), []string{fmt.Sprintf(callOf, `{"city": "Paris"}`, "get", completed)}, completed, ""},
		{"an allowed call", `"input":"hi","tool_choice":` + allowed + `,` + flatTools, script("stop", callNow, `<tool_call>{"name": "get", "arguments": {}}</tool_call>`), []string{fmt.Sprintf(callOf, `{}`, "now", completed), text(`{"name": "get", "arguments": {}}`)}, completed, ""},
		{"a cut call", `"input":"hi","tool_choice":{"type":"function","name":"get"},` + flatTools, script("length", `{"city": `), []string{fmt.Sprintf(callOf, `{"city": `, "get", incomplete)}, incomplete, "max_output_tokens"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, _ := serveResponses(t, openai.Default(), tt.say)
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(tt.fields))
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
			got := whole(t, body)
			var output []string
			for _, it := range got["output"].([]any) {
				output = append(output, string(openaitest.JSON(t, it)))
			}
			if !slices.Equal(output, tt.output) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(output, "\n"), strings.Join(tt.output, "\n"))
			}
			details, _ := got["incomplete_details"].(map[string]any)
			if got["status"] != tt.status || tt.reason != "" && details["reason"] != tt.reason || tt.reason == "" && details != nil {
				t.Errorf("status %v, details %v", got["status"], details)
			}

			resp, body = openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(tt.fields+`,"stream":true`))
			if got := resp.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
				t.Errorf("Content-Type %q", got)
			}
			list := typedEvents(t, body)
			last := list[len(list)-1]
			if last.Type != "response."+tt.status {
				t.Errorf("the last event is %s", last.Type)
			}
			if streamed := whole(t, string(last.Response)); !bytes.Equal(openaitest.JSON(t, streamed), openaitest.JSON(t, got)) {
				t.Errorf("streamed %s\nnon-streaming %s", openaitest.JSON(t, streamed), openaitest.JSON(t, got))
			}
			checkAssembly(t, list)
		})
	}
}

// checkAssembly assembles the response from the events, as SDKs do.
func checkAssembly(t *testing.T, list []event) {
	t.Helper()
	texts := map[string]string{}
	var done []string
	for _, e := range list {
		switch {
		case strings.HasSuffix(e.Type, ".delta"):
			texts[e.ItemID] += e.Delta
		case e.Type == "response.output_item.done":
			done = append(done, string(e.Item))
			var it struct {
				ID, Arguments string
				Content       []struct{ Text string }
			}
			if err := json.Unmarshal(e.Item, &it); err != nil {
				t.Fatal(err)
			}
			if len(it.Content) > 0 {
				it.Arguments = it.Content[0].Text
			}
			if texts[it.ID] != it.Arguments {
				t.Errorf("pieces %q make %s", texts[it.ID], e.Item)
			}
		}
	}
	var final struct{ Output []json.RawMessage }
	if err := json.Unmarshal(list[len(list)-1].Response, &final); err != nil {
		t.Fatal(err)
	}
	for i, it := range final.Output {
		if string(it) != done[i] {
			t.Errorf("item %d was %s, in the end %s", i, done[i], it)
		}
	}
	var created struct {
		Status string
		Usage  any
		Output []any
	}
	if err := json.Unmarshal(list[0].Response, &created); err != nil || created.Status != "in_progress" || created.Usage != nil || len(created.Output) > 0 {
		t.Errorf("%v %s", err, list[0].raw)
	}
}

func TestResponseEvents(t *testing.T) {
	server, _ := serveResponses(t, openai.Default(), inferencetest.StreamText("<think>Hm", "m</think>", "Yes", ".", callNow))
	_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","stream":true,`+flatTools))
	var got []string
	for _, e := range typedEvents(t, body) {
		if e.Response != nil {
			got = append(got, e.Type)
			continue
		}
		got = append(got, maskIDs(e.raw))
	}
	want := []string{
		`response.created`, `response.in_progress`,
		`{"type":"response.output_item.added","output_index":0,"item":{"content":[],"id":"rs_","status":"in_progress","summary":[],"type":"reasoning"},"sequence_number":2}`,
		`{"type":"response.content_part.added","item_id":"rs_","output_index":0,"content_index":0,"part":{"text":"","type":"reasoning_text"},"sequence_number":3}`,
		`{"type":"response.reasoning_text.delta","item_id":"rs_","output_index":0,"content_index":0,"delta":"Hm","sequence_number":4}`,
		`{"type":"response.reasoning_text.delta","item_id":"rs_","output_index":0,"content_index":0,"delta":"m","sequence_number":5}`,
		`{"type":"response.reasoning_text.done","item_id":"rs_","output_index":0,"content_index":0,"text":"Hmm","sequence_number":6}`,
		`{"type":"response.content_part.done","item_id":"rs_","output_index":0,"content_index":0,"part":{"text":"Hmm","type":"reasoning_text"},"sequence_number":7}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"content":[{"text":"Hmm","type":"reasoning_text"}],"id":"rs_","status":"completed","summary":[],"type":"reasoning"},"sequence_number":8}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"content":[],"id":"msg_","role":"assistant","status":"in_progress","type":"message"},"sequence_number":9}`,
		`{"type":"response.content_part.added","item_id":"msg_","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]},"sequence_number":10}`,
		`{"type":"response.output_text.delta","item_id":"msg_","output_index":1,"content_index":0,"delta":"Yes","logprobs":[],"sequence_number":11}`,
		`{"type":"response.output_text.delta","item_id":"msg_","output_index":1,"content_index":0,"delta":".","logprobs":[],"sequence_number":12}`,
		`{"type":"response.output_text.done","item_id":"msg_","output_index":1,"content_index":0,"text":"Yes.","logprobs":[],"sequence_number":13}`,
		`{"type":"response.content_part.done","item_id":"msg_","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Yes.","annotations":[],"logprobs":[]},"sequence_number":14}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"content":[{"type":"output_text","text":"Yes.","annotations":[],"logprobs":[]}],"id":"msg_","role":"assistant","status":"completed","type":"message"},"sequence_number":15}`,
		`{"type":"response.output_item.added","output_index":2,"item":{"arguments":"","call_id":"call_","id":"fc_","name":"now","status":"in_progress","type":"function_call"},"sequence_number":16}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_","output_index":2,"delta":"{}","sequence_number":17}`,
		`{"type":"response.function_call_arguments.done","item_id":"fc_","output_index":2,"arguments":"{}","name":"now","sequence_number":18}`,
		`{"type":"response.output_item.done","output_index":2,"item":{"arguments":"{}","call_id":"call_","id":"fc_","name":"now","status":"completed","type":"function_call"},"sequence_number":19}`,
		`response.completed`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestResponseSettings checks that the response of POST /v1/responses repeats the settings of the
// request, with the defaults of the others.
func TestResponseSettings(t *testing.T) {
	const schema = `{"type":"json_schema","name":"x","schema":{"type":"object","properties":{"z":{"type":"null"},"a":{}}}}`
	for _, tt := range []struct {
		name, fields string
		want         map[string]string
	}{
		{"defaults", `"input":"hi"`, map[string]string{
			"object": `"response"`, "status": `"completed"`, "model": `"chat"`, "background": `false`, "error": `null`, "incomplete_details": `null`,
			"instructions": `null`, "max_output_tokens": `null`, "max_tool_calls": `null`, "metadata": `{}`, "parallel_tool_calls": `true`,
			"previous_response_id": `null`, "prompt_cache_key": `null`, "reasoning": `{"effort":null,"summary":null}`, "safety_identifier": `null`,
			"service_tier": `"default"`, "store": `true`, "temperature": `null`, "text": `{"format":{"type":"text"},"verbosity":"medium"}`,
			"tool_choice": `"auto"`, "tools": `[]`, "top_logprobs": `0`, "top_p": `null`, "truncation": `"disabled"`, "user": `null`,
			"usage": `{"input_tokens":7,"input_tokens_details":{"cache_write_tokens":0,"cached_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":9}`,
		}},
		{
			"all", `"input":"hi","instructions":"Be kind.","max_output_tokens":9,"max_tool_calls":3,"metadata":{"a":"b"},"parallel_tool_calls":false,"prompt_cache_key":"k",` +
				`"reasoning":{"effort":"medium","summary":"auto"},"safety_identifier":"s","service_tier":"flex","store":false,"temperature":0.5,"top_p":0.25,"text":{"format":` + schema + `},` +
				`"user":"u","top_logprobs":2,"include":["message.output_text.logprobs"],"truncation":"disabled"`,
			map[string]string{
				"instructions": `"Be kind."`, "max_output_tokens": `9`, "max_tool_calls": `3`, "metadata": `{"a":"b"}`, "parallel_tool_calls": `false`, "prompt_cache_key": `"k"`,
				"reasoning": `{"effort":"medium","summary":"auto"}`, "safety_identifier": `"s"`, "service_tier": `"default"`, "store": `false`, "temperature": `0.5`, "top_p": `0.25`,
				"text": `{"format":` + schema + `,"verbosity":"medium"}`, "user": `"u"`, "top_logprobs": `2`,
			},
		},
		{"allowed tools", `"input":"hi","tool_choice":` + allowed + `,` + flatTools, map[string]string{"tool_choice": allowed}},
		{"tools", `"input":"hi","tool_choice":"none",` + flatTools, map[string]string{
			"tool_choice": `"none"`,
			"tools": `[{"description":null,"name":"get","parameters":{"type":"object","properties":{"city":{"type":"string"}}},"strict":true,"type":"function"},` +
				`{"description":null,"name":"now","parameters":null,"strict":null,"type":"function"}]`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, _ := serveResponses(t, openai.Default(), inferencetest.StreamText("Hi", ""))
			_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(tt.fields))
			openaitest.WantDocument(t, "Response", body)
			var got map[string]json.RawMessage
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			for key, want := range tt.want {
				if string(got[key]) != want {
					t.Errorf("%s: %s, want %s", key, got[key], want)
				}
			}
		})
	}
}

// TestResponsePrompts tests how items appear in the template, and the inputs of the
// engine.
func TestResponsePrompts(t *testing.T) {
	call := `{"type":"function_call","call_id":"c1","name":"get","arguments":" {\"z\": 1, \"a\": 2} "}`
	const called = `{"id": "c1", "type": "function", "function": {"name": "get", "arguments": {"z": 1, "a": 2}}}`
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText("x"))
	for _, tt := range []struct{ name, fields, prompt string }{
		{"text", `"input":"hi"`, `[{"role": "user", "content": "hi"}]`},
		{"instructions", `"input":"hi","instructions":"Be kind."`, `[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]`},
		{
			"easy messages", `"input":[{"role":"developer","content":"d"},{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"user","content":""}]`,
			`[{"role": "system", "content": "d"}, {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": ""}]`,
		},
		{
			"parts", `"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},` +
				`{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"c","annotations":[],"logprobs":[]}]},{"role":"user","content":[{"type":"input_text","text":"d"}]}]`,
			`[{"role": "user", "content": "a\nb"}, {"role": "assistant", "content": "c"}, {"role": "user", "content": "d"}]`,
		},
		{
			"calls", `"input":[{"role":"user","content":"u"},` + call + `,{"type":"function_call","call_id":"c2","name":"now","arguments":""},` +
				`{"type":"function_call_output","call_id":"c1","output":"4"},{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"5"}]}]`,
			`[{"role": "user", "content": "u"}, {"role": "assistant", "content": "", "tool_calls": [` + called + `, {"id": "c2", "type": "function", "function": {"name": "now", "arguments": {}}}]}, ` +
				`{"role": "tool", "content": "4", "tool_call_id": "c1"}, {"role": "tool", "content": "5", "tool_call_id": "c2"}]`,
		},
		{
			"reasoning, text and a call are one message", `"input":[{"role":"user","content":"u"},{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"r"}]},` +
				`{"role":"assistant","content":"a"},` + call + `]`,
			`[{"role": "user", "content": "u"}, {"thinking": "r", "role": "assistant", "content": "a", "tool_calls": [` + called + `], "reasoning_content": "r"}]`,
		},
		{
			"reasoning before a call", `"input":[{"role":"assistant","content":"a"},{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":null},` + call + `]`,
			`[{"role": "assistant", "content": "a"}, {"thinking": "s", "role": "assistant", "content": "", "tool_calls": [` + called + `], "reasoning_content": "s"}]`,
		},
		{
			"reasoning that led to nothing", `"input":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"r"}]},{"role":"user","content":"u"},{"type":"reasoning","content":[{"type":"reasoning_text","text":"s"}]}]`,
			`[{"thinking": "r", "role": "assistant", "content": "", "reasoning_content": "r"}, {"role": "user", "content": "u"}, {"thinking": "s", "role": "assistant", "content": "", "reasoning_content": "s"}]`,
		},
		{
			"tools", `"input":"hi",` + flatTools,
			`[{"role": "user", "content": "hi"}][{"type": "function", "function": {"strict": true, "name": "get", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}, {"type": "function", "function": {"name": "now"}}]`,
		},
		{"tools that mustn't be called", `"input":"hi","tool_choice":"none",` + flatTools, `[{"role": "user", "content": "hi"}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(tt.fields))
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
			requests := engine.Requests()
			if got := inferencetest.Input(requests[len(requests)-1], "text_input"); got != tt.prompt {
				t.Errorf("got  %s\nwant %s", got, tt.prompt)
			}
		})
	}
}

// TestResponseSampling tests that the sampling fields of a request reach the engine under the
// engine's own names.
func TestResponseSampling(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText("x"))
	for i, tt := range []struct{ fields, want string }{
		{`"temperature":0.7,"top_p":0.5,"max_output_tokens":9,"seed":3,"stop":"END","top_k":5`, `{"temperature":0.7,"top_p":0.5,"top_k":5,"seed":3,"max_tokens":9,"stop":["END"]`},
		{`"include":["message.output_text.logprobs","reasoning.encrypted_content"],"top_logprobs":3`, `"logprobs":3`},
		{`"include":["message.output_text.logprobs"]`, `"logprobs":0`},
		{`"text":{"format":{"type":"json_schema","name":"x","strict":true,"schema":{"type":"object","properties":{"z":{},"a":{}}}}}`, `{"type":"object","properties":{"z":{},"a":{}}}`},
		{`"text":{"format":{"type":"json_object"}}`, `json_object`},
		{`"structured_outputs":{"regex":"a+"}`, `a+`},
	} {
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi",`+tt.fields))
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", tt.fields, resp.StatusCode, body)
		}
		sent := inferencetest.Input(engine.Requests()[i], "sampling_parameters")
		if !strings.Contains(strings.ReplaceAll(sent, `\"`, `"`), tt.want) {
			t.Errorf("%s: sent %s", tt.fields, sent)
		}
	}
}

// TestResponseLogprobs tests that log probabilities are in the event with their text.
// The token of a part of a character is sent with the rest of the character.
func TestResponseLogprobs(t *testing.T) {
	script := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		for i, piece := range []string{"\xc3", "\xa9", "!"} {
			resp := inferencetest.Token(piece, map[bool]string{true: "stop"}[i == 2])
			resp.Outputs = append(resp.Outputs, inferencetest.Bytes("logprobs", fmt.Sprintf(`[{"%d":{"logprob":-0.25,"rank":1,"decoded_token":"t%d"}}]`, i, i)))
			send(resp)
		}
		return nil
	}
	server, _ := serveResponses(t, openai.Default(), script)
	const fields = `"input":"hi","include":["message.output_text.logprobs"]`
	_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(fields))
	entry := func(i int) string {
		return fmt.Sprintf(`{"bytes":[116,%d],"logprob":-0.25,"token":"t%d","top_logprobs":[]}`, '0'+i, i)
	}
	all := `[` + entry(0) + `,` + entry(1) + `,` + entry(2) + `]`
	if !strings.Contains(body, `"text":"é!","annotations":[],"logprobs":`+all) {
		t.Errorf("got %s", body)
	}
	_, body = openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(fields+`,"stream":true`))
	typedEvents(t, body)
	for _, want := range []string{`"delta":"é","logprobs":[` + entry(0) + `,` + entry(1) + `]`, `"delta":"","logprobs":[` + entry(2) + `]`, `"text":"é!","logprobs":` + all} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing in %s", want, body)
		}
	}
}

func TestReasoningTokens(t *testing.T) {
	server, _ := serveResponses(t, openai.Default(), inferencetest.StreamText("<think>abc</think>", "d", "e", "a", "b"))
	_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, `{"model":"counted","input":"ab"}`)
	if !strings.Contains(body, `"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3}`) {
		t.Errorf("got %s", body)
	}
}

func TestInputTokens(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText("cd", ""))
	first := create(t, server, `"model":"counted","input":"ab"`)
	for _, tt := range []struct {
		name, fields string
		status       int
		want         string
	}{
		{"text", `"model":"counted","input":"abc"`, 200, `{"input_tokens":3,"object":"response.input_tokens"}`},
		{"with instructions and tools", `"model":"counted","input":[{"role":"user","content":"abc"}],"instructions":"de",` + flatTools, 200, `{"input_tokens":6,"object":"response.input_tokens"}`},
		{"after a response", `"model":"counted","input":"abc","previous_response_id":"` + first + `"`, 200, `{"input_tokens":7,"object":"response.input_tokens"}`},
		{"without a tokenizer", `"model":"chat","input":"abc"`, 400, "inference.SettingTokenizer, or by the parameter trident.tokenizer"},
		{"of an embedding model", `"model":"embedding","input":"abc"`, 400, `"param":"model"`},
		{"of no model", `"model":"none","input":"abc"`, 404, "model_not_found"},
		{"of no input", `"model":"counted"`, 400, `"param":"input"`},
		{"personality", `"model":"counted","input":"a","personality":"friendly"`, 400, `"param":"personality"`},
		{"a bad item", `"model":"counted","input":[{"type":"magic"}]`, 400, `"param":"input[0].type"`},
		{"a bad tool", `"model":"counted","input":"a","tools":[{"type":"magic"}]`, 400, `"param":"tools[0].type"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath+"/input_tokens", "{"+tt.fields+"}")
			if resp.StatusCode != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
	if n := len(engine.Requests()); n != 1 {
		t.Errorf("the engine was asked %d times", n)
	}
}

// create sends a request and returns the id of the response.
func create(t *testing.T, server *httptest.Server, fields string) string {
	t.Helper()
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, "{"+fields+"}")
	var answer struct{ ID string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", resp.StatusCode, body, err)
	}
	return answer.ID
}

// TestResponseEffort tests that the reasoning effort of a response reaches the chat template, as in
// chats.
func TestResponseEffort(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("x"), map[string]string{"trident.chat_template": `{{ messages[0].content }}{% if reasoning_effort %} effort {{ reasoning_effort }}{% endif %}`})
	server := serveEngine(t, openai.Config{}, engine)
	if resp, body := openaitest.Do(t, http.MethodPost, server.URL+"/v1/responses", `{"model":"chat","input":"hi","reasoning":{"effort":"high"}}`); resp.StatusCode != http.StatusOK ||
		!strings.Contains(body, `"reasoning":{"effort":"high"`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if prompt := inferencetest.Input(engine.Requests()[0], "text_input"); !strings.Contains(prompt, "effort high") {
		t.Errorf("prompt %q", prompt)
	}
}
