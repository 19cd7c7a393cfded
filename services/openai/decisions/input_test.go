package decisions

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

// anyInput generates an input, some parts of which are spoiled.
func anyInput(t *rapid.T) any {
	if rapid.IntRange(0, 9).Draw(t, "text") == 0 {
		return "x"
	}
	items := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "items") {
		items = append(items, openaitest.Mutate(t, anyItem(t)))
	}
	return items
}

func anyItem(t *rapid.T) map[string]any {
	kind := rapid.SampledFrom([]string{"message", "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning"}).Draw(t, "kind")
	object := map[string]any{"type": kind}
	switch kind {
	case "message":
		role := rapid.SampledFrom([]string{user, "system", "developer", assistant, "bot"}).Draw(t, "role")
		object["role"], object["content"], object["phase"] = role, anyContent(t, role), "final_answer"
		if rapid.Bool().Draw(t, "easy") {
			delete(object, "type")
		}
		return object
	case "function_call":
		object["call_id"], object["name"], object["arguments"], object["namespace"] = "c", "f", "{}", "n"
	case "custom_tool_call":
		object["call_id"], object["name"], object["input"] = "c", "f", "x"
	default:
		object["call_id"], object["output"] = "c", anyContent(t, "tool")
	}
	object["id"], object["status"] = "i", "completed"
	return object
}

func anyContent(t *rapid.T, role string) any {
	if rapid.Bool().Draw(t, "string") {
		return "x"
	}
	kinds := map[string][]string{user: userParts(), assistant: {partOutput, "refusal"}, "tool": {partText, partImage}}[role]
	if kinds == nil || rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		kinds = []string{partText, partImage, partJSON, partOutput, "refusal", "input_file"}
	}
	parts := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		part := map[string]any{"type": rapid.SampledFrom(kinds).Draw(t, "kind")}
		switch part["type"] {
		case partText:
			part["text"], part["prompt_cache_breakpoint"] = "x", openaitest.Mutate(t, map[string]any{"mode": "explicit"})
		case partOutput:
			part["text"] = "x"
		case "refusal":
			part["refusal"] = "x"
		case partImage:
			part["image_url"], part["detail"] = "data:x", "auto"
		case partJSON:
			part["data"] = rapid.SampledFrom([]any{map[string]any{"a": 1}, []any{map[string]any{}}, []any{1}, "x"}).Draw(t, "data")
		}
		parts = append(parts, openaitest.Mutate(t, part))
	}
	return parts
}

// TestDecodeInputAgreesWithTheDocument compares decodeInput with the document's schema of the input.
func TestDecodeInputAgreesWithTheDocument(t *testing.T) {
	openaitest.CheckAgreement(t, openaitest.Schema(t, "DecisionInput"), anyInput, func(raw json.RawMessage) error { _, err := decodeInput(raw); return err })
}

// TestTooManyItems checks that the maximum number of items applies while the list is read.
func TestTooManyItems(t *testing.T) {
	_, err := decodeInput(json.RawMessage("[" + strings.Repeat(`{"role":"user","content":"a"},`, budget.Messages) + `{"role":"user","content":"a"}]`))
	inferencetest.WantInvalid(t, err, "input[16384]", "input[16384] exceeds the maximum of 16384 items in a request")
}

// FuzzDecodeInput checks that the decoder of the input doesn't panic on any JSON, and that its errors name a
// field.
func FuzzDecodeInput(f *testing.F) {
	f.Add(`"hi"`)
	f.Add(`[{"role": "user", "content": [{"type": "input_json", "data": {"b": [1, {"a": null}]}}]}, {"role": "user", "content": "x"}]`)
	f.Add(`[{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{"}, {"type": "function_call_output", "call_id": "c", "output": [ ]}]`)
	f.Add(`[{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}]`)
	f.Fuzz(func(t *testing.T, raw string) {
		messages, err := decodeInput(json.RawMessage(raw))
		var e *inference.Error
		if err != nil && (!errors.As(err, &e) || e.Code != inference.CodeInvalid || json.Valid([]byte(raw)) && utf8.ValidString(raw) && e.Param == "") {
			t.Errorf("%q: %v", raw, err)
		}
		for i := range messages {
			if i > 0 && messages[i].Role == user && messages[i-1].Role == user {
				t.Errorf("%q: two user messages in a row", raw)
			}
		}
	})
}
