package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/oapi-codegen/runtime"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/test/tier"
)

// TestTooManyValues checks that the OpenAI API limits the number of JSON values in a request body,
// whichever field has them.
func TestTooManyValues(t *testing.T) {
	tier.Computes(t)
	many := "[" + strings.Repeat("1,", budget.Values) + "1]"
	const message = "the request body holds too many values: at most 262144 numbers, strings, lists and objects together are allowed"
	const fullObject = "the request body holds an object of more than 16384 keys: send fewer"
	for _, tt := range []struct{ name, body, param, message string }{
		{"unknown field", chatBody(`, "x": ` + many), "", message},
		{"keys of an unknown object", chatBody(`, "x": {` + strings.TrimSuffix(keys(budget.ObjectKeys+1), ",") + `}`), "", fullObject},
		{"keys of the body", chatBody(`, ` + strings.TrimSuffix(keys(budget.ObjectKeys), ",")), "", fullObject},
		{"keys of a parameter", chatBody(`, "tools": [{"type":"function","function":{"name":"f","parameters":{"x":{` + strings.TrimSuffix(keys(budget.ObjectKeys+1), ",") + `}}}}]`), "", fullObject},
		{"keys of a call's arguments", `{"model": "m", "messages": [{"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": ` +
			strconv.Quote("{"+strings.TrimSuffix(keys(budget.ObjectKeys+1), ",")+"}") + `}}]}]}`, "", fullObject},
		{"built field", chatBody(`, "stop": ` + many), "stop", "stop holds more than 4096 values: send fewer"},
		{"field of one value", chatBody(`, "top_p": {"x": ` + many + `}`), "top_p", "top_p holds more than 4096 values: send fewer"},
		{"union", chatBody(`, "function_call": ` + many), "function_call", "function_call holds more than 4096 values: send fewer"},
		{"field of bytes", chatBody(`, "chat_template_kwargs": {"x": ` + many + `}`), "chat_template_kwargs", "chat_template_kwargs holds more than 65536 values: send fewer"},
		{"tools", chatBody(`, "tools": [{"type":"function","function":{"name":"f","parameters":{"x":` + many + `}}}]`), "tools", "tools holds more than 65536 values: send fewer"},
		{"keys", chatBody(`, "x": [` + strings.Repeat(`{"a":1},`, budget.Values/2) + `{}]`), "", message},
		{"messages", `{"model": "m", "messages": [{"role": "user", "content": "x", "y": ` + many + `}]}`, "", message},
		{"arguments of calls", `{"model": "m", "messages": [{"role": "assistant", "tool_calls": [` + strings.Repeat(
			`{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"a\": [`+strings.Repeat("1,", budget.Values/4)+`1]}"}},`, 5,
		) + `{"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]}]}`, "", message},
		{"schema as text", chatBody(`, "guided_json": "{\"enum\": ` + many + `}"`), "guided_json", "guided_json holds more than 65536 values: send a smaller schema"},
		{"keys of a loose field", `{"model": "m", "messages": {` + strings.TrimSuffix(keys(budget.ObjectKeys+1), ",") + `}}`, "", fullObject},
		{"keys of loose objects", `{"model": "m", "messages": [` + strings.Repeat(`{"a":1},`, budget.Values/2) + `{"a":1}]}`, "", message},
		{"numbers of a loose field", `{"model": "m", "messages": [` + strings.Repeat("1,", budget.TokenIDs+1) + `1]}`, "", "the request body holds too many token ids: all lists of a request together may have at most 1048576"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			validated, err := newValidator(t).Validate(chatPattern, []byte(tt.body))
			if err == nil {
				var body api.CreateChatCompletionRequest
				if err := runtime.BindJSONBody(&http.Request{Body: validated}, &body); err != nil {
					t.Fatal(err)
				}
				_, err = chatRequest(t.Context(), &body)
			}
			inferencetest.WantInvalid(t, err, tt.param, tt.message)
		})
	}
}

// keys returns n members of an object, each followed by a comma.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":1,`, i)
	}
	return b.String()
}

// TestFieldBudgets tests that the size limits of lists and maps already apply while the list or the
// map is read.
func TestFieldBudgets(t *testing.T) {
	items := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	members := func(n int) string { return "{" + strings.TrimSuffix(keys(n), ",") + "}" }
	user := `{"role":"user","content":""}`
	for _, tt := range []struct {
		name    string
		most    int
		pattern string
		make    func(n int) string
		param   string
		message string
	}{
		{"biases", budget.Keys, chatPattern, func(n int) string { return chatBody(`,"logit_bias":` + members(n)) }, "logit_bias", "logit_bias must be an object of at most 4096 keys"},
		{"variables", budget.Keys, chatPattern, func(n int) string { return chatBody(`,"chat_template_kwargs":` + members(n)) }, "chat_template_kwargs", "chat_template_kwargs must be an object of at most 4096 keys"},
		{"stop ids", budget.Words, chatPattern, func(n int) string { return chatBody(`,"stop_token_ids":` + items(n, "1")) }, "stop_token_ids", "stop_token_ids must be a list of at most 4096 items"},
		{"bad words", budget.Words, chatPattern, func(n int) string { return chatBody(`,"bad_words":` + items(n, `"a"`)) }, "bad_words", "bad_words must be a list of at most 4096 items"},
		{"inputs", budget.Embedded, embeddingPattern, func(n int) string { return `{"model":"m","input":` + items(n, `"a"`) + `}` }, "input", "input holds more than 4096 entries: send fewer"},
		{"lists of ids", budget.Embedded, embeddingPattern, func(n int) string { return `{"model":"m","input":` + items(n, "[1]") + `}` }, "input", "input holds more than 4096 entries: send fewer"},
		{"choices", budget.Choices, chatPattern, func(n int) string { return chatBody(`,"guided_choice":` + items(n, `"a"`)) }, "guided_choice", "guided_choice must be a list of at most 16384 items"},
		{"messages", budget.Messages, chatPattern, func(n int) string { return `{"model":"m","messages":` + items(n, user) + `}` }, "messages[16384]", "messages[16384] exceeds the maximum of 16384 messages in a request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := decodeAs(t, tt.pattern, tt.make(tt.most)); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			inferencetest.WantInvalid(t, decodeAs(t, tt.pattern, tt.make(tt.most+1)), tt.param, tt.message)
		})
	}
}

// decodeAs validates and decodes a chat, or the input of an embedding.
func decodeAs(t *testing.T, pattern, body string) error {
	t.Helper()
	validated, err := newValidator(t).Validate(pattern, []byte(body))
	if err != nil {
		return err
	}
	if pattern == embeddingPattern {
		var embedding api.CreateEmbeddingRequest
		if err := runtime.BindJSONBody(&http.Request{Body: validated}, &embedding); err != nil {
			t.Fatal(err)
		}
		_, err = DecodeInput(embedding.Input)
		return err
	}
	var chat api.CreateChatCompletionRequest
	if err := runtime.BindJSONBody(&http.Request{Body: validated}, &chat); err != nil {
		t.Fatal(err)
	}
	_, err = chatRequest(t.Context(), &chat)
	return err
}

// TestMostKeys checks that Validator.Validate accepts a chat request that has an object with the
// maximum number of keys.
func TestMostKeys(t *testing.T) {
	tier.Computes(t)
	object := "{" + strings.TrimSuffix(keys(budget.ObjectKeys), ",") + "}"
	if _, err := newValidator(t).Validate(chatPattern, []byte(chatBody(`,"x":[`+object+`,`+object+`]`))); err != nil {
		t.Error(err)
	}
}

// TestTokenIDsAreNotCounted checks that token ids in an embeddings request don't count against the
// maximum number of JSON values. A batch of long inputs has more ids than that.
func TestTokenIDsAreNotCounted(t *testing.T) {
	tier.Computes(t)
	ids := "[" + strings.Repeat("1,", budget.TokenIDs-1) + "1]"
	if _, err := newValidator(t).Validate(embeddingPattern, []byte(`{"model": "m", "input": [`+ids+`]}`)); err != nil {
		t.Error(err)
	}
	inputs, err := DecodeInput(json.RawMessage("[" + ids + "]"))
	if err != nil || len(inputs) != 1 || len(inputs[0].TokenIDs) != budget.TokenIDs {
		t.Errorf("%d inputs, %v", len(inputs), err)
	}
	const message = "the request body holds too many token ids: all lists of a request together may have at most 1048576"
	_, err = newValidator(t).Validate(embeddingPattern, []byte(`{"model": "m", "input": [[1],`+ids+`]}`))
	inferencetest.WantInvalid(t, err, "", message)
	_, err = DecodeInput(json.RawMessage("[[1]," + ids + "]"))
	inferencetest.WantInvalid(t, err, "", message)
}

// TestForms checks that a chat request with a guided_regex, guided_grammar or structured_outputs
// string is accepted at the maximum size and refused above it.
func TestForms(t *testing.T) {
	tier.Computes(t)
	for _, tt := range []struct {
		fields, param string
		most          int
	}{
		{`"guided_regex":%s`, "guided_regex", budget.PatternBytes},
		{`"structured_outputs":{"regex":%s}`, "structured_outputs.regex", budget.PatternBytes},
		{`"guided_grammar":%s`, "guided_grammar", budget.GrammarBytes},
		{`"structured_outputs":{"structural_tag":%s}`, "structured_outputs.structural_tag", budget.GrammarBytes},
	} {
		text := func(n int) string { // each character needs six bytes in JSON
			return chatBody("," + fmt.Sprintf(tt.fields, `"`+strings.Repeat(`\u0061`, n)+`"`))
		}
		if err := decodeAs(t, chatPattern, text(tt.most)); err != nil {
			t.Errorf("%s at the limit: %v", tt.param, err)
		}
		inferencetest.WantInvalid(t, decodeAs(t, chatPattern, text(tt.most+1)), tt.param, fmt.Sprintf("%s must not be longer than %d bytes, got %d", tt.param, tt.most, tt.most+1))
	}
}
