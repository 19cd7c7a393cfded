package responses

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

// anyItems generates the input of a response; [TestDecodeItemsAgreesWithTheDocument] spoils
// some parts of it.
func anyItems(t *rapid.T) any {
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
	kinds := []string{itemMessage, itemMessage, itemCall, itemOutput, itemCustomCall, itemCustomOutput, itemTools, itemReasoning, itemReference, "web_search_call", "shell_call"}
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	object := map[string]any{"type": kind}
	switch kind {
	case itemMessage:
		role := rapid.SampledFrom([]string{"user", "system", "developer", assistant, "bot"}).Draw(t, "role")
		object["role"], object["content"] = role, anyItemContent(t, role)
		if rapid.Bool().Draw(t, "easy") {
			delete(object, "type")
		}
	case itemCall:
		object["call_id"], object["name"], object["arguments"] = "c", "f", "{}"
	case itemCustomCall:
		object["call_id"], object["name"], object["input"], object["namespace"] = "c", "f", "x", "n"
	case itemTools:
		object["tools"], object["role"] = []any{openaitest.Mutate(t, anyTool(t, true)), openaitest.Mutate(t, anyTool(t, true))}, "developer"
	case itemOutput, itemCustomOutput:
		object["call_id"], object["output"] = "c", anyItemContent(t, "user")
	case itemReasoning:
		object["content"] = []any{openaitest.Mutate(t, map[string]any{"type": partReasoning, "text": "x"})}
		object["summary"] = []any{openaitest.Mutate(t, map[string]any{"type": partSummary, "text": "x"})}
	case itemReference:
		object["id"] = "msg_1"
		if rapid.Bool().Draw(t, "easy") {
			delete(object, "type")
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "kept") == 0 {
		object["id"], object["status"] = "msg_1", statusCompleted
	}
	return object
}

func anyTool(t *rapid.T, nested bool) map[string]any {
	object := map[string]any{"name": "f", "description": "d", "type": rapid.SampledFrom([]string{"function", toolCustom, toolNamespace, toolMCP, "web_search", "magic"}).Draw(t, "type")}
	switch object["type"] {
	case "function":
		object["parameters"], object["strict"] = map[string]any{}, false
	case toolCustom:
		object["format"] = openaitest.Mutate(t, map[string]any{"type": "grammar", "syntax": rapid.SampledFrom([]string{"lark", "regex", "ebnf"}).Draw(t, "syntax"), "definition": "x"})
	case toolNamespace:
		object["tools"] = []any{}
		if nested {
			object["tools"] = []any{openaitest.Mutate(t, anyTool(t, false))}
		}
	default:
		return object
	}
	if rapid.IntRange(0, 3).Draw(t, "more") == 0 {
		object["defer_loading"], object["allowed_callers"] = false, []any{rapid.SampledFrom([]string{"direct", "x"}).Draw(t, "caller")}
	}
	return object
}

func anyItemContent(t *rapid.T, role string) any {
	if rapid.Bool().Draw(t, "string") {
		return "x"
	}
	kinds := []string{partInputText, partInputImage}
	if role == assistant {
		kinds = []string{partOutputText, "refusal", partInputText}
	}
	if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		kinds = []string{partOutputText, "refusal", partInputText, partInputImage, partInputFile}
	}
	parts := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		part := map[string]any{"type": rapid.SampledFrom(kinds).Draw(t, "kind"), "prompt_cache_breakpoint": openaitest.Mutate(t, map[string]any{"mode": "explicit"})}
		switch part["type"] {
		case partInputText, partOutputText:
			part["text"], part["annotations"] = "x", []any{map[string]any{}}
		case "refusal":
			part["refusal"] = "x"
		case partInputImage:
			part["image_url"], part["detail"] = "x", "auto"
		}
		parts = append(parts, openaitest.Mutate(t, part))
	}
	return parts
}

// TestDecodeItemsAgreesWithTheDocument compares decodeItems with the document's schema of the
// input.
func TestDecodeItemsAgreesWithTheDocument(t *testing.T) {
	openaitest.CheckAgreement(t, openaitest.Schema(t, "ResponseInput"), anyItems, func(raw json.RawMessage) error { _, err := decodeItems(raw); return err })
}

// TestTooManyItems tests that the maximum number of items already applies while the list of items is
// read.
func TestTooManyItems(t *testing.T) {
	input := func(n int) json.RawMessage {
		return json.RawMessage("[" + strings.Repeat(`{"role":"user","content":"a"},`, n-1) + `{"role":"user","content":"a"}]`)
	}
	if items, err := decodeItems(input(budget.Messages)); err != nil || len(items) != budget.Messages {
		t.Errorf("at the limit: %d items, %v", len(items), err)
	}
	_, err := decodeItems(input(budget.Messages + 1))
	inferencetest.WantInvalid(t, err, "input[16384]", "input[16384] exceeds the maximum of 16384 items in a request")
}

// FuzzDecodeItems checks that the decoder of a response's input items doesn't panic on any JSON,
// and that its errors name a field.
func FuzzDecodeItems(f *testing.F) {
	f.Add(`"hi"`)
	f.Add(`[{"role": "user", "content": "hi"}, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a\": 1}"}]`)
	f.Add(`[{"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}]}, {"id": "msg_1"}]`)
	f.Add(`[{"type": "reasoning", "summary": null, "content": null, "encrypted_content": "tri1.AAAA"}, {"role": "user", "content": "x"}]`)
	f.Add(`[{"role": "assistant", "content": [{"type": "output_text", "text": "x", "annotations": [{}], "logprobs": null}]}]`)
	f.Fuzz(func(t *testing.T, raw string) {
		items, err := decodeItems(json.RawMessage(raw))
		var e *inference.Error
		if err != nil && (!errors.As(err, &e) || e.Code != inference.CodeInvalid || json.Valid([]byte(raw)) && utf8.ValidString(raw) && e.Param == "") {
			t.Errorf("%q: %v", raw, err)
		}
		var c conversation
		for _, it := range items {
			if err := c.add(it, "input"); err != nil {
				t.Errorf("%q: %v", raw, err)
			}
			if it.kind != itemReference && !json.Valid(it.encode()) {
				t.Errorf("%q: %s", raw, it.encode())
			}
		}
	})
}
