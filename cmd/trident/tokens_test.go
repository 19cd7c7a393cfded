package main

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/server/servertest"
)

// TestUsedUpTokens checks that no API reads the body of a request that runs a model if its key has no
// tokens left. The refusal has the form of the API. Requests that run only a tokenizer go on.
func TestUsedUpTokens(t *testing.T) {
	target := startMatrix(t, "--api-keys-file="+servertest.Write(t, t.TempDir(), "keys", []byte("- {name: team, key: sk-team, limits: {tokens_per_minute: 5}}\n")))
	first := &hostile{listener: "shared", method: http.MethodPost, path: "/v1/completions", kind: "application/json", body: []byte(`{"model":"own","prompt":"hi","max_tokens":4}`)}
	a, _ := first.ask(target, "sk-team") // 7 of the prompt and 1 of the answer
	if a.status != http.StatusOK || a.header.Get("X-Ratelimit-Limit-Tokens") != "5" || a.header.Get("X-Ratelimit-Remaining-Tokens") != "0" || !strings.HasPrefix(a.header.Get("X-Ratelimit-Reset-Tokens"), "1m3") {
		t.Fatalf("%s %v", a, a.header)
	}
	models, tokenizers := 0, 0
	for _, h := range hostiles(t) {
		if h.record != nil && h.record.Cost == auth.Tokenizer {
			tokenizers++
			continue
		}
		models++
		const text = "too many tokens of this API key: the limit is 5 tokens per minute, and none is left"
		a, read := h.ask(target, "sk-team")
		if read > 0 || !h.refusedAs(a, text, http.StatusTooManyRequests, codes.ResourceExhausted) {
			t.Errorf("%s: %d bytes were read: %s %v", &h, read, a, a.header)
		}
		if h.api != auth.Procedure && a.header.Get("Retry-After") == "" {
			t.Errorf("%s has no Retry-After: %v", &h, a.header)
		}
	}
	checkOrderOfCalls(t, target, "sk-team", "too many tokens of this API key")
	if models < 20 || tokenizers < 4 {
		t.Errorf("%d routes of models and %d of tokenizers", models, tokenizers)
	}
	count := &hostile{listener: "shared", method: http.MethodPost, path: "/v1/tokenize", kind: "application/json", body: []byte(`{"model":"own","prompt":"hi"}`)}
	if a, read := count.ask(target, "sk-team"); read == 0 || a.status == http.StatusTooManyRequests {
		t.Errorf("a tokenizer: %s", a)
	}
	if n := len(target.engine.Requests()); n != 1 {
		t.Errorf("%d requests reached a model", n)
	}
}
