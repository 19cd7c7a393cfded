package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/chat"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/test/golden"
	"github.com/trident-inference/trident/test/tier"
)

// finalMessages returns contents of an assistant's last message, as JSON. They have spaces at both
// ends, texts that closing tokens repeat, and texts of which templates remove a part.
func finalMessages() []string {
	return []string{
		`"Once upon"`, `"Once upon "`, `"  Once upon\n\n"`, `"a"`, `"\u00e9\u00a0"`, `"e"`, `"assistant"`, `""`, `" "`,
		`"<think>\nhm"`, `"<think>\nhm\n</think>\n\nOnce "`, `"{\"a\": "`,
	}
}

// endings renders chats with a template and the ends of prompts that requests can select.
func endings(t *testing.T, f family, now time.Time) []question {
	t.Helper()
	tokens := map[string]string{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
	compiled, err := chat.CompileAt(now, f.Model, inference.TemplateSource{Source: f.Template, Tokens: tokens})
	if err != nil {
		t.Fatalf("%s: %v", f.Model, err)
	}
	var all []question
	for i, content := range finalMessages() {
		messages := []json.RawMessage{
			json.RawMessage(`{"role": "user", "content": "Tell me a story."}`), json.RawMessage(`{"role": "assistant", "content": ` + content + `}`),
		}
		raw, err := json.Marshal(messages)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := openai.DecodeMessages(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, open := range []bool{true, false} {
			all = append(all, question{
				name: fmt.Sprintf("%s/%d/%t", f.Model, i, open), template: compiled,
				req: &inference.Request{Messages: decoded, Closed: true, Continue: open},
				body: map[string]any{
					"template": f.Template, "messages": messages, "vars": tokens, "now": now.Format("2006-01-02T15:04:05.000000"), "nulls": true,
					"continue": open, "closed": true,
				},
			})
		}
	}
	return all
}

// TestContinue compares the prompts of chats without a generation prompt, and of chats whose last
// message is continued, with those of Hugging Face's transformers, with hand-written templates.
func TestContinue(t *testing.T) {
	compareEndings(t, ourFamilies(t), golden.Oracle{File: "testdata/continue.golden.gz"})
}

// TestRealContinue does the comparison of TestContinue with the templates of real models.
func TestRealContinue(t *testing.T) {
	tier.Computes(t)
	compareEndings(t, realFamilies(t), golden.Oracle{File: "testdata/realcontinue.golden.gz", Digests: true})
}

func compareEndings(t *testing.T, families []family, oracle golden.Oracle) {
	t.Helper()
	now := time.Date(2024, 7, 26, 9, 5, 3, 120_000, time.UTC)
	var all []question
	for _, f := range families {
		all = append(all, endings(t, f, now)...)
	}
	continued := 0
	for i, is := range compareOutcomes(t, all, oracle) {
		if all[i].req.Continue && strings.HasPrefix(is, rendered) {
			continued++
		}
	}
	if continued < len(all)/4 {
		t.Errorf("only %d of %d chats were continued", continued, len(all))
	}
}
