package anthropic

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/test/pause"
)

// inputs returns the inputs of the calls in the events of a stream, as Anthropic's SDKs read them. Each piece
// continues the JSON of a call. The JSON so far must be empty or an object.
func inputs(tb testing.TB, all []event) []string {
	tb.Helper()
	var calls []string
	for _, e := range all {
		var data struct {
			ContentBlock struct{ Type string } `json:"content_block"`
			Delta        struct {
				Type        string
				PartialJSON string `json:"partial_json"`
			}
		}
		if err := json.Unmarshal([]byte(e.data), &data); err != nil {
			tb.Fatal(err)
		}
		if e.name == "content_block_start" && data.ContentBlock.Type == blockToolUse {
			calls = append(calls, "")
		}
		if data.Delta.Type != "input_json_delta" {
			continue
		}
		last := &calls[len(calls)-1]
		*last += data.Delta.PartialJSON
		var object map[string]any
		if *last != "" && json.Unmarshal([]byte(*last), &object) != nil {
			tb.Fatalf("the SDKs fail on %s", *last)
		}
	}
	return calls
}

// malformed returns the number of malformed calls that the log gets of a stream and of a non-streaming response with
// a call.
func malformed(tb testing.TB, arguments string) (numbers [2]int) {
	tb.Helper()
	deltas := func(yield func(inference.Delta, error) bool) {
		_ = yield(inference.Delta{ToolCalls: []inference.ToolCallPiece{{ID: "call_1", Name: "f", Arguments: []byte(arguments)}}}, nil) &&
			yield(inference.Delta{Usage: &inference.Usage{}}, nil)
	}
	e := &ending{turn: &turn{req: &inference.Request{ID: "msg_1", Model: "m"}}}
	record := &server.Record{}
	if err := writeEvents(httptest.NewRecorder(), record, &eventWriter{ending: e}, deltas); err != nil {
		tb.Fatal(err)
	}
	numbers[0] = record.MalformedCalls
	e.malformed = 0
	all, err := inference.Collect(deltas, 1)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := e.message(all); err != nil {
		tb.Fatal(err)
	}
	e.record(record, &all.Usage)
	numbers[1] = record.MalformedCalls
	return numbers
}

// TestMalformedCalls checks that calls have the same input in a stream and in the non-streaming response.
// Arguments that aren't a JSON object are a text in it, which the model reads again in the next request. The log
// has their number.
func TestMalformedCalls(t *testing.T) {
	for _, test := range []struct {
		name, arguments, input, prompt string
		finish                         string
		malformed                      int
	}{
		{"valid", `{"a":"é"}`, `{"a":"é"}`, `[f {"a": "é"}]`, "stop", 0},
		{"not JSON", `{"a": "b"c"}`, `{"INVALID_JSON":"{\"a\": \"b\"c\"}}"}`, `[f "{\"a\": \"b\"c\"}}"]`, "stop", 1}, // with the end of the call's own object
		{"cut", `{"command": "rm -rf /tmp`, `{"INVALID_JSON":"{\"command\": \"rm -rf /tmp"}`, `[f "{\"command\": \"rm -rf /tmp"]`, "length", 1},
		{"a key twice", `{"a": 1, "a": 2}`, `{"INVALID_JSON":"{\"a\": 1, \"a\": 2}"}`, `[f "{\"a\": 1, \"a\": 2}"]`, "stop", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := `<tool_call>{"name": "f", "arguments": ` + test.arguments
			if test.finish == "stop" {
				text += "}</tool_call>"
			}
			f := serve(t, Config{}, ends("<think></think>"+text, test.finish), abilities())
			for _, stream := range []string{"true", "false"} {
				answer := f.post(t, "/v1/messages", request(probed, callFields+`,"stream":`+stream))
				var got string
				if stream == "true" {
					got = strings.Join(inputs(t, events(t, answer.Body.String())), "\n")
				} else {
					_, after, _ := strings.Cut(answer.Body.String(), `"input":`)
					got, _, _ = strings.Cut(after, `}],"id"`)
				}
				if got != test.input {
					t.Errorf("stream %s: %s, want %s\n%s", stream, got, test.input, answer.Body)
				}
			}
			if got := malformed(t, test.arguments); got != [2]int{test.malformed, test.malformed} {
				t.Errorf("the log has %v malformed calls, want %d", got, test.malformed)
			}
			next := f.post(t, "/v1/messages", request(`[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"f","input":`+test.input+`}]}]`, callFields))
			if prompt := f.prompt(t); next.Code != http.StatusOK || !strings.Contains(prompt, test.prompt) {
				t.Errorf("%d, the prompt is %s", next.Code, prompt)
			}
		})
	}
}

// TestLongCall checks that a stream has empty pieces of the arguments while the model writes a long call, and the
// arguments at the end of the call.
func TestLongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ending{turn: &turn{req: &inference.Request{ID: "msg_1", Model: "m"}}}
		answer := httptest.NewRecorder()
		err := writeEvents(answer, &server.Record{}, &eventWriter{ending: e}, func(yield func(inference.Delta, error) bool) {
			piece := inference.ToolCallPiece{ID: "call_1", Name: "f", Arguments: []byte(`{"a":"`)}
			for range 40 { // seconds
				if pause.For(t.Context(), time.Second) != nil || !yield(inference.Delta{ToolCalls: []inference.ToolCallPiece{piece}}, nil) {
					return
				}
				piece = inference.ToolCallPiece{Arguments: []byte("b")}
			}
			piece = inference.ToolCallPiece{Arguments: []byte(`"}`)}
			_ = yield(inference.Delta{ToolCalls: []inference.ToolCallPiece{piece}, Finish: inference.FinishToolCalls}, nil) && yield(inference.Delta{Usage: &inference.Usage{}}, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		all := events(t, answer.Body.String())
		if got := inputs(t, all); len(got) != 1 || got[0] != `{"a":"`+strings.Repeat("b", 39)+`"}` {
			t.Errorf("inputs %q", got)
		}
		if n := strings.Count(answer.Body.String(), `"partial_json":""`); n != 2 {
			t.Errorf("%d empty pieces in %v", n, all)
		}
	})
}

// TestSeveralTexts checks the error about a model that writes several texts for a request, before and inside a
// stream.
func TestSeveralTexts(t *testing.T) {
	script := func(texts ...string) inferencetest.Script {
		return func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			for i, text := range texts {
				raw := inferencetest.Bytes("", text).Raw
				if i == len(texts)-1 {
					raw = append(raw, inferencetest.Bytes("", "another").Raw...)
				}
				send(&inference.Response{Final: i == len(texts)-1, Outputs: []inference.Output{{Name: "text_output", Type: "BYTES", Raw: raw}}})
			}
			return nil
		}
	}
	engine := func(script inferencetest.Script) *inferencetest.Engine {
		e := inferencetest.New()
		e.AddOther("m", &kserve.ModelConfig{
			ModelTransactionPolicy: &kserve.ModelTransactionPolicy{Decoupled: true}, Input: []*kserve.ModelInput{{Name: "text_input", DataType: kserve.DataType_TYPE_STRING, Dims: []int64{1}}, {Name: "max_tokens", DataType: kserve.DataType_TYPE_INT32, Dims: []int64{1}, Optional: true}},
			Output: []*kserve.ModelOutput{{Name: "text_output"}}, Parameters: map[string]*kserve.ModelParameter{"trident.chat_template": {StringValue: inferencetest.ChatTemplate}},
		}, script)
		return e
	}
	const message = "the model `m` writes several texts for a request, and a message has one: use POST /v1/chat/completions"
	for _, test := range []struct {
		name, stream string
		texts        []string
		status       int
	}{
		{"whole", "false", []string{"a"}, http.StatusBadRequest},
		{"in a stream", "true", []string{"a", "b"}, http.StatusOK},
	} {
		f := serveOn(t, Config{}, engine(script(test.texts...)))
		answer := f.post(t, "/v1/messages", request(probed, `,"stream":`+test.stream))
		body := answer.Body.String()
		if answer.Code != test.status || !strings.Contains(body, `"message":"model: `+message+`"`) && !strings.Contains(body, `"message":"`+message+`"`) {
			t.Errorf("%s: %d %s", test.name, answer.Code, body)
		}
		if test.stream == "true" {
			if all := events(t, body); all[len(all)-1].name != "error" || strings.Contains(body, "another") {
				t.Errorf("%v", all)
			}
		}
	}
}

// TestToolChoice checks which tools the model reads and what constrains the answer, for each choice, and that
// disable_parallel_tool_use ends the answer after one call.
func TestToolChoice(t *testing.T) {
	const two = `<tool_call>{"name": "f", "arguments": {}}</tool_call><tool_call>{"name": "g", "arguments": {}}</tool_call>`
	const array = `[{"name": "f", "parameters": {}}, {"name": "g", "parameters": {}}]`
	for _, test := range []struct {
		name, choice, text string
		calls, constrained string // names of the calls, and a part of the constraint
		shown              bool   // the model reads the tools
	}{
		{"auto", `{"type":"auto"}`, two, "f g", "", true},
		{"auto, one call", `{"type":"auto","disable_parallel_tool_use":true}`, two, "f", "", true},
		{"any", `{"type":"any"}`, array, "f g", `{\"json\":{\"type\":\"array\",`, true},
		{"any, one call", `{"type":"any","disable_parallel_tool_use":true}`, array, "f", `{\"json\":{\"anyOf\":[`, true},
		{"tool", `{"type":"tool","name":"g"}`, `{}`, "g", `{\"json\":{\"type\":\"object\",`, true},
		{"none", `{"type":"none"}`, "text", "", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := serve(t, Config{}, ends("<think></think>"+test.text, "stop"), abilities())
			for _, stream := range []string{"false", "true"} {
				answer := f.post(t, "/v1/messages", request(probed, `,"tools":[{"name":"f","input_schema":{}},{"name":"g","input_schema":{}}],"tool_choice":`+test.choice+`,"stream":`+stream))
				var names []string
				for _, part := range strings.Split(answer.Body.String(), `"type":"tool_use","id":"`)[1:] {
					_, part, _ = strings.Cut(part, `"name":"`)
					name, _, _ := strings.Cut(part, `"`)
					names = append(names, name)
				}
				if got := strings.Join(names, " "); answer.Code != http.StatusOK || got != test.calls || answer.Header().Get("X-Trident-Ignored-Fields") != "" {
					t.Errorf("stream %s: calls %q, want %q: %d %s", stream, got, test.calls, answer.Code, answer.Body)
				}
				if reason := `"stop_reason":"tool_use"`; strings.Contains(answer.Body.String(), reason) != (test.calls != "") {
					t.Errorf("stream %s: %s", stream, answer.Body)
				}
			}
			all := f.engine.Requests()
			sent := inferencetest.Input(all[0], "sampling_parameters")
			if !strings.Contains(sent, test.constrained) || strings.Contains(sent, "structured_outputs") != (test.constrained != "") {
				t.Errorf("sent %s, want %s", sent, test.constrained)
			}
			if shown := strings.Contains(f.prompt(t), `"name": "g"`); shown != test.shown {
				t.Errorf("the prompt is %s", f.prompt(t))
			}
		})
	}
}
