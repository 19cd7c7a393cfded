package contracts

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/structured"
)

// TestSettingValues checks that the operators' setting has the same values as the package
// structured.
func TestSettingValues(t *testing.T) {
	if got, want := inference.StructuredOutputs(), structured.Settings(); !slices.Equal(got, want) {
		t.Errorf("the setting takes %v, the judgement %v", got, want)
	}
}

// TestConstrain checks the result for a constraint by the setting: the form that is sent, or the
// field, the construct and the setting that allows it.
func TestConstrain(t *testing.T) {
	const schema, forced = "response_format.json_schema.schema", "tool_choice"
	tests := []struct {
		name, setting, kind, value, param string
		want                              string // kind and value that are sent
		wantParam, message                string // field and message of the refusal
		reason                            inference.Reason
	}{
		{name: "nothing is known", kind: "regex", value: `"(?i)yes"`, param: "guided_regex", want: `regex "(?i)yes"`},
		{
			name: "flags", setting: "auto", kind: "regex", value: `"(?i)yes"`, param: "guided_regex", wantParam: "guided_regex", reason: inference.ReasonUnsupported,
			message: "guided_regex: the flags (?i is not supported: the engine of the model `m` may run a structured outputs backend that doesn't support it; if the engine always runs guidance, set the model's parameter trident.structured_outputs to that backend",
		},
		{name: "flags, for guidance", setting: "guidance", kind: "regex", value: `"(?i)yes"`, param: "guided_regex", want: `regex "(?i)yes"`},
		{
			name: "flags, for xgrammar", setting: "xgrammar", kind: "regex", value: `"(?i)yes"`, param: "guided_regex", wantParam: "guided_regex", reason: inference.ReasonUnsupported,
			message: "guided_regex: the flags (?i is not supported: the engine of the model `m` runs xgrammar (the model's parameter trident.structured_outputs), but only guidance supports it",
		},
		{name: "a choice with a line end", setting: "auto", kind: "choice", value: `["a\nb","\"c\""]`, param: "guided_choice", want: `grammar "root ::= \"a\\nb\" | \"\\\"c\\\"\""`},
		{name: "a choice with a line end, for guidance", setting: "guidance", kind: "choice", value: `["a\nb"]`, param: "guided_choice", want: `choice ["a\nb"]`},
		{
			name: "a schema", setting: "auto", kind: "json", value: `{"type":"object","properties":{"age":{"type":"number","minimum":0.5}}}`, param: schema, wantParam: schema, reason: inference.ReasonUnsupported,
			message: schema + ": properties.age.minimum: the keyword minimum of type number is not supported: the engine of the model `m` may run a structured outputs backend that doesn't support it; if the engine always runs guidance, set the model's parameter trident.structured_outputs to that backend",
		},
		{
			name: "what no backend holds", setting: "auto", kind: "json", value: `{"type":"integer","not":{"const":5}}`, param: schema, wantParam: schema, reason: inference.ReasonUnsupported,
			message: schema + ": not: the keyword not is not supported: no structured outputs backend enforces it",
		},
		{
			name: "what can't be fulfilled", setting: "auto", kind: "json", value: `{"type":"string","minLength":3,"maxLength":2}`, param: schema, wantParam: schema, reason: inference.ReasonInvalidValue,
			message: schema + ": minLength is above maxLength",
		},
		{
			name: "none", setting: "none", kind: "json_object", value: "true", param: "response_format", wantParam: "response_format", reason: inference.ReasonUnsupported,
			message: "response_format is not supported: the model `m` has no structured outputs (its parameter trident.structured_outputs is none)",
		},
		{
			name: "a forced call", setting: "auto", kind: "json", param: forced, wantParam: "tools[1].function.parameters", reason: inference.ReasonUnsupported,
			value: `{"type":"array","minItems":1,"items":{"anyOf":[{"type":"object","properties":{"name":{"const":"a"}}},{"type":"object","properties":{"name":{"const":"b"},` +
				`"arguments":{"type":"object","properties":{"x":{"type":"string","pattern":"\\p{L}{3}"}}}}}]}}`,
			message: "tools[1].function.parameters: properties.x.pattern: the character class \\p is not supported: the engine of the model `m` may run a structured outputs backend that doesn't support it; if the engine always runs guidance, set the model's parameter trident.structured_outputs to that backend",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			target := &inference.Target{Name: "m", StructuredOutputs: tt.setting}
			for _, backend := range []inference.Constrainer{VLLM{}, TensorRTLLM{}, Python{}} {
				got, err := backend.Constrain(target, &inference.Structured{Kind: tt.kind, Value: json.RawMessage(tt.value), Param: tt.param})
				if tt.want != "" {
					if err != nil || got.Kind+" "+string(got.Value) != tt.want || got.Param != tt.param {
						t.Errorf("%T: got %+v, %v; want %s", backend, got, err, tt.want)
					}
					continue
				}
				refused, ok := errors.AsType[*inference.Error](err)
				if !ok || refused.Code != inference.CodeInvalid || refused.Param != tt.wantParam || refused.Message != tt.message || refused.Reason != tt.reason {
					t.Errorf("%T: got %#v\nwant %s: %s", backend, err, tt.wantParam, tt.message)
				}
			}
		})
	}
}

// TestConstrainBySettingOfNoBackend checks that an unknown value of the operator's setting is an error that
// names the setting and its values.
func TestConstrainBySettingOfNoBackend(t *testing.T) {
	_, err := VLLM{}.Constrain(&inference.Target{Name: "m", StructuredOutputs: "lark"}, &inference.Structured{Kind: "regex", Value: json.RawMessage(`"a"`)})
	const want = `trident.structured_outputs: "lark" is not one of auto, xgrammar, guidance, outlines, none`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestPlace checks that place finds the request field in which a refused schema construct stands.
// The schema that Trident sends to the engine combines the schemas of several request fields.
func TestPlace(t *testing.T) {
	const format = "response_format.json_schema.schema"
	tests := []struct {
		name                string
		param               string
		calls               int
		path, field, within string
	}{
		{"a forced call", "tool_choice", 0, "items.anyOf[1].properties.arguments.properties.x", "tools[1].function.parameters", "properties.x"},
		{"a forced call's definition", "tool_choice", 0, "$defs.tool2.properties.x", "tools[2].function.parameters", "properties.x"},
		{"a call or an answer: the call", format, 2, "anyOf[1].properties.arguments.properties.x", "tools[1].function.parameters", "properties.x"},
		{"a call or an answer: the call's definition", format, 2, "$defs.tool1", "tools[1].function.parameters", ""},
		{"a call or an answer: the answer", format, 2, "anyOf[2].properties.arguments", format, "properties.arguments"},
		{"a call or an answer: all of the answer", format, 2, "anyOf[2]", format, ""},
		{"a call or an answer: the answer's definition", format, 2, "$defs.response.properties.x", format, "properties.x"},
		{"an answer that looks like a call", format, 0, "anyOf[0].properties.arguments.properties.x", format, "anyOf[0].properties.arguments.properties.x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			field, within := place(&inference.Structured{Kind: "json", Param: tt.param, Calls: tt.calls}, tt.path)
			if field != tt.field || within != tt.within {
				t.Errorf("got %s: %s", field, within)
			}
		})
	}
}

// TestTags checks which engines are known to enforce structural tags: those that run xgrammar alone,
// behind a backend that isn't older than structured outputs.
func TestTags(t *testing.T) {
	newer := &kserve.ModelConfig{Backend: "vllm", Input: []*kserve.ModelInput{{Name: "text_input"}, {Name: "embedding_request"}}}
	older := &kserve.ModelConfig{Backend: "vllm", Input: []*kserve.ModelInput{{Name: "text_input"}}}
	for _, tt := range []struct {
		setting string
		config  *kserve.ModelConfig
		want    bool
	}{{"xgrammar", newer, true}, {"xgrammar", older, false}, {"auto", newer, false}, {"guidance", newer, false}, {"", newer, false}} {
		if got := (VLLM{}).Tags(&inference.Target{StructuredOutputs: tt.setting, Config: tt.config}); got != tt.want {
			t.Errorf("%q: %t", tt.setting, got)
		}
	}
}
