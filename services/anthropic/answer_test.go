package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/tokenizer"
)

// decoded returns the message of an error.
func decoded(t *testing.T, body string) string {
	t.Helper()
	var response struct {
		Error struct{ Message string }
	}
	if err := json.Unmarshal([]byte(body), &response); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return response.Error.Message
}

// signed replaces signatures, which differ each time, and returns the text in the first one.
func (f *frontend) signed(t *testing.T, text string) (replaced, opened string) {
	t.Helper()
	const mark = `"signature":"tri1.`
	before, rest, found := strings.Cut(text, mark)
	if !found {
		return text, ""
	}
	sealed, after, _ := strings.Cut(rest, `"`)
	opened, err := f.seals.Open("tri1."+sealed, "")
	if err != nil {
		t.Error(err)
	}
	return before + `"signature":"S"` + after, opened
}

const (
	thinksAndCalls = "<think>hm</think>Hi.<tool_call>{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": \"é\"}}</tool_call>"
	callFields     = `,"tools":[{"name":"f","input_schema":{"type":"object"}}]`
)

// TestEvents checks all events of a stream with reasoning, text and a call.
func TestEvents(t *testing.T) {
	f := serve(t, Config{}, ends(thinksAndCalls, "stop"), abilities())
	answer := f.post(t, "/v1/messages", request(`[{"role":"user","content":"a"}]`, callFields+`,"stream":true`))
	text, thought := f.signed(t, answer.Body.String())
	if thought != "hm" {
		t.Errorf("the signature has %q", thought)
	}
	var got []string
	for _, e := range events(t, text) {
		got = append(got, e.name+" "+e.data)
	}
	id, _, _ := strings.Cut(strings.SplitN(got[0], `"id":"`, 2)[1], `"`)
	call, _, _ := strings.Cut(strings.SplitN(strings.Join(got, "\n"), `"tool_use","id":"`, 2)[1], `"`)
	arguments := ""
	for _, line := range got {
		var e struct {
			Delta struct {
				PartialJSON string `json:"partial_json"`
			}
		}
		_, data, _ := strings.Cut(line, " ")
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		arguments += e.Delta.PartialJSON
	}
	if arguments != `{"b": 1, "a": "é"}` {
		t.Errorf("arguments %s", arguments)
	}
	var kept []string
	for _, line := range got {
		if !strings.Contains(line, "input_json_delta") {
			kept = append(kept, line)
		}
	}
	want := []string{
		`message_start {"message":{"content":[],"id":"` + id + `","model":"m","role":"assistant","stop_reason":null,"stop_sequence":null,"type":"message","usage":{"cache_creation_input_tokens":null,"cache_read_input_tokens":null,"input_tokens":7,"output_tokens":0}},"type":"message_start"}`,
		`content_block_start {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S"}}`,
		`content_block_stop {"type":"content_block_stop","index":0}`,
		`content_block_start {"type":"content_block_start","index":1,"content_block":{"type":"text","text":"","citations":null}}`,
		`content_block_delta {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi."}}`,
		`content_block_stop {"type":"content_block_stop","index":1}`,
		`content_block_start {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"` + call + `","name":"f","input":{}}}`,
		`content_block_stop {"type":"content_block_stop","index":2}`,
		`message_delta {"delta":{"stop_reason":"tool_use","stop_sequence":null},"type":"message_delta","usage":{"cache_creation_input_tokens":null,"cache_read_input_tokens":null,"input_tokens":7,"output_tokens":1}}`,
		`message_stop {"type":"message_stop"}`,
	}
	if strings.Join(kept, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(kept, "\n"), strings.Join(want, "\n"))
	}
}

// TestMessage checks the non-streaming response with reasoning, text and a call, and that
// display: omitted leaves the reasoning in the signature alone.
func TestMessage(t *testing.T) {
	f := serve(t, Config{}, ends(thinksAndCalls, "stop"), abilities())
	for _, test := range []struct{ fields, thinking string }{{"", "hm"}, {`,"thinking":{"type":"adaptive","display":"omitted"}`, ""}} {
		answer := f.post(t, "/v1/messages", request(`[{"role":"user","content":"a"}]`, callFields+test.fields))
		wantDocument(t, "Message", answer.Body.String())
		text, thought := f.signed(t, answer.Body.String())
		_, after, _ := strings.Cut(text, `"content":`)
		content, rest, _ := strings.Cut(after, `],"id":`)
		before, call, _ := strings.Cut(content, `{"type":"tool_use","id":"`)
		_, call, _ = strings.Cut(call, `"`)
		if want := `[{"signature":"S","thinking":"` + test.thinking + `","type":"thinking"},{"citations":null,"text":"Hi.","type":"text"},`; before != want || thought != "hm" {
			t.Errorf("got  %s\nwant %s", before, want)
		}
		if want := `,"name":"f","input":{"b":1,"a":"é"}}`; strings.ReplaceAll(call, ": ", ":") != strings.ReplaceAll(want, ": ", ":") && strings.ReplaceAll(strings.ReplaceAll(call, ", ", ","), ": ", ":") != want {
			t.Errorf("got %s, want %s", call, want)
		}
		if !strings.Contains(rest, `"stop_reason":"tool_use","stop_sequence":null`) || !strings.Contains(rest, `"input_tokens":7,"output_tokens":1`) {
			t.Errorf("got %s", rest)
		}
		if id := answer.Header().Get("Request-Id"); !strings.HasPrefix(id, "req_") {
			t.Errorf("request id %q", id)
		}
	}
}

// TestOmittedThinking checks that a stream with display: omitted has the signature and no reasoning.
func TestOmittedThinking(t *testing.T) {
	f := serve(t, Config{}, ends(thinksAndCalls, "stop"), abilities())
	answer := f.post(t, "/v1/messages", request(`[{"role":"user","content":"a"}]`, callFields+`,"stream":true,"thinking":{"type":"adaptive","display":"omitted"}`))
	text, thought := f.signed(t, answer.Body.String())
	if thought != "hm" || strings.Contains(text, "thinking_delta") || !strings.Contains(text, `"type":"thinking"`) {
		t.Errorf("%q in %s", thought, text)
	}
}

// TestMalformedCall checks that a call whose arguments aren't JSON comes back as the model wrote them.
func TestMalformedCall(t *testing.T) {
	if got := string(new(ending).input([]byte(`{"a":`))); got != `{"INVALID_JSON":"{\"a\":"}` {
		t.Errorf("got %s", got)
	}
	if text, malformed := malformedArguments(new(ending).input([]byte(`{"a":`))); !malformed || text != `{"a":` {
		t.Errorf("got %q %t", text, malformed)
	}
	if got := string(new(ending).input(nil)); got != "{}" {
		t.Errorf("got %s", got)
	}
}

// TestStopReasons checks the stop reason of every ending, streamed and not.
func TestStopReasons(t *testing.T) {
	for _, test := range []struct {
		name, text, finish, fields, want string
		context                          string
	}{
		{"end", "x", "stop", "", `"stop_reason":"end_turn","stop_sequence":null`, "4096"},
		{"limit", "x", "length", "", `"stop_reason":"max_tokens","stop_sequence":null`, "4096"},
		{"stop sequence", "x END y", "stop", `,"stop_sequences":["ENDS","END"]`, `"stop_reason":"stop_sequence","stop_sequence":"END"`, "4096"},
		{"filter", "x", "content_filter", "", `"stop_reason":"refusal","stop_sequence":null`, "4096"},
		{"call", thinksAndCalls, "stop", callFields, `"stop_reason":"tool_use","stop_sequence":null`, "4096"},
		{"context", "x", "length", "", `"stop_reason":"model_context_window_exceeded","stop_sequence":null`, "25"},
	} {
		params := abilities()
		params["trident.context_length"] = test.context
		script := ends(test.text, test.finish)
		if test.name == "context" {
			script = func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
				n := uint32(len(inferencetest.Input(req, "text_input")))
				send(&inference.Response{Final: true, Outputs: []inference.Output{
					inferencetest.Bytes("text_output", "xxxx"), inferencetest.Bytes("finish_reason", "length"), inferencetest.Uint32("num_input_tokens", n), inferencetest.Uint32("num_output_tokens", 25-n),
				}})
				return nil
			}
		}
		f := serve(t, Config{}, script, params)
		for _, stream := range []string{"false", "true"} {
			answer := f.post(t, "/v1/messages", request(`[{"role":"user","content":"a"}]`, test.fields+`,"stream":`+stream))
			if !strings.Contains(answer.Body.String(), test.want) {
				t.Errorf("%s: %s", test.name, answer.Body)
			}
		}
	}
}

// TestRefusal checks the stop reason of an answer that a filter has ended.
func TestRefusal(t *testing.T) {
	e := &ending{turn: &turn{}}
	if reason, sequence := e.stop(inference.FinishContentFilter, "", &inference.Usage{}); reason != "refusal" || sequence != nil {
		t.Errorf("%s %v", reason, sequence)
	}
}

// TestWarm checks that max_tokens: 0 computes the prompt and answers nothing.
func TestWarm(t *testing.T) {
	f := serve(t, Config{}, ends("x", "length"), abilities())
	for _, stream := range []string{"false", "true"} {
		answer := f.post(t, "/v1/messages", `{"model":"m","max_tokens":0,"stream":`+stream+`,"messages":[{"role":"user","content":"a"}]}`)
		body := answer.Body.String()
		if answer.Code != http.StatusOK || strings.Contains(body, `"x"`) || !strings.Contains(body, `"content":[]`) || !strings.Contains(body, `"stop_reason":"max_tokens"`) || !strings.Contains(body, `"input_tokens":7,"output_tokens":0`) {
			t.Errorf("%d %s", answer.Code, body)
		}
	}
	if n := len(f.engine.Requests()); n != 2 {
		t.Errorf("%d requests reached the model", n)
	}
}

// TestErrors checks the status, the type and the headers of errors, before and inside a stream.
func TestErrors(t *testing.T) {
	failure := errors.New("broken")
	f := serve(t, Config{}, func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		switch prompt := inferencetest.Input(req, "text_input"); {
		case strings.Contains(prompt, "late"):
			send(inferencetest.Token("begun", ""))
		case strings.Contains(prompt, "busy"):
			return &inference.Error{Code: inference.CodeOverloaded, Message: "the model is busy", RetryAfter: 1500e6}
		case strings.Contains(prompt, "limit"):
			return &inference.Error{Code: inference.CodeLimited, Message: "too many requests"}
		case strings.Contains(prompt, "slow"):
			return context.DeadlineExceeded
		}
		return failure
	}, abilities())
	ask := func(text, fields string) string {
		return request(`[{"role":"user","content":"`+text+`"}]`, fields)
	}
	for _, test := range []struct {
		method, path, body string
		status             int
		kind               string
	}{
		{"POST", "/v1/messages", ask("x", ""), 500, "api_error"},
		{"POST", "/v1/messages", ask("busy", ""), 529, "overloaded_error"},
		{"POST", "/v1/messages", ask("busy", `,"stream":true`), 529, "overloaded_error"},
		{"POST", "/v1/messages", ask("limit", ""), 429, "rate_limit_error"},
		{"POST", "/v1/messages", ask("slow", ""), 504, "timeout_error"},
		{"POST", "/v1/messages", strings.Replace(ask("x", ""), `"m"`, `"none"`, 1), 404, "not_found_error"},
		{"POST", "/v1/messages", ask("x", `,"stream":7`), 400, "invalid_request_error"},
		{"GET", "/v1/messages", "", 405, "invalid_request_error"},
		{"POST", "/v1/messages/batches", "{}", 404, "not_found_error"},
		{"GET", "/v1/models/none", "", 404, "not_found_error"},
		{"GET", "/v1/models?limit=x", "", 400, "invalid_request_error"},
	} {
		answer := f.send(t, test.method, test.path, test.body)
		wantDocument(t, "ErrorResponse", answer.Body.String())
		if answer.Code != test.status || !strings.Contains(answer.Body.String(), `"type":"`+test.kind+`"`) || strings.Contains(answer.Body.String(), "broken") {
			t.Errorf("%s %s %s: %d %s", test.method, test.path, test.body, answer.Code, answer.Body)
		}
		got := [3]string{answer.Header().Get("Retry-After"), answer.Header().Get("Retry-After-Ms"), answer.Header().Get("X-Should-Retry")}
		if want := map[int][3]string{529: {"2", "1500", "true"}, 504: {"", "", "false"}}[test.status]; got != want {
			t.Errorf("%d: the headers for retries are %q, want %q", test.status, got, want)
		}
	}
	answer := f.post(t, "/v1/messages", ask("late", `,"stream":true`))
	all := events(t, answer.Body.String())
	if last := all[len(all)-1]; answer.Code != http.StatusOK || last.name != "error" || !strings.Contains(last.data, `"type":"api_error"`) || !strings.Contains(last.data, `"request_id":"req_`) {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// TestTooLong checks the error of a prompt that the context has no room for.
func TestTooLong(t *testing.T) {
	params := abilities()
	params["trident.context_length"] = "25"
	f := serve(t, Config{}, ends("x", "stop"), params)
	answer := f.post(t, "/v1/messages", request(`[{"role":"user","content":"`+strings.Repeat("a", 30)+`"}]`, ""))
	if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), `"message":"prompt is too long: This model's maximum context length is 25 tokens, but messages has 50 tokens`) {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// TestPing checks that an idle model causes ping events after the start of the message.
func TestPing(t *testing.T) {
	f := serve(t, Config{}, func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(&inference.Response{Idle: true})
		send(inferencetest.Token("x", "stop"))
		return nil
	}, abilities())
	answer := f.post(t, "/v1/messages", request(`[{"role":"user","content":"a"}]`, `,"stream":true`))
	all := events(t, answer.Body.String())
	if len(all) < 3 || all[0].name != "message_start" || all[1] != (event{"ping", `{"type":"ping"}`}) || all[2].name != "content_block_start" {
		t.Errorf("%v", all)
	}
}

// wellFormed checks the order of a stream's events, and returns the texts of its blocks by their types.
func wellFormed(t *rapid.T, all []event) (texts []string) {
	open, index := "", -1
	for i, e := range all {
		var data struct {
			Type         string
			Index        int
			ContentBlock struct{ Type string } `json:"content_block"`
			Delta        struct {
				Type, Text, Thinking, Signature string
				PartialJSON                     string `json:"partial_json"`
			}
		}
		if err := json.Unmarshal([]byte(e.data), &data); err != nil || data.Type != e.name {
			t.Fatalf("%v: %s %s", err, e.name, e.data)
		}
		if (i == 0) != (e.name == "message_start") || (i == len(all)-1) != (e.name == "message_stop") || (i == len(all)-2) != (e.name == "message_delta") {
			t.Fatalf("event %d is %s", i, e.name)
		}
		switch e.name {
		case "content_block_start":
			index++
			if open != "" || data.Index != index {
				t.Fatalf("block %d starts in %q", data.Index, open)
			}
			open = data.ContentBlock.Type
			texts = append(texts, open+" ")
		case "content_block_delta":
			kinds := map[string]string{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking", "input_json_delta": "tool_use"}
			if kinds[data.Delta.Type] != open || data.Index != index {
				t.Fatalf("%s in %s", e.data, open)
			}
			texts[len(texts)-1] += data.Delta.Text + data.Delta.Thinking + data.Delta.PartialJSON
		case "content_block_stop":
			if open == "" || data.Index != index {
				t.Fatalf("block %d stops in %q", data.Index, open)
			}
			open = ""
		}
	}
	if open != "" {
		t.Fatal("a block is open")
	}
	return texts
}

// compact returns JSON without white space and with sorted keys.
func compact(t *testing.T, text string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return string(encoded(value))
}

// TestRandomCuts checks that the events of a stream are well-formed and have the content of the
// non-streaming response, wherever the model's output is cut, with calls whose arguments are valid, cut or no JSON.
func TestRandomCuts(t *testing.T) {
	var text string
	var cuts []int
	f := serve(t, Config{}, func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		rest := text
		for _, n := range cuts {
			n = min(n, len(rest))
			send(inferencetest.Token(rest[:n], ""))
			rest = rest[n:]
		}
		send(inferencetest.Token(rest, "stop"))
		return nil
	}, abilities())
	pieces := []string{"<think>", "</think>", "hm é", "Hi. ", "<tool_call>", `{"name": "f", "arguments": {"a": "é😀"}}`, "</tool_call>", "\n", thinksAndCalls, `{"name":`, "END", `<tool_call>{"name": "f", "arguments": {"a": "b"c"}}</tool_call>`, `<tool_call>{"name": "f", "arguments": {"a": 1, "a": 2}}`, `<tool_call>{"name": "f", "arguments": {"a": [tru`}
	rapid.Check(t, func(rt *rapid.T) {
		text = strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(rt, "pieces"), "")
		cuts = rapid.SliceOfN(rapid.IntRange(0, 9), 0, 20).Draw(rt, "cuts")
		body := request(`[{"role":"user","content":"a"}]`, callFields+`,"stop_sequences":["END"],"stream":`)
		streamed := f.post(t, "/v1/messages", strings.TrimSuffix(body, "}")+"true}")
		if streamed.Code != http.StatusOK {
			rt.Fatalf("%d %s", streamed.Code, streamed.Body)
		}
		got := wellFormed(rt, events(t, streamed.Body.String()))
		whole := f.post(t, "/v1/messages", strings.TrimSuffix(body, "}")+"false}")
		var message struct {
			Content []struct {
				Type, Text, Thinking string
				Input                json.RawMessage
			}
		}
		if err := json.Unmarshal(whole.Body.Bytes(), &message); err != nil {
			rt.Fatal(err)
		}
		contents := map[string]string{}
		var calls []string
		for _, block := range message.Content {
			contents[block.Type] += block.Text + block.Thinking
			if block.Type == blockToolUse {
				calls = append(calls, compact(t, string(block.Input)))
			}
		}
		called := inputs(t, events(t, streamed.Body.String()))
		for i := range called {
			called[i] = compact(t, called[i])
		}
		if !slices.Equal(called, calls) {
			rt.Fatalf("streamed %q\nwhole    %q", called, calls)
		}
		joined := map[string]string{}
		for _, block := range got {
			kind, text, _ := strings.Cut(block, " ")
			if kind == blockToolUse {
				text = ""
			}
			joined[kind] += text
		}
		if fmt.Sprint(contents) != fmt.Sprint(joined) {
			rt.Fatalf("streamed %v\nwhole    %v", joined, contents)
		}
	})
}

// TestCountTokens checks that the number of tokens equals the usage of the same request, for 1,000
// generated requests.
func TestCountTokens(t *testing.T) {
	file, err := os.ReadFile(byteTokenizer + "/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := tokenizer.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	params := abilities()
	params["trident.chat_template"] = `{{ enable_thinking | default("unset") }}{{ reasoning_effort | default("unset") }}` + callTemplate
	f := serve(t, Config{}, func(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		n, err := engine.Count(ctx, inferencetest.Input(req, "text_input"), true, nil)
		send(&inference.Response{Final: true, Outputs: []inference.Output{
			inferencetest.Bytes("text_output", "x"), inferencetest.Bytes("finish_reason", "stop"), inferencetest.Uint32("num_input_tokens", uint32(n)), inferencetest.Uint32("num_output_tokens", 1),
		}})
		return err
	}, params)
	words := rapid.SampledFrom([]string{"a", "héllo 😀", "<|im_end|>", "x y\nz", "{}"})
	blocks := rapid.Custom(func(t *rapid.T) map[string]any {
		return rapid.SampledFrom([]map[string]any{
			{"type": "text", "text": words.Draw(t, "text")},
			{"type": "tool_result", "tool_use_id": "i", "content": words.Draw(t, "result"), "is_error": rapid.Bool().Draw(t, "failed")},
			{"type": "document", "source": map[string]any{"type": "text", "media_type": "text/plain", "data": words.Draw(t, "data")}},
		}).Draw(t, "block")
	})
	for i := range 1000 {
		body := rapid.Custom(func(t *rapid.T) map[string]any {
			body := map[string]any{"model": "m", "messages": []any{
				map[string]any{"role": "user", "content": rapid.SliceOfN(blocks, 1, 4).Draw(t, "blocks")},
				map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "thinking", "thinking": words.Draw(t, "thinking"), "signature": ""}, map[string]any{"type": "tool_use", "id": "i", "name": "f", "input": map[string]any{"a": words.Draw(t, "input")}}}},
				map[string]any{"role": "user", "content": words.Draw(t, "last")},
			}}
			switch rapid.IntRange(0, 2).Draw(t, "system") {
			case 1:
				body["system"] = words.Draw(t, "instructions")
			case 2:
				body["system"] = []any{map[string]any{"type": "text", "text": "x-anthropic-billing-header: a"}, map[string]any{"type": "text", "text": words.Draw(t, "instructions"), "cache_control": map[string]any{"type": "ephemeral"}}}
			}
			if kind := rapid.SampledFrom([]string{"", "enabled", "disabled", "adaptive"}).Draw(t, "thinking"); kind != "" {
				body["thinking"] = map[string]any{"type": kind}
			}
			if effort := rapid.SampledFrom([]string{"", "low", "medium", "max"}).Draw(t, "effort"); effort != "" {
				body["output_config"] = map[string]any{"effort": effort}
			}
			if rapid.Bool().Draw(t, "continued") {
				body["messages"] = append(body["messages"].([]any), map[string]any{"role": "assistant", "content": "The answer is"})
			}
			if rapid.Bool().Draw(t, "tools") {
				body["tools"] = []any{map[string]any{"name": "f", "description": words.Draw(t, "description"), "input_schema": map[string]any{"type": "object"}}}
				body["tool_choice"] = map[string]any{"type": rapid.SampledFrom([]string{"auto", "none", "any", "tool"}).Draw(t, "choice"), "name": "f"}
			}
			return body
		}).Example(i)
		counted := f.post(t, "/v1/messages/count_tokens", string(encoded(body)))
		var count struct {
			InputTokens int `json:"input_tokens"`
		}
		if err := json.Unmarshal(counted.Body.Bytes(), &count); err != nil || counted.Code != http.StatusOK {
			t.Fatalf("%v: %d %s", err, counted.Code, counted.Body)
		}
		body["max_tokens"] = 9
		answer := f.post(t, "/v1/messages", string(encoded(body)))
		if want := fmt.Sprintf(`"input_tokens":%d,`, count.InputTokens); count.InputTokens == 0 || !strings.Contains(answer.Body.String(), want) {
			t.Fatalf("counted %d, but %s\n%s", count.InputTokens, answer.Body, encoded(body))
		}
	}
	refused := f.post(t, "/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}]}`)
	if refused.Code != http.StatusBadRequest || !strings.Contains(refused.Body.String(), `"messages[0].content[0].source: the tokens of images can't be counted: only the model itself knows their number"`) {
		t.Errorf("%d %s", refused.Code, refused.Body)
	}
}
