package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

// malformed returns an assistant's message with one call with malformed arguments.
func malformed(arguments string) inference.Message {
	return inference.Message{Role: "assistant", NoContent: true, ToolCalls: []inference.ToolCall{{ID: "c1", Name: "f", Arguments: json.RawMessage(arguments), Malformed: true}}}
}

func TestDecodeMessages(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		want      inference.Message
	}{
		{"system", `{"role": "system", "content": "be kind"}`, inference.Message{Role: "system", Text: "be kind"}},
		{"developer", `{"role": "developer", "content": "be kind", "name": "d"}`, inference.Message{Role: "developer", Text: "be kind", Name: "d"}},
		{"user", `{"content": "hi", "role": "user"}`, inference.Message{Role: "user", Text: "hi"}},
		{"empty text", `{"role": "user", "content": ""}`, inference.Message{Role: "user"}},
		{"escapes", `{"role": "user", "content": "a\n\"\u00e9\ud83d\ude00\u0000"}`, inference.Message{Role: "user", Text: "a\n\"é😀\x00"}},
		{"keys match exactly", `{"role": "user", "content": "hi", "Content": 1, "ROLE": "system"}`, inference.Message{Role: "user", Text: "hi"}},
		{"user's parts", `{"role": "user", "content": [{"type": "text", "text": "see"},
			{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
			{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
			{"type": "file", "file": {"file_data": "AA==", "filename": null}}]}`, inference.Message{Role: "user", Parts: []inference.Part{
			{Kind: inference.PartText, Text: "see"},
			{Kind: inference.PartImage, URL: "data:image/png;base64,AA=="},
			{Kind: inference.PartAudio},
			{Kind: inference.PartFile},
		}}},
		{"assistant without content", `{"role": "assistant"}`, inference.Message{Role: "assistant", NoContent: true}},
		{"assistant null", `{"role": "assistant", "content": null, "tool_calls": null, "function_call": null, "audio": null, "refusal": null, "name": null}`, inference.Message{Role: "assistant", NoContent: true}},
		{"assistant empty list", `{"role": "assistant", "content": [], "tool_calls": []}`, inference.Message{Role: "assistant", NoContent: true}},
		{"assistant's parts", `{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "no"}]}`, inference.Message{
			Role: "assistant", Parts: []inference.Part{{Kind: inference.PartText, Text: "a"}, {Kind: inference.PartRefusal, Text: "no"}},
		}},
		{"reasoning", `{"role": "assistant", "content": "a", "reasoning": "x", "reasoning_content": "why"}`, inference.Message{Role: "assistant", Text: "a", Reasoning: "why"}},
		{"reasoning by its newer name", `{"role": "assistant", "content": "a", "reasoning": "why", "reasoning_content": null}`, inference.Message{Role: "assistant", Text: "a", Reasoning: "why"}},
		{"refusal", `{"role": "assistant", "content": null, "refusal": "no"}`, inference.Message{Role: "assistant", NoContent: true, Refusal: "no"}},
		{"calls keep their arguments' order", `{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": " {\"z\": 1, \"a\": [1.50]} "}}]}`, inference.Message{
			Role: "assistant", NoContent: true, ToolCalls: []inference.ToolCall{{ID: "c1", Name: "f", Arguments: json.RawMessage(`{"z": 1, "a": [1.50]}`)}},
		}},
		{"call without arguments", `{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}]}`, inference.Message{
			Role: "assistant", NoContent: true, ToolCalls: []inference.ToolCall{{ID: "c1", Name: "f", Arguments: json.RawMessage(`{}`)}},
		}},
		{"a call that is cut off", `{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":"}}]}`, malformed(`{"a":`)},
		{"a call with a list", `{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "[]"}}]}`, malformed(`[]`)},
		{"a call that repeats a key", `{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1,\"a\":2}"}}]}`, malformed(`{"a":1,"a":2}`)},
		{"a call with text", `{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": " Oslo\n"}}]}`, malformed(" Oslo\n")},
		{"older call", `{"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}}`, inference.Message{
			Role: "assistant", NoContent: true, ToolCalls: []inference.ToolCall{{Name: "f", Arguments: json.RawMessage(`{}`)}},
		}},
		{"tool", `{"role": "tool", "content": "42", "tool_call_id": "c1", "name": "f"}`, inference.Message{Role: "tool", Text: "42", ToolCallID: "c1", Name: "f"}},
		{"tool's parts", `{"role": "tool", "content": [{"type": "text", "text": "42"}], "tool_call_id": "c1"}`, inference.Message{
			Role: "tool", ToolCallID: "c1", Parts: []inference.Part{{Kind: inference.PartText, Text: "42"}},
		}},
		{"function", `{"role": "function", "content": null, "name": "f"}`, inference.Message{Role: "function", Name: "f", NoContent: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := DecodeMessages(json.RawMessage("[" + tt.raw + "]"))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, []inference.Message{tt.want}) {
				t.Errorf("got  %+v\nwant %+v", got[0], tt.want)
			}
			wantSchema(t, "messages", "["+tt.raw+"]", true)
		})
	}
}

func TestDecodeMessagesNamesTheField(t *testing.T) {
	assistant := func(fields string) string { return `[{"role": "assistant", ` + fields + `}]` }
	call := func(call string) string { return assistant(`"tool_calls": [` + call + `]`) }
	for _, tt := range []struct{ name, raw, param, message string }{
		{"null", `null`, "messages", "messages must be a list of messages, got null"},
		{"text", `"hi"`, "messages", `messages must be a list of messages, got a string of 2 bytes`},
		{"none", `[]`, "messages", "messages must be a list of at least 1 message, got a list of 0"},
		{"not an object", `["hi"]`, "messages[0]", `messages[0] must be an object, got a string of 2 bytes`},
		{"no role", `[{"content": "x"}]`, "messages[0].role", "messages[0].role is required"},
		{"role unknown", `[{"role": "bot", "content": "x"}]`, "messages[0].role", `messages[0].role must be developer, system, user, assistant, tool or function, got "bot"`},
		{"role null", `[{"role": null, "content": "x"}]`, "messages[0].role", "messages[0].role must be developer, system, user, assistant, tool or function, got null"},
		{"no content", `[{"role": "user", "content": "x"}, {"role": "user"}]`, "messages[1].content", "messages[1].content is required"},
		{"content null", `[{"role": "user", "content": null}]`, "messages[0].content", "messages[0].content must be a string or a list of parts, got null"},
		{"content number", `[{"role": "user", "content": 4}]`, "messages[0].content", "messages[0].content must be a string or a list of parts, got 4"},
		{"content empty list", `[{"role": "user", "content": []}]`, "messages[0].content", "messages[0].content must be a string or a list of at least 1 part, got a list of 0"},
		{"name", `[{"role": "user", "content": "x", "name": 4}]`, "messages[0].name", "messages[0].name must be a string, got 4"},
		{"part", `[{"role": "user", "content": ["x"]}]`, "messages[0].content[0]", `messages[0].content[0] must be an object, got a string of 1 bytes`},
		{"part's type", `[{"role": "user", "content": [{"type": "video"}]}]`, "messages[0].content[0].type", `messages[0].content[0].type must be text, image_url, input_audio or file, got "video"`},
		{"part's text", `[{"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": 4}]}]`, "messages[0].content[1].text", "messages[0].content[1].text must be a string, got 4"},
		{"image from the system", `[{"role": "system", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]`, "messages[0].content[0].type", `messages[0].content[0].type must be text, got "image_url"`},
		{"image without URL", `[{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]`, "messages[0].content[0].image_url.url", "messages[0].content[0].image_url.url is required"},
		{"image as text", `[{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]`, "messages[0].content[0].image_url", `messages[0].content[0].image_url must be an object, got a string of 1 bytes`},
		{"audio format", `[{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "ogg"}}]}]`, "messages[0].content[0].input_audio.format", `messages[0].content[0].input_audio.format must be wav or mp3, got "ogg"`},
		{"tool without id", `[{"role": "tool", "content": "x"}]`, "messages[0].tool_call_id", "messages[0].tool_call_id is required"},
		{"function without name", `[{"role": "function", "content": "x"}]`, "messages[0].name", "messages[0].name is required"},
		{"function with parts", `[{"role": "function", "name": "f", "content": [{}]}]`, "messages[0].content", "messages[0].content must be a string or null, got a list of 1"},
		{"calls", assistant(`"tool_calls": "x"`), "messages[0].tool_calls", `messages[0].tool_calls must be a list of tool calls, got a string of 1 bytes`},
		{"call's id", call(`{"type": "function", "function": {"name": "f", "arguments": "{}"}}`), "messages[0].tool_calls[0].id", "messages[0].tool_calls[0].id is required"},
		{"arguments as an object", call(`{"id": "a", "type": "function", "function": {"name": "f", "arguments": {}}}`), "messages[0].tool_calls[0].function.arguments", "messages[0].tool_calls[0].function.arguments must be a string, got an object"},
		{"custom call without input", call(`{"id": "a", "type": "custom", "custom": {"name": "f"}}`), "messages[0].tool_calls[0].custom.input", "messages[0].tool_calls[0].custom.input is required"},
		{"key twice", `[{"role": "user", "content": [{"type": "text", "text": "a", "text": "b"}]}]`, "messages[0].content[0].text", "messages[0].content[0].text is given twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := DecodeMessages(json.RawMessage(tt.raw))
			inferencetest.WantInvalid(t, err, tt.param, tt.message)
			if openaitest.BeyondSchema(err) || strings.HasSuffix(tt.message, "twice") {
				return
			}
			wantSchema(t, "messages", tt.raw, false)
		})
	}
}

func TestDecodeMessagesRefusesWhatNoTemplateShows(t *testing.T) {
	for _, tt := range []struct{ name, raw, param string }{
		{"spoken answer", `{"role": "assistant", "audio": {"id": "a"}}`, "messages[0].audio"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := DecodeMessages(json.RawMessage("[" + tt.raw + "]"))
			var e *inference.Error
			if !errors.As(err, &e) || e.Reason != inference.ReasonUnsupported || e.Param != tt.param {
				t.Errorf("got %+v, want %s to be unsupported", err, tt.param)
			}
			wantSchema(t, "messages", "["+tt.raw+"]", true)
		})
	}
}

func TestDecodeInput(t *testing.T) {
	texts := func(all ...string) (inputs []inference.EncodeInput) {
		for _, s := range all {
			inputs = append(inputs, inference.EncodeInput{Input: inference.Input{Text: s}})
		}
		return inputs
	}
	ids := func(lists ...[]int) (inputs []inference.EncodeInput) {
		for _, list := range lists {
			inputs = append(inputs, inference.EncodeInput{Input: inference.Input{TokenIDs: list}})
		}
		return inputs
	}
	image := func(url, param string) inference.EncodeInput {
		return inference.EncodeInput{Image: &inference.ImageRef{URL: url, Param: param}}
	}
	for _, tt := range []struct {
		name, raw string
		want      []inference.EncodeInput
	}{
		{"text", `"hi"`, texts("hi")},
		{"texts", `["a", "b"]`, texts("a", "b")},
		{"token ids", `[1, 2.0, 2147483647]`, ids([]int{1, 2, 2147483647})},
		{"lists of token ids", `[[1], [2, 3]]`, ids([]int{1}, []int{2, 3})},
		{"an object with a text", `{"text": "hi", "image": null, "x": [1]}`, texts("hi")},
		{"an object with an image", `{"image": "https://example.com/a.png", "text": ""}`, []inference.EncodeInput{image("https://example.com/a.png", "input.image")}},
		{
			"texts and images", `[{"text": "a"}, {"image": "data:image/png;base64,AA=="}, "b", {"image": "AA=="}]`,
			append(append(texts("a"), image("data:image/png;base64,AA==", "input[1].image")), append(texts("b"), image("data:;base64,AA==", "input[3].image"))...),
		},
		{"2048 texts", "[" + strings.Repeat(`"a",`, 2047) + `"a"]`, texts(strings.Split(strings.Repeat("a", 2048), "")...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := DecodeInput(json.RawMessage(tt.raw))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v", got, err)
			}
			wantSchema(t, "input", tt.raw, true)
		})
	}
}

func TestDecodeInputNamesTheField(t *testing.T) {
	const forms = "a string, a list of strings, a list of token ids, a list of token id lists, or objects with text or image"
	for _, tt := range []struct{ name, raw, param, message string }{
		{"null", `null`, "input", "input must be " + forms + ", got null"},
		{"number", `1`, "input", "input must be " + forms + ", got 1"},
		{"object", `{}`, "input", "input must have a text or an image"},
		{"empty object", `["a", {"text": "", "image": null}]`, "input[1]", "input[1] must have a text or an image"},
		{"both", `[{"text": "a", "image": "b"}]`, "input[0]", "input[0] must have either a text or an image: send both as messages"},
		{"a number as an image", `{"image": 5}`, "input.image", "input.image must be a string, got 5"},
		{"an object after ids", `[[1], {"text": "a"}]`, "input[1]", "input[1] must be a list of token ids, got an object"},
		{"empty text", `""`, "input", "input must not be empty"},
		{"empty list", `[]`, "input", "input must not be empty"},
		{"empty item", `["a", ""]`, "input[1]", "input[1] must not be empty"},
		{"empty ids", `[[1], []]`, "input[1]", "input[1] must not be empty"},
		{"mixed", `["a", 1]`, "input[1]", "input[1] must be a string, got 1"},
		{"mixed lists", `[[1], "a"]`, "input[1]", `input[1] must be a list of token ids, got a string of 1 bytes`},
		{"no id", `[1, 1.5]`, "input[1]", "input[1] must be a token id, got 1.5"},
		{"negative id", `[[-1]]`, "input[0][0]", "input[0][0] must be a token id, got -1"},
		{"id beyond 32 bits", `[2147483648]`, "input[0]", "input[0] must be a token id, got 2147483648"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := DecodeInput(json.RawMessage(tt.raw))
			inferencetest.WantInvalid(t, err, tt.param, tt.message)
			wantSchema(t, "input", tt.raw, false)
		})
	}
}

// fieldSchema returns the document's schema of a field that has a decoder.
func fieldSchema(t *testing.T, field string) *openapi3.Schema {
	t.Helper()
	of := map[string]string{"messages": "CreateChatCompletionRequest", "input": "CreateEmbeddingRequest", "prompt": "CreateCompletionRequest"}
	schema := *openaitest.Schema(t, of[field]).Properties[field].Value
	schema.Nullable = false // a field of null is absent, and decoders don't get it
	return &schema
}

// wantSchema checks that the decoder and the schema agree on a value.
func wantSchema(t *testing.T, field, raw string, accepted bool) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(raw), &value); err != nil {
		t.Fatal(err)
	}
	if err := fieldSchema(t, field).VisitJSON(value); (err == nil) != accepted {
		t.Errorf("the document disagrees, accepted there: %t (%v)", err == nil, err)
	}
}

// TestDecodersAgreeWithTheDocument checks that DecodeMessages, DecodeInput and DecodePrompt accept
// the same values as the schemas in the OpenAPI document.
func TestDecodersAgreeWithTheDocument(t *testing.T) {
	for field, tt := range map[string]struct {
		values func(*rapid.T) any
		decode func(json.RawMessage) error
	}{
		"messages": {anyMessages, func(raw json.RawMessage) error { _, err := DecodeMessages(raw); return err }},
		"input":    {anyInput, func(raw json.RawMessage) error { _, err := DecodeInput(raw); return err }},
		"prompt":   {anyInput, func(raw json.RawMessage) error { _, err := DecodePrompt(raw); return err }},
	} {
		t.Run(field, func(t *testing.T) { openaitest.CheckAgreement(t, fieldSchema(t, field), tt.values, tt.decode) })
	}
}

func anyMessages(t *rapid.T) any {
	messages := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "messages") {
		messages = append(messages, openaitest.Mutate(t, anyMessage(t)))
	}
	return messages
}

func anyMessage(t *rapid.T) map[string]any {
	role := rapid.SampledFrom(append(roles(), "bot")).Draw(t, "role")
	m := map[string]any{"role": role, "content": anyContent(t, role)}
	switch role {
	case "tool":
		m["tool_call_id"] = "c"
	case "function":
		m["name"] = "f"
	case "assistant":
		switch rapid.IntRange(0, 3).Draw(t, "extra") {
		case 0:
			m["tool_calls"] = []any{openaitest.Mutate(t, anyCall(t))}
		case 1:
			m["function_call"] = openaitest.Mutate(t, map[string]any{"name": "f", "arguments": "{}"})
		case 2:
			m["audio"] = openaitest.Mutate(t, map[string]any{"id": "a"})
		}
	}
	return m
}

func anyContent(t *rapid.T, role string) any {
	if rapid.Bool().Draw(t, "string") {
		return rapid.String().Draw(t, "content")
	}
	kinds := partKinds(role)
	if len(kinds) == 0 || rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		kinds = []string{"text", "refusal", "image_url", "input_audio", "file"}
	}
	parts := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		parts = append(parts, openaitest.Mutate(t, anyPart(t, rapid.SampledFrom(kinds).Draw(t, "kind"))))
	}
	return parts
}

func anyPart(t *rapid.T, kind string) map[string]any {
	part := map[string]any{"type": kind, "prompt_cache_breakpoint": openaitest.Mutate(t, map[string]any{"mode": "explicit"})}
	switch kind {
	case "text", "refusal":
		part[kind] = "x"
	case "image_url":
		part[kind] = openaitest.Mutate(t, map[string]any{"url": "x", "detail": "auto"})
	case "input_audio":
		part[kind] = openaitest.Mutate(t, map[string]any{"data": "x", "format": "mp3"})
	case "file":
		part[kind] = openaitest.Mutate(t, map[string]any{"filename": "x", "file_data": "x", "file_id": nil})
	}
	return part
}

func anyCall(t *rapid.T) map[string]any {
	if rapid.Bool().Draw(t, "custom") {
		return map[string]any{"id": "c", "type": "custom", "custom": openaitest.Mutate(t, map[string]any{"name": "f", "input": "x"})}
	}
	return map[string]any{"id": "c", "type": "function", "function": openaitest.Mutate(t, map[string]any{"name": "f", "arguments": "{}"})}
}

func anyInput(t *rapid.T) any {
	item := rapid.SampledFrom([]func() any{
		func() any { return "x" },
		func() any { return 7 },
		func() any { return []any{1, 2} },
		func() any { return openaitest.Mutate(t, map[string]any{"text": "x"}) },
		func() any { return openaitest.Mutate(t, map[string]any{"image": "x", "text": nil}) },
		func() any { return openaitest.AnyValue(t) },
	}).Draw(t, "item")
	if rapid.IntRange(0, 3).Draw(t, "single") == 0 {
		return item()
	}
	list := []any{}
	for range rapid.IntRange(0, 4).Draw(t, "items") {
		list = append(list, item())
	}
	return list
}

// FuzzDecodeMessages checks that DecodeMessages doesn't panic on any JSON, and that its errors name
// a field.
func FuzzDecodeMessages(f *testing.F) {
	f.Add(`[{"role": "user", "content": "hi"}]`)
	f.Add(`[{"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]}]`)
	f.Add(`[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]`)
	f.Fuzz(func(t *testing.T, raw string) {
		_, err := DecodeMessages(json.RawMessage(raw))
		var e *inference.Error
		if err != nil && (!errors.As(err, &e) || e.Code != inference.CodeInvalid || json.Valid([]byte(raw)) && utf8.ValidString(raw) && e.Param == "") {
			t.Errorf("%q: %v", raw, err)
		}
	})
}

// BenchmarkDecodeInput measures DecodeInput with 8,192 token ids, the largest common input of an
// embeddings request.
func BenchmarkDecodeInput(b *testing.B) {
	raw := json.RawMessage(strings.ReplaceAll(fmt.Sprint(make([]int, 8192)), "0 ", "31337,"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeInput(raw); err != nil {
			b.Fatal(err)
		}
	}
}
