package requests_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/requests"
)

// TestCheck checks which errors Check finds in a request, whichever API received the request.
func TestCheck(t *testing.T) {
	const badTool = `{"type": "function", "function": {"name": "f", "parameters": {"type": "nothing"}}}`
	forced := inference.ToolChoice{Mode: inference.ToolRequired}
	tests := []struct {
		name, param string // param is "" if the request is valid
		req         inference.Request
	}{
		{"a tool that isn't a function", "tools[0].type", inference.Request{Tools: []json.RawMessage{json.RawMessage(`{"type": "web"}`)}}},
		{"no tool", "tools[1]", inference.Request{Tools: []json.RawMessage{json.RawMessage(`{"type": "function"}`), json.RawMessage(`5`)}}},
		{"a schema of a forced call", "tools[0].function.parameters", inference.Request{Tools: []json.RawMessage{json.RawMessage(badTool)}, ToolChoice: forced}},
		{"a schema that constrains nothing", "", inference.Request{Tools: []json.RawMessage{json.RawMessage(badTool)}}},
		{"a schema of the answer", "response_format", inference.Request{Sampling: inference.Sampling{
			Structured: &inference.Structured{Kind: "json", Value: json.RawMessage(`[]`), Param: "response_format"},
		}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.req.Messages = []inference.Message{{Role: "user", Text: "hi"}}
			test.req.Model = "m"
			err := requests.Check(t.Context(), &test.req)
			var e *inference.Error
			switch {
			case test.param == "" && err != nil, test.param != "" && (!errors.As(err, &e) || e.Param != test.param || e.Code != inference.CodeInvalid):
				t.Errorf("got %v, want one about %q", err, test.param)
			}
		})
	}
}

// TestAllow checks that an allowed tool must be in the request, and that a choice of all tools is no
// restriction.
func TestAllow(t *testing.T) {
	tool := func(name string) json.RawMessage {
		return json.RawMessage(`{"type": "function", "function": {"name": "` + name + `"}}`)
	}
	tests := []struct {
		name           string
		allowed, want  []string
		param, message string // both are "" if the choice is valid
	}{
		{name: "no restriction"},
		{name: "some", allowed: []string{"g", "g"}, want: []string{"g"}},
		{name: "all", allowed: []string{"g", "f"}},
		{name: "another", allowed: []string{"f", "h"}, param: "allowed[1]", message: `allowed[1] names the tool "h", which is not in tools`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			req := &inference.Request{Tools: []json.RawMessage{tool("f"), tool("g")}, ToolChoice: inference.ToolChoice{Allowed: test.allowed}}
			err := requests.Allow(req, "allowed[%d]")
			if e, _ := errors.AsType[*inference.Error](err); test.message != "" {
				if e == nil || e.Param != test.param || e.Message != test.message {
					t.Errorf("got %v, want %q", err, test.message)
				}
				return
			}
			if err != nil || !slices.Equal(req.ToolChoice.Allowed, test.want) {
				t.Errorf("got %q and %v, want %q", req.ToolChoice.Allowed, err, test.want)
			}
		})
	}
}

// TestObjects checks that Objects keeps the bytes of JSON objects, and counts the values of all
// objects together.
func TestObjects(t *testing.T) {
	var objects requests.Objects
	for text, want := range map[string]string{"\n{\"b\": 1, \"a\": [2]}\t": `{"b": 1, "a": [2]}`, "": "{}"} {
		if got, err := objects.Decode("arguments", text); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	if _, err := objects.Decode("arguments", "[]"); err == nil || err.Error() != "arguments must be a string that contains a JSON object: '{' is expected at byte 0 ('[')" {
		t.Error(err)
	}
	var keys strings.Builder
	for i := range budget.Keys {
		fmt.Fprintf(&keys, `"%d":0,`, i)
	}
	if _, err := objects.DecodeMap("kwargs", "{"+strings.TrimSuffix(keys.String(), ",")+"}"); err != nil {
		t.Error(err)
	}
	if _, err := objects.DecodeMap("kwargs", "{"+keys.String()+`"x":0}`); err == nil || err.Error() != "kwargs must be an object of at most 4096 keys" {
		t.Error(err)
	}
	half := `{"a":[` + strings.TrimSuffix(strings.Repeat("0,", budget.Values/2), ",") + "]}"
	_, first := objects.Decode("arguments", half)
	if _, second := objects.Decode("arguments", half); first != nil || second == nil || !strings.Contains(second.Error(), "too many values") {
		t.Errorf("%v, then %v", first, second)
	}
}

// TestCompletionNames checks that errors about top_logprobs name the field logprobs, which is its
// name in completions, and that other field names stay.
func TestCompletionNames(t *testing.T) {
	for param, want := range map[string]string{"top_logprobs": "logprobs", "top_p": "top_p"} {
		if e := inference.AsError(requests.CompletionNames(&inference.Error{Code: inference.CodeInvalid, Param: param})); e.Param != want {
			t.Errorf("%s: %s", param, e.Param)
		}
	}
	if err := requests.CompletionNames(nil); err != nil {
		t.Error(err)
	}
}

// TestArguments checks that arguments of earlier tool calls are accepted as a model wrote
// them, and that their values are counted together.
func TestArguments(t *testing.T) {
	tests := []struct {
		text, want string
		malformed  bool
	}{
		{`{"b": 1, "a": [2]}`, `{"b": 1, "a": [2]}`, false},
		{"", "{}", false},
		{`{"a": 1, "a": 2}`, `{"a": 1, "a": 2}`, true},
		{`{"a": `, `{"a": `, true},
		{"[]", "[]", true},
		{" Oslo", " Oslo", true},
	}
	var objects requests.Objects
	for _, tt := range tests {
		got, malformed, err := objects.Arguments("messages[0].tool_calls[0].arguments", tt.text)
		if err != nil || string(got) != tt.want || malformed != tt.malformed {
			t.Errorf("%q: got %q, malformed %v, error %v", tt.text, got, malformed, err)
		}
	}
	half := `{"a":[` + strings.TrimSuffix(strings.Repeat("0,", budget.Values/2), ",") + "]}"
	_, _, first := objects.Arguments("arguments", half)
	if _, _, second := objects.Arguments("arguments", half); first != nil || second == nil || !strings.Contains(second.Error(), "too many values") {
		t.Errorf("%v, then %v", first, second)
	}
}
