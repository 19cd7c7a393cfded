package openaitest

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// AnyValue returns a value of any type, which may be valid in some places.
func AnyValue(t *rapid.T) any {
	return rapid.SampledFrom([]any{
		nil, true, 0, -1, 1.5, "", "x", "text", "user", "{}", "[1]", []any{}, []any{"x"}, map[string]any{}, map[string]any{"type": "text"},
	}).Draw(t, "junk")
}

// Mutate sometimes removes a key of the object, changes its value, or adds a
// key.
func Mutate(t *rapid.T, object map[string]any) map[string]any {
	if rapid.IntRange(0, 5).Draw(t, "spoil") > 0 {
		return object
	}
	keys := []string{
		"role", "content", "name", "tool_call_id", "tool_calls", "function_call", "refusal", "reasoning", "reasoning_content", "audio", "type", "text", "image_url",
		"input_audio", "file", "url", "detail", "data", "format", "id", "function", "custom", "arguments", "input", "mode", "prompt_cache_breakpoint",
		"status", "phase", "call_id", "output", "summary", "encrypted_content", "annotations", "logprobs",
	}
	for key := range object {
		keys = append(keys, key, key, key, key)
	}
	key := rapid.SampledFrom(keys).Draw(t, "key")
	if rapid.Bool().Draw(t, "drop") {
		delete(object, key)
	} else {
		object[key] = AnyValue(t)
	}
	return object
}

// JSON returns the encoded value.
func JSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
