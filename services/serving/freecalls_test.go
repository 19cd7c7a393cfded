package serving_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestStrictTools checks what a model gets for strict tools that it may call, and which field is
// reported as unenforced, for the structured outputs backends, the formats of calls, and the fields
// beside the tools.
func TestStrictTools(t *testing.T) {
	strict := func(name, parameters string) json.RawMessage {
		return json.RawMessage(`{"type":"function","function":{"name":"` + name + `","strict":true,"parameters":` + parameters + `}}`)
	}
	closed := strict("get", `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`)
	beyond := strict("set", `{"type":"object","properties":{"n":{"type":"integer","multipleOf":3}}}`)
	spread := strict("put", `{"type":"object","properties":{"a":{"type":"array","items":{},"uniqueItems":true}}}`)
	plain := json.RawMessage(`{"type":"function","function":{"name":"now"}}`)
	const get = `{\"begin\":\"<tool_call>\n{\\\"name\\\": \\\"get\\\", \\\"arguments\\\": \",\"schema\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},\"required\":[\"city\"],\"additionalProperties\":false},\"end\":\"}\n</tool_call>\"}`
	tests := []struct {
		name            string
		backend, parser string
		tools           []json.RawMessage
		steer           func(*inference.Request)
		sent, others    string // what the constraint contains, or "" for no constraint, and what it must not contain
		field, reason   string
	}{
		{"xgrammar", "xgrammar", "hermes", []json.RawMessage{closed, plain}, nil, get, "", "", ""},
		{"one of two", "xgrammar", "hermes", []json.RawMessage{beyond, closed}, nil, get, "multipleOf", "tools[0].function.strict", "multipleOf"},
		{"two that xgrammar doesn't enforce", "xgrammar", "hermes", []json.RawMessage{plain, beyond, spread}, nil, "", "structured_outputs", "tools[1].function.strict", "has no effect: tools[1].function.strict: structures[0].schema.properties.n.multipleOf:"},
		{"none that xgrammar enforces", "xgrammar", "hermes", []json.RawMessage{plain, beyond}, nil, "", "structured_outputs", "tools[1].function.strict", "multipleOf"},
		{"an allowed one", "xgrammar", "hermes", []json.RawMessage{closed, plain}, func(r *inference.Request) { r.ToolChoice.Allowed = []string{"get"} }, get, "now", "", ""},
		{"one that isn't allowed", "xgrammar", "hermes", []json.RawMessage{closed, plain}, func(r *inference.Request) { r.ToolChoice.Allowed = []string{"now"} }, `"regex`, "get", "", ""},
		{"an engine that may run guidance", "auto", "hermes", []json.RawMessage{closed}, nil, "", "structured_outputs", "tools[0].function.strict", "trident.structured_outputs must be xgrammar"},
		{"an engine that may run guidance, allowed", "auto", "hermes", []json.RawMessage{closed, plain}, func(r *inference.Request) { r.ToolChoice.Allowed = []string{"get"} }, `"regex`, "structural_tag", "tools[0].function.strict", "xgrammar"},
		{"another format", "xgrammar", "llama3_json", []json.RawMessage{closed}, nil, "", "structured_outputs", "tools[0].function.strict", "calls in the format llama3_json"},
		{"allowed tools of a format beyond ASCII", "xgrammar", "deepseek_v31", []json.RawMessage{plain, closed}, func(r *inference.Request) { r.ToolChoice.Allowed = []string{"now"} }, `\"begin\":\"<｜tool▁call▁begin｜>now<｜tool▁sep｜>\",\"schema\":{\"type\":\"object\"},\"end\":\"<｜tool▁call▁end｜>\"`, "get", "", ""},
		{"no strict tools", "xgrammar", "hermes", []json.RawMessage{plain}, nil, "", "structured_outputs", "", ""},
		{"no calls", "auto", "hermes", []json.RawMessage{closed}, func(r *inference.Request) { r.ToolChoice.Mode = inference.ToolNone }, "", "structured_outputs", "", ""},
		{"a forced call", "auto", "hermes", []json.RawMessage{closed}, func(r *inference.Request) { r.ToolChoice.Mode = inference.ToolRequired }, "json", "structural_tag", "", ""},
		{"a forced call in the model's form", "xgrammar", "hermes", []json.RawMessage{closed}, func(r *inference.Request) { r.ToolChoice.Mode = inference.ToolRequired }, `"tags_with_separator"`, "anyOf", "", ""},
		{"a forced call of a named tool in the model's form", "xgrammar", "kimi_k2", []json.RawMessage{closed, plain}, func(r *inference.Request) {
			r.ToolChoice = inference.ToolChoice{Mode: inference.ToolNamed, Name: "now"}
		}, `<|tool_call_begin|>functions.now:`, "get", "", ""},
		{"a forced call of a form that isn't JSON", "xgrammar", "qwen3_coder", []json.RawMessage{closed}, func(r *inference.Request) { r.ToolChoice.Mode = inference.ToolRequired }, "anyOf", "structural_tag", "", ""},
		{"a schema", "auto", "hermes", []json.RawMessage{closed}, func(r *inference.Request) {
			r.Sampling.Structured = &inference.Structured{Kind: "json_object", Value: json.RawMessage("true"), Param: "response_format"}
		}, "json", "structural_tag", "", ""},
		{"another constraint", "xgrammar", "hermes", []json.RawMessage{closed}, func(r *inference.Request) {
			r.Sampling.Structured = &inference.Structured{Kind: "regex", Value: json.RawMessage(`"a+"`), Param: "guided_regex"}
		}, "a+", "structural_tag", "tools[0].function.strict", "the response is constrained by guided_regex"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), map[string]string{
				"trident.chat_template": inferencetest.ChatTemplate, "trident.tool_call_parser": tt.parser, "trident.structured_outputs": tt.backend,
			})
			req := inferencetest.ChatRequest(1)
			req.Tools = tt.tools
			if tt.steer != nil {
				tt.steer(req)
			}
			field, reason := "", ""
			req.Unenforced = func(f, r string) error {
				field, reason = field+f, reason+r
				return nil
			}
			if got := parse(t.Context(), s, req); got.err != nil {
				t.Fatal(got.err)
			}
			if field != tt.field || !strings.Contains(reason, tt.reason) {
				t.Errorf("%q: %s", field, reason)
			}
			var sampling struct {
				Outputs string `json:"structured_outputs"`
			}
			raw := inferencetest.Input(engine.Requests()[0], "sampling_parameters")
			if err := json.Unmarshal([]byte(raw), &sampling); err != nil {
				t.Fatal(err)
			}
			if tag, ok := strings.CutPrefix(sampling.Outputs, `{"structural_tag":`); ok {
				if err := json.Unmarshal([]byte(strings.TrimSuffix(tag, "}")), &sampling.Outputs); err != nil {
					t.Fatal(err)
				}
			}
			want := strings.NewReplacer(`\\\"`, `\"`, `\"`, `"`).Replace(tt.sent)
			if !strings.Contains(sampling.Outputs, want) || tt.others != "" && strings.Contains(raw, tt.others) {
				t.Errorf("sent %s\nwant %s", raw, want)
			}
		})
	}
}

// TestStrictToolsThatAreRefused checks that the error of [inference.Request.Unenforced] refuses the
// request before the model is called.
func TestStrictToolsThatAreRefused(t *testing.T) {
	s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), map[string]string{
		"trident.chat_template": inferencetest.ChatTemplate, "trident.tool_call_parser": "hermes",
	})
	req := inferencetest.ChatRequest(1)
	req.Tools = []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"get","strict":true}}`)}
	refusal := inference.Unsupported("tools[0].function.strict", "no")
	req.Unenforced = func(string, string) error { return refusal }
	if got := parse(t.Context(), s, req); !errors.Is(got.err, refusal) || len(engine.Requests()) != 0 {
		t.Errorf("got %+v, %d requests", got, len(engine.Requests()))
	}
}

// TestForcedCallsInTheModelsForm checks that forced calls that were constrained to the model's own form
// are read in it, and that the engine leaves the special tokens of the form in the text.
func TestForcedCallsInTheModelsForm(t *testing.T) {
	const answer = `<tool_call>` + "\n" + `{"name": "now", "arguments": {"zone": "Rome"}}` + "\n</tool_call>"
	for _, tt := range []struct {
		name, backend, answer string
		choice                inference.ToolChoice
		calls, sent           string
	}{
		{"required", "xgrammar", answer + "\n" + answer, inference.ToolChoice{Mode: inference.ToolRequired}, `0:now{"zone": "Rome"}1:now{"zone": "Rome"}`, `"skip_special_tokens":false`},
		{"named", "xgrammar", answer, inference.ToolChoice{Mode: inference.ToolNamed, Name: "now"}, `0:now{"zone": "Rome"}`, `"skip_special_tokens":false`},
		{"JSON", "auto", `[{"name": "now", "arguments": {"zone": "Rome"}}]`, inference.ToolChoice{Mode: inference.ToolRequired}, `0:now{"zone": "Rome"}`, `anyOf`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText(tt.answer), map[string]string{
				"trident.chat_template": inferencetest.ChatTemplate, "trident.tool_call_parser": "hermes", "trident.structured_outputs": tt.backend,
			})
			req := inferencetest.ChatRequest(1)
			req.Tools, req.ToolChoice = []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"now"}}`)}, tt.choice
			got := parse(t.Context(), s, req)
			if got.err != nil || got.calls != tt.calls || got.text != "" || got.finish != inference.FinishToolCalls {
				t.Errorf("got %+v", got)
			}
			if sent := inferencetest.Input(engine.Requests()[0], "sampling_parameters"); !strings.Contains(sent, tt.sent) {
				t.Errorf("sent %s", sent)
			}
		})
	}
}
