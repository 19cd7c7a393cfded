package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/runtime"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/test/tier"
)

const (
	chatPattern      = "POST /v1/chat/completions"
	embeddingPattern = "POST /v1/embeddings"
)

func newValidator(tb testing.TB) *Validator {
	tb.Helper()
	v, err := sharedValidator()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// chatBody returns a whole request with additional fields.
func chatBody(fields string) string {
	return `{"model": "m", "messages": [{"role": "user", "content": "hi"}]` + fields + `}`
}

func TestValidateNamesTheField(t *testing.T) {
	v := newValidator(t)
	for _, tt := range []struct{ name, body, param, message string }{
		{"model long", `{"model": "` + strings.Repeat("m", 257) + `", "messages": [{}]}`, "model", "model must be at most 256 characters, got a string of 257 bytes"},
		{"model number", `{"model": 4, "messages": [{}]}`, "model", "model must be a string, got 4"},
		{"messages missing", `{"model": "m"}`, "messages", "messages is required"},
		{"temperature too high", chatBody(`, "temperature": 3`), "temperature", "temperature must be at most 2, got 3"},
		{"temperature below 0", chatBody(`, "temperature": -0.5`), "temperature", "temperature must be at least 0, got -0.5"},
		{"temperature text", chatBody(`, "temperature": "hot"`), "temperature", `temperature must be a number, got a string of 3 bytes`},
		{"temperature list", chatBody(`, "temperature": []`), "temperature", "temperature must be a number, got a list of 0"},
		{"n fraction", chatBody(`, "n": 1.5`), "n", "n must be an integer, got 1.5"},
		{"n 0", chatBody(`, "n": 0`), "n", "n must be at least 1, got 0"},
		{"n 129", chatBody(`, "n": 129`), "n", "n must be at most 128, got 129"},
		{"n huge", chatBody(`, "n": 1e300`), "n", "n must be a 64-bit integer, got 1e+300"},
		{"max_tokens beyond the maximum", chatBody(`, "max_tokens": 3000000000`), "max_tokens", "max_tokens must be at most 1073741824, got 3000000000"},
		{"seed beyond 64 bits", chatBody(`, "seed": 9223372036854775808`), "seed", "seed must be a 64-bit integer, got 9223372036854776000"},
		{"seed below 64 bits", chatBody(`, "seed": -9223372036854775809`), "seed", "seed must be a 64-bit integer, got -9223372036854776000"},
		{"seed far below 64 bits", chatBody(`, "seed": -1e300`), "seed", "seed must be a 64-bit integer, got -1e+300"},
		{"top_logprobs 21", chatBody(`, "top_logprobs": 21`), "top_logprobs", "top_logprobs must be at most 20, got 21"},
		{"repetition_penalty 0", chatBody(`, "repetition_penalty": 0`), "repetition_penalty", "repetition_penalty must be more than 0, got 0"},
		{"stream text", chatBody(`, "stream": "yes"`), "stream", `stream must be true or false, got a string of 3 bytes`},
		{"stop number", chatBody(`, "stop": 7`), "stop", "stop must be a string or a list of strings, got 7"},
		{"stop item", chatBody(`, "stop": ["a", 7]`), "stop[1]", "stop[1] must be a string, got 7"},
		{"stop five", chatBody(`, "stop": ["a", "b", "c", "d", "e"]`), "stop", "stop must be a list of at most 4 items, got a list of 5"},
		{"logit_bias value", chatBody(`, "logit_bias": {"50256": 101}`), "logit_bias.50256", "logit_bias.50256 must be at most 100, got 101"},
		{"stream_options nested", chatBody(`, "stream_options": {"include_usage": 1}`), "stream_options.include_usage", "stream_options.include_usage must be true or false, got 1"},
		{"response_format kind", chatBody(`, "response_format": {"type": "xml"}`), "response_format.type", `response_format.type must be json_object, json_schema or text, got "xml"`},
		{"response_format no kind", chatBody(`, "response_format": {"x": 1}`), "response_format.type", "response_format.type must be json_object, json_schema or text"},
		{"response_format text", chatBody(`, "response_format": "json"`), "response_format", `response_format must be an object, got a string of 4 bytes`},
		{"response_format schema name", chatBody(`, "response_format": {"type": "json_schema", "json_schema": {}}`), "response_format.json_schema.name", "response_format.json_schema.name is required"},
		{"tool kind", chatBody(`, "tools": [{"type": "web"}]`), "tools[0].type", `tools[0].type must be custom or function, got "web"`},
		{"tool name", chatBody(`, "tools": [{"type": "function", "function": {}}]`), "tools[0].function.name", "tools[0].function.name is required"},
		{"tool not an object", chatBody(`, "tools": ["f"]`), "tools[0]", `tools[0] must be an object, got a string of 1 bytes`},
		{"tools not a list", chatBody(`, "tools": {"a": 1}`), "tools", "tools must be a list of objects, got an object"},
		{"tool_choice word", chatBody(`, "tool_choice": "maybe"`), "tool_choice", `tool_choice must be none, auto or required, got "maybe"`},
		{"tool_choice object", chatBody(`, "tool_choice": {"type": "function"}`), "tool_choice.function", "tool_choice.function is required"},
		{"tool_choice number", chatBody(`, "tool_choice": 1`), "tool_choice", "tool_choice must be none, auto or required or an object, got 1"},
		{"structured_outputs key", chatBody(`, "structured_outputs": {"xml": "a"}`), "structured_outputs.xml", "structured_outputs.xml is an unknown field; the fields of structured_outputs are choice, grammar, json, json_object, regex, structural_tag"},
		{"metadata value", chatBody(`, "metadata": {"a": 1}`), "metadata.a", "metadata.a must be a string, got 1"},
		{"safety_identifier", chatBody(`, "safety_identifier": "` + strings.Repeat("x", 65) + `"`), "safety_identifier", "safety_identifier must be at most 64 characters, got a string of 65 bytes"},
		{"service_tier", chatBody(`, "service_tier": "gold"`), "service_tier", `service_tier must be auto, default, flex, scale, priority or fast, got "gold"`},
		{"token ids", chatBody(`, "stop_token_ids": [1, -1]`), "stop_token_ids[1]", "stop_token_ids[1] must be at least 0, got -1"},
		{"no number", chatBody(`, "temperature": 1e999`), "temperature", "temperature is a number too large for 64 bits"},
		{"key twice", chatBody(`, "n": 1, "n": 2`), "n", "n is given twice"},
		{"key twice below", `{"model": "m", "messages": [{"role": "user", "r\u006fle": "system"}]}`, "messages[0].role", "messages[0].role is given twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := v.Validate(chatPattern, []byte(tt.body))
			inferencetest.WantInvalid(t, err, tt.param, tt.message)
		})
	}
}

func TestValidateRefusesOtherThanOneJSONObject(t *testing.T) {
	v := newValidator(t)
	const prefix = "the request body is not valid JSON: "
	for _, tt := range []struct{ name, body, message string }{
		{"empty", "", prefix + "the JSON text is empty"},
		{"spaces", " \n", prefix + "the JSON text is empty"},
		{"list", "[]", "the request body must be a JSON object"},
		{"text", `"x"`, "the request body must be a JSON object"},
		{"bare word", "hello", "the request body must be a JSON object"},
		{"two objects", "{} {}", prefix + "unexpected data follows the JSON value at byte 3 ('{')"},
		{"cut", `{"model": "m`, prefix + "a closing quote is expected at byte 12, where the text ends"},
		{"cut after colon", `{"model":`, prefix + "a value is expected at byte 9, where the text ends"},
		{"bare key", `{model: 1}`, prefix + "a key in quotes is expected at byte 1 ('m')"},
		{"single quotes", `{'a': 1}`, prefix + `a key in quotes is expected at byte 1 ('\'')`},
		{"no colon", `{"a" 1}`, prefix + "a colon is expected at byte 5 ('1')"},
		{"no comma", `{"a": 1 "b": 2}`, prefix + "a comma or '}' is expected at byte 8 ('\"')"},
		{"trailing comma", `{"a": 1,}`, prefix + "an element is expected after the comma at byte 8 ('}')"},
		{"NaN", `{"temperature": NaN}`, prefix + "a value is expected at byte 16 ('N')"},
		{"Infinity", `{"temperature": -Infinity}`, prefix + "a number without leading zeros is expected at byte 17 ('I')"},
		{"leading zero", `{"a": 01}`, prefix + "a number without leading zeros is expected at byte 8 ('}')"},
		{"point", `{"a": 1.}`, prefix + "digits are expected after the point at byte 8 ('}')"},
		{"exponent", `{"a": 1e}`, prefix + "digits are expected in the exponent at byte 8 ('}')"},
		{"escape", `{"a": "\x"}`, prefix + "a valid escape sequence is expected at byte 8 ('x')"},
		{"unicode escape", `{"a": "\u12g4"}`, prefix + `four hexadecimal digits are expected after \u at byte 11 ('g')`},
		{"newline in a string", "{\"a\": \"\n\"}", prefix + `control characters in strings must be escaped at byte 7 ('\n')`},
		{"Python's True", `{"stream": True}`, prefix + "a value is expected at byte 11 ('T')"},
		{"not UTF-8", "{\"a\": \"\xff\"}", prefix + "the JSON text is not UTF-8 at byte 7"},
		{"byte order mark", "\ufeff{}", "the request body must be a JSON object"},
		{"form", "model=m&n=1", "the request body must be a JSON object"},
		{"too deep", `{"a":` + strings.Repeat("[", 200), prefix + "arrays and objects are nested deeper than 128 levels at byte 132 ('[')"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := v.Validate(chatPattern, []byte(tt.body))
			inferencetest.WantInvalid(t, err, "", tt.message)
		})
	}
}

// TestValidateRefusesADepthBombAtOnce tests that a body of opening brackets uses
// neither stack nor time.
func TestValidateRefusesADepthBombAtOnce(t *testing.T) {
	tier.Computes(t)
	body := append([]byte(`{"messages":`), slices.Repeat([]byte("["), 64<<20)...)
	v := newValidator(t)
	allocated := testing.AllocsPerRun(1, func() {
		if _, err := v.Validate(chatPattern, body); err == nil {
			t.Error("accepted")
		}
	})
	if allocated > 2000 {
		t.Errorf("%.0f allocations", allocated)
	}
}

// TestOpenFieldsAreNotDecoded tests that fields that only the template or the engine
// reads aren't decoded.
func TestOpenFieldsAreNotDecoded(t *testing.T) {
	object := `{"x": [` + strings.Repeat("[],", 50_000) + `[]]}`
	for _, field := range []string{"chat_template_kwargs", "guided_json"} {
		body := []byte(chatBody(fmt.Sprintf(`, %q: %s`, field, object)))
		v := newValidator(t)
		allocated := testing.AllocsPerRun(1, func() {
			got, err := v.Validate(chatPattern, body)
			if err != nil {
				t.Fatal(err)
			}
			if raw, _ := got.value[field].(json.RawMessage); string(raw) != object {
				t.Errorf("%s became %.40s", field, raw)
			}
		})
		if allocated > 1000 {
			t.Errorf("%s: %.0f allocations", field, allocated)
		}
	}
}

func TestValidateAcceptsEmptyValues(t *testing.T) {
	v := newValidator(t)
	for pattern, body := range map[string]string{chatPattern: chatBody(`, %q: %s`), embeddingPattern: `{"model": "m", "input": "x", %q: %s}`} {
		for name, f := range v.bodies[pattern].fields {
			if !f.nullIsAbsent || name == "model" || name == "input" { // the bodies have both
				continue
			}
			values := []string{"null"}
			if f.objectIsAbsent {
				values = append(values, "{}", "{ }")
			}
			if f.listIsAbsent {
				values = append(values, "[]")
			}
			for _, value := range values {
				got, err := v.Validate(pattern, fmt.Appendf(nil, body, name, value))
				if err != nil {
					t.Errorf("%s: %s: %v", name, value, err)
				} else if _, there := got.value[name]; there || len(got.Unknown) > 0 {
					t.Errorf("%s: %s: bound %v, unknown %v", name, value, got.value, got.Unknown)
				}
			}
		}
	}
}

// TestEmptyValuesWithoutEffect lists the fields for which an empty object or list is
// the same as an absent field.
func TestEmptyValuesWithoutEffect(t *testing.T) {
	var objects, lists []string
	for name, f := range newValidator(t).bodies[chatPattern].fields {
		if f.objectIsAbsent {
			objects = append(objects, name)
		}
		if f.listIsAbsent {
			lists = append(lists, name)
		}
	}
	slices.Sort(objects)
	slices.Sort(lists)
	wantObjects := strings.Fields("audio chat_template_kwargs function_call guided_json logit_bias metadata moderation " +
		"prediction prompt_cache_options response_format stream_options structured_outputs tool_choice web_search_options")
	wantLists := strings.Fields("allowed_token_ids bad_words documents functions guided_choice modalities stop stop_token_ids tools")
	if !slices.Equal(objects, wantObjects) || !slices.Equal(lists, wantLists) {
		t.Errorf("objects %v\nlists %v", objects, lists)
	}
}

func TestValidateAcceptsDefaultsAndEdges(t *testing.T) {
	v := newValidator(t)
	for _, fields := range []string{
		`, "n": 1, "temperature": 1, "top_p": 1, "frequency_penalty": 0, "presence_penalty": 0, "stream": false, "logprobs": false`,
		`, "temperature": 0, "top_p": 0, "n": 128, "top_logprobs": 20, "max_tokens": 1, "seed": -9223372036854775808`,
		`, "temperature": 2.0, "n": 1.0, "max_tokens": 1e3, "seed": 9223372036854775807`,
		`, "modalities": ["text"], "stop": ["a", "b", "c", "d"], "tool_choice": "auto", "parallel_tool_calls": true`,
		`, "stop": "", "user": "", "logit_bias": {"1": -100}, "top_k": -1, "min_p": 0, "min_tokens": 0, "repetition_penalty": 0.1`,
		`, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}, "strict": null}}`,
		`, "tools": [{"type": "function", "function": {"name": "f", "parameters": null, "description": null}}]`,
		`, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function"}]}}`,
		`, "guided_json": "{}", "structured_outputs": {"json": {"type": "object"}, "regex": null}`,
	} {
		got, err := v.Validate(chatPattern, []byte(chatBody(fields)))
		if err != nil || len(got.Unknown) > 0 {
			t.Errorf("%s: %v, %v", fields, got, err)
		}
	}
}

func TestValidateReportsUnknownFields(t *testing.T) {
	got, err := newValidator(t).Validate(chatPattern, []byte(chatBody(`, "zeta": {"a": [1]}, "Temperature": 99, "alpha": 1`)))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"Temperature", "alpha", "zeta"}; !slices.Equal(got.Unknown, want) {
		t.Errorf("unknown %v, want %v", got.Unknown, want)
	}
	got, err = newValidator(t).Validate(chatPattern, []byte(chatBody(`, "`+strings.Repeat("é", 1<<20)+`": 1`)))
	if want := strings.Repeat("é", 98) + "…"; err != nil || len(got.Unknown) != 1 || got.Unknown[0] != want {
		t.Errorf("long name: %.300q, %v", got.Unknown, err)
	}
}

func TestValidateUnknownPattern(t *testing.T) {
	if _, err := newValidator(t).Validate("GET /v1/models", []byte(`{}`)); err == nil {
		t.Error("a route without a body was validated")
	}
}

// bind binds a validated body as the generated strict handler does.
func bind[T any](t *testing.T, pattern, body string) (T, error) {
	t.Helper()
	var out T
	validated, err := newValidator(t).Validate(pattern, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	err = runtime.BindJSONBody(&http.Request{Body: validated}, &out)
	return out, err
}

func TestGeneratedCodeBindsWhatWasValidated(t *testing.T) {
	got, err := bind[api.CreateChatCompletionRequest](t, chatPattern, chatBody(`, "Temperature": 99, "temperature": 0.7,
		"max_tokens": 16.0, "seed": 9007199254740993, "stop": ["x"], "logit_bias": {"7": 1e1}, "stream_options": {"Include_Usage": true},
		"tools": [{"type": "function", "function": {"z": 1, "name": "f", "a": 18446744073709551615}}],
		"response_format": {"type": "text"}, "tool_choice": "none", "metadata": {}, "modalities": ["text"],
		"chat_template_kwargs": {"b": 1, "a": [2, 1.50]}, "guided_json": {}, "user": null`))
	if err != nil {
		t.Fatal(err)
	}
	ptr := func(f float64) *float64 { return &f }
	maxTokens, seed := 16, int64(9007199254740993)
	want := api.CreateChatCompletionRequest{
		Model: "m", Messages: json.RawMessage(`[{"role":"user","content":"hi"}]`),
		Temperature: ptr(0.7), MaxTokens: &maxTokens, Seed: &seed,
		Stop: json.RawMessage(`["x"]`), LogitBias: map[string]int{"7": 10}, StreamOptions: &api.ChatCompletionStreamOptions{},
		Tools:          []json.RawMessage{json.RawMessage(`{"type":"function","function":{"z":1,"name":"f","a":18446744073709551615}}`)},
		ResponseFormat: json.RawMessage(`{"type":"text"}`), ToolChoice: json.RawMessage(`"none"`),
		Modalities: []api.ResponseModality{"text"}, ChatTemplateKwargs: json.RawMessage(`{"b":1,"a":[2,1.50]}`),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", openaitest.JSON(t, got), openaitest.JSON(t, want))
	}
}

// TestValidatedBodyIsNotReadTwice checks that a request body that passes validation but doesn't fit
// its Go type is refused, and isn't decoded by other rules.
func TestValidatedBodyIsNotReadTwice(t *testing.T) {
	if got, err := bind[struct {
		Model int `json:"model"`
	}](t, chatPattern, chatBody("")); err == nil {
		t.Errorf("bound %v", got)
	}
}

// TestGeneratedTypesHaveTheDocumentsFields tests that the generated types have exactly
// the fields of the document, so that no valid field is lost.
func TestGeneratedTypesHaveTheDocumentsFields(t *testing.T) {
	v := newValidator(t)
	for pattern, body := range map[string]reflect.Type{
		chatPattern:      reflect.TypeFor[api.CreateChatCompletionRequest](),
		embeddingPattern: reflect.TypeFor[api.CreateEmbeddingRequest](),
	} {
		properties := v.bodies[pattern].schema.Properties
		if body.NumField() != len(properties) {
			t.Errorf("%s has %d fields, the document %d", body, body.NumField(), len(properties))
		}
		for goField := range body.Fields() {
			name, _, _ := strings.Cut(goField.Tag.Get("json"), ",")
			if properties[name] == nil {
				t.Errorf("%s.%s is not in the document", body, name)
			}
		}
	}
}

// TestEveryFieldPassesAndBinds tests that a valid value of each field passes and
// binds: schema and generated types agree.
func TestEveryFieldPassesAndBinds(t *testing.T) {
	v := newValidator(t)
	for name, property := range v.bodies[chatPattern].schema.Properties {
		if v.bodies[chatPattern].fields[name].loose || name == "model" {
			continue
		}
		value := openaitest.JSON(t, example(property.Value))
		got, err := bind[api.CreateChatCompletionRequest](t, chatPattern, chatBody(fmt.Sprintf(`, %q: %s`, name, value)))
		if err != nil {
			t.Errorf("%s: %s: %v", name, value, err)
			continue
		}
		if bound := string(openaitest.JSON(t, got)); !strings.Contains(bound, fmt.Sprintf(`%q:%s`, name, value)) {
			t.Errorf("%s: %s became %s", name, value, bound)
		}
	}
}

// example returns a value that satisfies the schema and isn't empty.
func example(s *openapi3.Schema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.OneOf) > 0:
		return example(s.OneOf[0].Value)
	case s.Type.Is(openapi3.TypeString):
		return "x"
	case s.Type.Is(openapi3.TypeBoolean):
		return true
	case s.Type.Is(openapi3.TypeArray):
		return []any{example(s.Items.Value)}
	case s.Type.Is(openapi3.TypeObject):
		object := map[string]any{}
		for name, property := range s.Properties {
			object[name] = example(property.Value)
		}
		if open := s.AdditionalProperties.Has; open != nil && *open {
			object["x"] = 1
		}
		if extra := s.AdditionalProperties.Schema; extra != nil {
			object["7"] = example(extra.Value)
		}
		return object
	}
	return 1
}

// FuzzValidate checks that no body panics, that invalid JSON never passes, and that
// each refusal is an error for clients.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{
		chatBody(""), chatBody(`, "temperature": 3`), chatBody(`, "stop": ["a"], "tools": [{"type": "function", "function": {"name": "f"}}]`),
		`{"model": "m", "messages": [], "n": 1e5}`, `{"a": "\ud83d\ude00"}`, `[`, `{"a": -0.0e+1}`, "{\"\u017ftop\": 1}",
	} {
		f.Add(seed)
	}
	v := newValidator(f)
	f.Fuzz(func(t *testing.T, body string) {
		got, err := v.Validate(chatPattern, []byte(body))
		var e *inference.Error
		switch {
		case err == nil && !json.Valid([]byte(body)):
			t.Errorf("accepted what isn't JSON: %q", body)
		case err == nil:
			var out api.CreateChatCompletionRequest
			if err := runtime.BindJSONBody(&http.Request{Body: got}, &out); err != nil {
				t.Errorf("%q passed but does not bind: %v", body, err)
			}
		case !errors.As(err, &e) || e.Code != inference.CodeInvalid:
			t.Errorf("%q: %v", body, err)
		}
	})
}

// twentyMessages returns a chat as an application sends it: turns of a few hundred
// bytes, some of them with parts, and a tool.
func twentyMessages() []byte {
	var b strings.Builder
	b.WriteString(`{"model": "chat", "temperature": 0.7, "top_p": 0.9, "max_completion_tokens": 256, "stream": true,
		"stream_options": {"include_usage": true}, "stop": ["END"], "user": "someone", "messages": [
		{"role": "system", "content": "You answer in one sentence."}`)
	text := strings.Repeat("It was a bright cold day in April. ", 6)
	for i := range 19 {
		switch {
		case i%5 == 4:
			fmt.Fprintf(&b, `,{"role": "user", "content": [{"type": "text", "text": %q}]}`, text)
		case i%2 == 0:
			fmt.Fprintf(&b, `,{"role": "user", "content": %q}`, text)
		default:
			fmt.Fprintf(&b, `,{"role": "assistant", "content": %q}`, text)
		}
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

// BenchmarkValidate measures the cost of a chat of 20 messages before the core gets
// it. The budget is 100 µs in total. validate is the check alone. whole adds the
// generated type and the messages. document is the check by the whole schema of the
// document, which the fast path replaces.
func BenchmarkValidate(b *testing.B) {
	v := newValidator(b)
	body := twentyMessages()
	b.Run("validate", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := v.Validate(chatPattern, body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			validated, err := v.Validate(chatPattern, body)
			if err != nil {
				b.Fatal(err)
			}
			var request api.CreateChatCompletionRequest
			if err := runtime.BindJSONBody(&http.Request{Body: validated}, &request); err != nil {
				b.Fatal(err)
			}
			if _, err := DecodeMessages(request.Messages); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("document", func(b *testing.B) {
		schema := openaitest.Schema(b, "CreateChatCompletionRequest")
		b.ReportAllocs()
		for b.Loop() {
			var value any
			if err := json.Unmarshal(body, &value); err != nil {
				b.Fatal(err)
			}
			if err := schema.VisitJSON(value); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestIntegersOfRequestsAreBounded tests that the schema limits integers, since one of
// any size would pass and not fit its Go type.
func TestIntegersOfRequestsAreBounded(t *testing.T) {
	var walk func(path string, s *openapi3.Schema, above []*openapi3.Schema)
	walk = func(path string, s *openapi3.Schema, above []*openapi3.Schema) {
		if slices.Contains(above, s) {
			return
		}
		above = append(above, s)
		// The body's own fields are checked for 64 bits separately from the schema.
		if s.Type.Is(openapi3.TypeInteger) && len(above) > 2 && (s.Min == nil || s.Max == nil) {
			t.Errorf("%s has no minimum or no maximum", path)
		}
		for name, property := range s.Properties {
			walk(path+"."+name, property.Value, above)
		}
		for _, some := range [][]*openapi3.SchemaRef{s.OneOf, s.AnyOf, s.AllOf, {s.Items, s.AdditionalProperties.Schema}} {
			for _, one := range some {
				if one != nil {
					walk(path, one.Value, above)
				}
			}
		}
	}
	for pattern, body := range newValidator(t).bodies {
		walk(pattern, body.schema, nil)
	}
}
