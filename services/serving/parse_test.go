package serving_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// toolTemplate is a chat template that shows calls and reasoning as Qwen 3's does. It also prints the
// number of tools.
const toolTemplate = inferencetest.ChatTemplate + `{% if tools %}({{ tools|length }} tools){% endif %}` +
	`{# <tool_call>{"name": f, "arguments": {}}</tool_call> </think> #}`

// TestParsersOfModels checks that a model's parameters for the parsers of tool calls and reasoning
// take precedence over detection from its chat template.
func TestParsersOfModels(t *testing.T) {
	tests := []struct {
		name     string
		template string
		params   map[string]string
		want     string
	}{
		{"a plain template", inferencetest.ChatTemplate, nil, "none"},
		{"detected", toolTemplate, nil, "hermes, qwen3"},
		{"named", toolTemplate, map[string]string{"trident.tool_call_parser": "llama3", "trident.reasoning_parser": "deepseek_r1"}, "llama3, deepseek_r1"},
		{"one switched off", toolTemplate, map[string]string{"trident.tool_call_parser": "none"}, "none, qwen3"},
		{"both switched off", toolTemplate, map[string]string{"trident.tool_call_parser": "none", "trident.reasoning_parser": "none"}, "none"},
		{"unknown", toolTemplate, map[string]string{"trident.tool_call_parser": "klingon", "trident.reasoning_parser": "hermes"}, "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			params := map[string]string{"trident.chat_template": tt.template}
			maps.Copy(params, tt.params)
			s, _ := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), params)
			named, err := s.Catalog().Model(t.Context(), "m")
			if err != nil {
				t.Fatal(err)
			}
			card := named.Card
			if got := card.Parsers(); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

var tools = []json.RawMessage{
	json.RawMessage(`{"type":"function","function":{"name":"get","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}`),
	json.RawMessage(`{"type":"function","function":{"name":"now"}}`),
}

// parsed is a parsed answer: the content that each Delta added, in order.
type parsed struct {
	text, reasoning, calls string
	finish                 inference.FinishReason
	usage                  *inference.Usage
	err                    *inference.Error
	deltasWithMore         int // number of Deltas with More set
}

func parse(ctx context.Context, s *serving.Service, req *inference.Request) parsed {
	var p parsed
	for d, err := range inferencetest.Generate(ctx, s, req) {
		if err != nil {
			p.err = inference.AsError(err)
			return p
		}
		if d.More {
			p.deltasWithMore++
		}
		p.text += string(d.Text)
		p.reasoning += string(d.Reasoning)
		for _, c := range d.ToolCalls {
			if c.ID != "" {
				p.calls += fmt.Sprintf("%d:%s", c.Index, c.Name)
			}
			p.calls += string(c.Arguments)
		}
		p.finish += d.Finish // concatenation shows a repeated finish reason
		if d.Usage != nil {
			p.usage = new(*d.Usage)
		}
	}
	return p
}

func TestAnswersAreParsed(t *testing.T) {
	const get, now = `<tool_call>{"name": "get", "arguments": {"city": "Paris"}}</tool_call>`, `<tool_call>{"name": "now", "arguments": {}}</tool_call>`
	off := map[string]string{"trident.tool_call_parser": "none", "trident.reasoning_parser": "none"}
	tests := []struct {
		name   string
		params map[string]string
		steer  func(*inference.Request)
		say    []string
		want   parsed
		tokens int // number of tokens until the model was stopped
	}{
		{
			"a call", nil, nil,
			[]string{"<tool", `_call>{"name": "ge`, `t", "arguments": {"city": "Pa`, `ris"}}</tool_call>`, ""},
			parsed{calls: `0:get{"city": "Paris"}`, finish: "tool_calls"},
			5,
		},
		{"text before it", nil, nil, []string{"Let me see.", get}, parsed{text: "Let me see.", calls: `0:get{"city": "Paris"}`, finish: "tool_calls"}, 2},
		{"two in one piece", nil, nil, []string{get + now, ""}, parsed{calls: `0:get{"city": "Paris"}1:now{}`, finish: "tool_calls"}, 2},
		{"a call that isn't allowed", nil, func(r *inference.Request) { r.ToolChoice.Allowed = []string{"get"} }, []string{get, now, ""}, parsed{calls: `0:get{"city": "Paris"}`, text: `{"name": "now", "arguments": {}}`, finish: "tool_calls"}, 3},
		{"one of two", nil, func(r *inference.Request) { r.SingleCall = true }, []string{get, now, "x"}, parsed{calls: `0:get{"city": "Paris"}`, finish: "tool_calls"}, 1},
		{"one of two that isn't allowed", nil, func(r *inference.Request) { r.SingleCall, r.ToolChoice.Allowed = true, []string{"get"} }, []string{now, get}, parsed{text: `{"name": "now", "arguments": {}}`, finish: "stop"}, 1},
		{"a message that is continued", map[string]string{"trident.reasoning_parser": "deepseek_r1"}, func(r *inference.Request) {
			r.Messages = append(r.Messages, inference.Message{Role: "assistant", Text: "Hello"})
			r.Closed, r.Continue = true, true
		}, []string{" you", "</think>"}, parsed{text: " you</think>", finish: "stop"}, 2},
		{"reasoning before it", nil, nil, []string{"<think>", "Hm é", "</think>", get}, parsed{reasoning: "Hm é", calls: `0:get{"city": "Paris"}`, finish: "tool_calls"}, 4},
		{"text alone", nil, nil, []string{"Hel", "lo"}, parsed{text: "Hello", finish: "stop"}, 2},
		{"a call that wasn't", nil, nil, []string{"<tool_call>", "x"}, parsed{text: "<tool_call>x", finish: "stop"}, 2},
		{"no tools", nil, func(r *inference.Request) { r.Tools = nil }, []string{"<think>a</think>", now}, parsed{reasoning: "a", text: now, finish: "stop"}, 2},
		{"no calls wanted", nil, func(r *inference.Request) { r.ToolChoice.Mode = inference.ToolNone }, []string{now}, parsed{text: now, finish: "stop"}, 1},
		{"a stop text behind it", nil, func(r *inference.Request) { r.Sampling.Stop = []string{"STOP"} }, []string{now, "ST", "OP", "x"}, parsed{calls: "0:now{}", finish: "tool_calls"}, 3},
		{"required", off, func(r *inference.Request) { r.ToolChoice.Mode = inference.ToolRequired }, []string{`[{"name":"now","argu`, `ments":{}}]`}, parsed{calls: "0:now{}", finish: "tool_calls"}, 2},
		{
			"named", off, func(r *inference.Request) {
				r.ToolChoice = inference.ToolChoice{Mode: inference.ToolNamed, Name: "get"}
			},
			[]string{`{"city":`, `"Rome"}`},
			parsed{calls: `0:get{"city":"Rome"}`, finish: "tool_calls"},
			2,
		},
		{"required, reasoning assumed", map[string]string{"trident.reasoning_parser": "deepseek_r1"}, func(r *inference.Request) { r.ToolChoice.Mode = inference.ToolRequired }, []string{`[{"name":"now","arguments":{}}]`}, parsed{calls: "0:now{}", finish: "tool_calls"}, 1},
		{"too long", nil, nil, []string{`<tool_call>{"name": "get", "arguments": {"city": "`, strings.Repeat("x", inference.DefaultMaxParseBytes), "y", "z"}, parsed{finish: "length"}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			params := map[string]string{"trident.chat_template": toolTemplate}
			maps.Copy(params, tt.params)
			s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText(tt.say...), params)
			req := inferencetest.ChatRequest(1)
			req.Tools = tools
			if tt.steer != nil {
				tt.steer(req)
			}
			got := parse(t.Context(), s, req)
			if got.err != nil {
				t.Fatal(got.err)
			}
			if tokens := got.usage.CompletionTokens; tokens != tt.tokens || engine.Active() != 0 {
				t.Errorf("left after %d tokens, %d streams are active", tokens, engine.Active())
			}
			if tt.want.finish == inference.FinishLength {
				got.calls = "" // the calls up to the limit
			}
			if got.usage, got.deltasWithMore = nil, 0; got != tt.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestBoundOfCalls checks that the configured limit on tool calls applies, and that the model is
// stopped at the limit.
func TestBoundOfCalls(t *testing.T) {
	s, engine := inferencetest.Serve(t, serving.Config{MaxCallBytes: 100}, inferencetest.StreamText(`<tool_call>{"name": "get", "arguments": {"city": "`, strings.Repeat("x", 100), "y", "z"), map[string]string{"trident.chat_template": toolTemplate})
	req := inferencetest.ChatRequest(1)
	req.Tools = tools
	got := parse(t.Context(), s, req)
	if got.err != nil || got.finish != inference.FinishLength || got.usage.CompletionTokens != 2 || engine.Active() != 0 {
		t.Errorf("got %+v, %d streams are active", got, engine.Active())
	}
}

// TestChoicesHaveOwnParsers checks that the tool calls of several choices (n > 1) of a chat are
// parsed independently.
func TestChoicesHaveOwnParsers(t *testing.T) {
	s, _ := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("<think>a</think>", `<tool_call>{"name": "no`, `w", "arguments": {}}`, "</tool_call>"),
		map[string]string{"trident.chat_template": toolTemplate})
	req := inferencetest.ChatRequest(5)
	req.Tools = tools
	reasoning, calls, finish := map[int]string{}, map[int]string{}, map[int]inference.FinishReason{}
	ids := map[string]bool{}
	for d, err := range inferencetest.Generate(t.Context(), s, req) {
		if err != nil {
			t.Fatal(err)
		}
		reasoning[d.Index] += string(d.Reasoning)
		finish[d.Index] += d.Finish
		for _, c := range d.ToolCalls {
			calls[d.Index] += c.Name + string(c.Arguments)
			if c.ID != "" {
				ids[c.ID] = strings.HasPrefix(c.ID, "call_")
			}
		}
	}
	for i := range 5 {
		if reasoning[i] != "a" || calls[i] != "now{}" || finish[i] != inference.FinishToolCalls {
			t.Errorf("choice %d: %q, %q, %s", i, reasoning[i], calls[i], finish[i])
		}
	}
	if len(ids) != 5 {
		t.Errorf("ids %v", ids)
	}
}

// TestPiecesAreFlushedTogether checks that all pieces of a response except the last have More set. The
// last one has More set only if the model has more.
func TestPiecesAreFlushedTogether(t *testing.T) {
	more := make(chan struct{})
	script := func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(inferencetest.Token(`<think>a</think>b<tool_call>{"name": "now", "arguments": {"x": 1`, ""))
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
		send(inferencetest.Token(`}}</tool_call>`, "stop"))
		return nil
	}
	s, _ := inferencetest.Serve(t, serving.Config{}, script, map[string]string{"trident.chat_template": toolTemplate})
	req := inferencetest.ChatRequest(1)
	req.Tools = tools
	var waits []bool
	for d, err := range inferencetest.Generate(t.Context(), s, req) {
		if err != nil {
			t.Fatal(err)
		}
		waits = append(waits, d.More)
		if !d.More && d.Usage == nil {
			close(more) // a second call would panic
		}
	}
	if len(waits) < 6 { // there are deltas of reasoning, text, call, arguments, finish and usage
		t.Errorf("got %v", waits)
	}
}

func TestWhatTheModelIsSent(t *testing.T) {
	const calls = `{\"type\":\"object\",\"properties\":{\"name\":{\"const\":\"get\"},\"arguments\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}}},\"required\":[\"name\",\"arguments\"],\"additionalProperties\":false},` +
		`{\"type\":\"object\",\"properties\":{\"name\":{\"const\":\"now\"},\"arguments\":{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}},\"required\":[\"name\",\"arguments\"],\"additionalProperties\":false}`
	const required = `{\"json\":{\"type\":\"array\",\"items\":{\"anyOf\":[` + calls + `]},\"minItems\":1}}`
	ownSchema := func() *inference.Structured {
		return &inference.Structured{Kind: "json", Value: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`), Param: "response_format.json_schema.schema"}
	}
	plain := map[string]string{"trident.tool_call_parser": "none", "trident.reasoning_parser": "none"}
	tests := []struct {
		name             string
		params           map[string]string
		steer            func(*inference.Request)
		prompt, sampling string
	}{
		{"auto", nil, nil, "[user]hi[assistant](2 tools)", `{"max_tokens":16,"skip_special_tokens":false}`},
		{"none", nil, func(r *inference.Request) { r.ToolChoice.Mode = inference.ToolNone }, "[user]hi[assistant]", `{"max_tokens":16}`},
		{
			"auto beside a schema", nil, func(r *inference.Request) { r.Sampling.Structured = ownSchema() }, "[user]hi[assistant](2 tools)",
			`{"max_tokens":16,"structured_outputs":"{\"json\":{\"anyOf\":[` + calls + `,{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}]}}"}`,
		},
		{
			"auto beside another constraint", nil, func(r *inference.Request) {
				r.Sampling.Structured = &inference.Structured{Kind: "regex", Value: json.RawMessage(`"a+"`), Param: "structured_outputs.regex"}
			}, "[user]hi[assistant](2 tools)", `{"max_tokens":16,"skip_special_tokens":false,"structured_outputs":"{\"regex\":\"a+\"}"}`,
		},
		{
			"none beside a schema", nil, func(r *inference.Request) {
				r.ToolChoice.Mode, r.Sampling.Structured = inference.ToolNone, ownSchema()
			}, "[user]hi[assistant]", `{"max_tokens":16,"structured_outputs":"{\"json\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}}"}`,
		},
		{
			"required beside a schema", nil, func(r *inference.Request) {
				r.ToolChoice.Mode, r.Sampling.Structured = inference.ToolRequired, ownSchema()
			}, "[user]hi[assistant](2 tools)", `{"max_tokens":16,"structured_outputs":"` + required + `"}`,
		},
		{
			"required, one allowed", plain, func(r *inference.Request) {
				r.ToolChoice = inference.ToolChoice{Mode: inference.ToolRequired, Allowed: []string{"now"}}
				r.SingleCall = true
			}, "[user]hi[assistant](2 tools)",
			`{"max_tokens":16,"structured_outputs":"{\"json\":{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"name\":{\"const\":\"now\"},\"arguments\":{\"$ref\":\"#/$defs/tool1\"}},\"required\":[\"name\",\"arguments\"],\"additionalProperties\":false}],` +
				`\"$defs\":{\"tool1\":{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}}}}"}`,
		},
		{
			name: "auto, one allowed", params: map[string]string{"trident.tool_call_parser": "qwen3_coder", "trident.reasoning_parser": "none"},
			steer: func(r *inference.Request) { r.ToolChoice.Allowed = []string{"now"} }, prompt: "[user]hi[assistant](2 tools)",
			sampling: `{"max_tokens":16,"skip_special_tokens":false,"structured_outputs":"{\"regex\":\"[^<]*(?:<(?:[^<f][^<]*|f(?:[^<u][^<]*|u(?:[^<n][^<]*|n(?:[^<c][^<]*|c(?:[^<t][^<]*|t(?:[^<i][^<]*|i(?:[^<o][^<]*|o(?:[^<n][^<]*|n(?:[^<=][^<]*)?)?)?)?)?)?)?)?)?|<function=(?:now)>[^<]*)*\"}"}`,
		},
		{"auto with empty tools", nil, func(r *inference.Request) { r.Tools = []json.RawMessage{} }, "[user]hi[assistant]", `{"max_tokens":16}`},
		{"none with empty tools", nil, func(r *inference.Request) { r.Tools, r.ToolChoice.Mode = nil, inference.ToolNone }, "[user]hi[assistant]", `{"max_tokens":16}`},
		{"no special tokens", map[string]string{"trident.tool_call_parser": "json"}, nil, "[user]hi[assistant](2 tools)", `{"max_tokens":16}`},
		{"required", plain, func(r *inference.Request) { r.ToolChoice.Mode = inference.ToolRequired }, "[user]hi[assistant](2 tools)", `{"max_tokens":16,"structured_outputs":"` + required + `"}`},
		{
			"named", plain, func(r *inference.Request) {
				r.ToolChoice = inference.ToolChoice{Mode: inference.ToolNamed, Name: "get"}
			},
			"[user]hi[assistant](2 tools)", `{"max_tokens":16,"structured_outputs":"{\"json\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}}}"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			params := map[string]string{"trident.chat_template": toolTemplate}
			maps.Copy(params, tt.params)
			s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), params)
			req := inferencetest.ChatRequest(1)
			req.Tools = tools
			if tt.steer != nil {
				tt.steer(req)
			}
			given, offered := req.Sampling.Structured, len(req.Tools)
			if got := parse(t.Context(), s, req); got.err != nil {
				t.Fatal(got.err)
			}
			sent := engine.Requests()[0]
			if got := inferencetest.Input(sent, "text_input"); got != tt.prompt {
				t.Errorf("prompt %q", got)
			}
			if got := inferencetest.Input(sent, "sampling_parameters"); got != tt.sampling {
				t.Errorf("sampling %s\nwant     %s", got, tt.sampling)
			}
			if req.Sampling.Structured != given || req.Sampling.SkipSpecialTokens != nil || len(req.Tools) != offered {
				t.Error("the request was changed")
			}
		})
	}
}

func TestToolsThatAreRefused(t *testing.T) {
	parser := func(name string) map[string]string {
		return map[string]string{"trident.tool_call_parser": name, "trident.structured_outputs": "none"}
	}
	some := func(r *inference.Request) { r.ToolChoice.Allowed = []string{"now"} }
	tests := []struct {
		name    string
		params  map[string]string
		steer   func(*inference.Request)
		param   string
		reason  inference.Reason
		message string
	}{
		{"some tools of a model whose calls have no certain beginning", parser("llama3_json"), some, "tool_choice", inference.ReasonUnsupported, "calls in the format llama3_json can't be restricted to some of the tools"},
		{"some tools of an engine without structured outputs", parser("hermes"), some, "tool_choice", inference.ReasonUnsupported, "the model `m` has no structured outputs"},
		{"more tools than an expression may name", map[string]string{"trident.tool_call_parser": "hermes"}, func(r *inference.Request) {
			r.ToolChoice.Allowed = []string{strings.Repeat("x", budget.PatternBytes)}
		}, "tool_choice", inference.ReasonInvalidValue, "tool_choice allows too many tools: the regular expression with their names must not be longer than 16384 bytes"},
		{"some tools beside another constraint", parser("hermes"), func(r *inference.Request) {
			some(r)
			r.Sampling.Structured = &inference.Structured{Kind: "regex", Value: json.RawMessage(`"a"`), Param: "structured_outputs.regex"}
		}, "structured_outputs.regex", inference.ReasonInvalidValue, "a tool_choice of allowed tools can't be used together"},
		{"no parser", nil, func(*inference.Request) {}, "tools", inference.ReasonUnsupported, "Set it by inference.SettingToolParser, or by the parameter trident.tool_call_parser in its config.pbtxt"},
		{"a schema beside tools, for an engine without structured outputs", parser("hermes"), func(r *inference.Request) {
			r.Sampling.Structured = &inference.Structured{Kind: "json_object", Value: json.RawMessage("true"), Param: "response_format"}
		}, "response_format", inference.ReasonUnsupported, "response_format is not supported: the model `m` has no structured outputs"},
		{"no such tool among none", nil, func(r *inference.Request) {
			r.Tools, r.ToolChoice = nil, inference.ToolChoice{Mode: inference.ToolNamed, Name: "get"}
		}, "tool_choice", inference.ReasonInvalidValue, "`get`, which is not in tools"},
		{"no tools", nil, func(r *inference.Request) { r.Tools, r.ToolChoice.Mode = nil, inference.ToolRequired }, "tool_choice", inference.ReasonInvalidValue, "the request has no tools"},
		{"no such tool", nil, func(r *inference.Request) { r.ToolChoice = inference.ToolChoice{Mode: inference.ToolNamed, Name: "x"} }, "tool_choice", inference.ReasonInvalidValue, "`x`"},
		{"two constraints", nil, func(r *inference.Request) {
			r.ToolChoice.Mode = inference.ToolRequired
			r.Sampling.Structured = &inference.Structured{Kind: "regex", Value: json.RawMessage(`"a"`), Param: "structured_outputs.regex"}
		}, "structured_outputs.regex", inference.ReasonInvalidValue, "can't be used together"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			params := inferencetest.WithTemplate()
			maps.Copy(params, tt.params)
			s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), params)
			req := inferencetest.ChatRequest(1)
			req.Tools = tools
			tt.steer(req)
			got := parse(t.Context(), s, req)
			if e := got.err; e == nil || e.Code != inference.CodeInvalid || e.Param != tt.param || e.Reason != tt.reason || !strings.Contains(e.Message, tt.message) {
				t.Errorf("got %+v", e)
			}
			if len(engine.Requests()) != 0 {
				t.Error("the engine was asked")
			}
		})
	}
}

// TestAnswersAreParsedAtAnySplit checks that the split of the text between responses doesn't
// matter, also with a stop sequence.
func TestAnswersAreParsedAtAnySplit(t *testing.T) {
	const text = `<think>Hm é</think>Wait €.<tool_call>{"name": "get", "arguments": {"city": "Zürich"}}</tool_call>`
	want := parsed{reasoning: "Hm é", text: "Wait €.", calls: `0:get{"city": "Zürich"}`, finish: inference.FinishToolCalls}
	engine := inferencetest.New()
	cut := func(i int) {
		engine.AddModel("m", inferencetest.StreamText(text[:i], text[i:], "STOP and more"), map[string]string{"trident.chat_template": toolTemplate})
	}
	cut(0) // the model must exist when the service starts
	s := inferencetest.Service(t, serving.Config{}, engine)
	for i := range len(text) + 1 {
		cut(i)
		req := inferencetest.ChatRequest(1)
		req.Tools, req.Sampling.Stop = tools, []string{"STOP"}
		got := parse(t.Context(), s, req)
		if got.usage, got.deltasWithMore = nil, 0; got != want {
			t.Fatalf("split at %d: got %+v, %v", i, got, got.err)
		}
	}
}
