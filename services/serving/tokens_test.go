package serving_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestTokenize checks the tokens of prompts and of chats, with and without the token that starts a text, and their text.
func TestTokenize(t *testing.T) {
	s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), withTokenizer(t, "{{ messages[0].content }}b"))
	chat := inferencetest.ChatRequest(1)
	chat.Messages[0].Text = "ab"
	prompt := func(text string) *inference.Request {
		return &inference.Request{Model: "m", Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: text}}}
	}
	for _, tt := range []struct {
		name    string
		req     *inference.Request
		special bool
		want    string
		words   string
	}{
		{"a prompt", prompt("abba"), false, "[2 1 0]", "ab b a"},
		{"a prompt with its start", prompt("abba"), true, "[3 2 1 0]", "<s> ab b a"},
		{"nothing", prompt(""), false, "[]", ""},
		{"longer than the context", prompt("aabaabaabaabaab"), false, "[0 2 0 2 0 2 0 2 0 2]", "a ab a ab a ab a ab a ab"},
		{"a chat", chat, true, "[3 2 1]", "<s> ab b"},
	} {
		model := s.Resolve("m")
		got, err := s.Tokenize(t.Context(), &model, tt.req, tt.special)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var words []string
		for _, id := range got.IDs {
			word, ok := got.Text(id)
			if !ok {
				t.Errorf("%s: %d has no text", tt.name, id)
			}
			words = append(words, word)
		}
		if list := strings.Join(words, " "); fmt.Sprint(got.IDs) != tt.want || list != tt.words || got.ContextLength != 8 {
			t.Errorf("%s: got %v, %q, a context of %d", tt.name, got.IDs, list, got.ContextLength)
		}
	}
	model := s.Resolve("m")
	const long = 1 << 24
	_, err := s.Tokenize(t.Context(), &model, prompt(strings.Repeat("a", long)), false)
	if e := inference.AsError(err); err == nil || e.Param != "prompt" || !strings.HasPrefix(e.Message, fmt.Sprintf("prompt has %d bytes, but Trident tokenizes at most ", long)) {
		t.Errorf("%d bytes: %v", long, err)
	}
	if len(engine.Requests()) > 0 {
		t.Error("the engine was asked")
	}
}

// TestDetokenize checks the texts of token ids, and the errors of ids that the model doesn't have.
func TestDetokenize(t *testing.T) {
	s, _ := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), withTokenizer(t, ""))
	for _, tt := range []struct {
		ids                  []int
		text, param, message string
	}{
		{[]int{3, 2, 1, 0}, "<s>abba", "", ""},
		{nil, "", "", ""},
		{[]int{0, 4}, "", "tokens[1]", "tokens[1]: the model `m` has no token 4"},
		{[]int{-1}, "", "tokens[0]", "tokens[0]: the model `m` has no token -1"},
	} {
		model := s.Resolve("m")
		text, err := s.Detokenize(t.Context(), &model, tt.ids)
		if text != tt.text || (err == nil) != (tt.message == "") {
			t.Errorf("%v: got %q, %v", tt.ids, text, err)
		}
		if e := inference.AsError(err); err != nil && (e.Param != tt.param || e.Message != tt.message) {
			t.Errorf("%v: got %v of %s, want %s", tt.ids, err, e.Param, tt.message)
		}
	}
}

// TestTokensWithoutTokenizer checks that tokens need a model that exists and whose tokenizer is known.
func TestTokensWithoutTokenizer(t *testing.T) {
	s, _ := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), nil)
	for name, want := range map[string]string{
		"m": "the tokenizer of the model `m` isn't known: set it by inference.SettingTokenizer, or by the parameter trident.tokenizer in its config.pbtxt",
		"x": "the model `x` does not exist or is not loaded",
	} {
		model := s.Resolve(name)
		_, err := s.Tokenize(t.Context(), &model, &inference.Request{Model: name, Prompts: []inference.Input{{Text: "a"}}}, true)
		if e := inference.AsError(err); err == nil || e.Param != "model" || e.Message != want {
			t.Errorf("%s: tokenize: %v", name, err)
		}
		model = s.Resolve(name)
		_, err = s.Detokenize(t.Context(), &model, []int{1})
		if e := inference.AsError(err); err == nil || e.Param != "model" || e.Message != want {
			t.Errorf("%s: detokenize: %v, want %s", name, err, want)
		}
	}
}
