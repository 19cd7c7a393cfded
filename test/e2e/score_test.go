package e2e

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bigrams is the language model of test/models-contract/bigrams.py, computed from the same text.
type bigrams struct {
	counts map[[2]int]int
	sums   map[int]int
	size   int
}

// newBigrams counts the tokens of the corpus, as trident's tokenizer finds them.
func newBigrams(t *testing.T, c contract) bigrams {
	t.Helper()
	corpus, err := os.ReadFile(filepath.Join(root(t), "test", "models-contract", "corpus.txt"))
	if err != nil {
		t.Fatal(err)
	}
	b := bigrams{counts: map[[2]int]int{}, sums: map[int]int{}, size: 278}
	ids := c.tokens(t, string(corpus))
	for i := range len(ids) - 1 {
		b.counts[[2]int{ids[i], ids[i+1]}]++
		b.sums[ids[i]]++
	}
	return b
}

// logprob returns the log probability of a token after another one.
func (b bigrams) logprob(before, id int) float64 {
	return math.Log(float64(b.counts[[2]int{before, id}]+1) / float64(b.sums[before]+b.size))
}

// tokens returns the token ids of a text.
func (c contract) tokens(t *testing.T, text string) []int {
	t.Helper()
	return decode[struct{ Tokens []int }](t, c.post(t, "/v1/tokenize", object{"model": "ensemble", "prompt": text}).want(t, http.StatusOK)).Tokens
}

// scored is a completion with the log probabilities of its tokens.
type scored struct {
	Choices []struct {
		Text     string
		Logprobs struct {
			Tokens        []string
			TokenLogprobs []*float64           `json:"token_logprobs"`
			TopLogprobs   []map[string]float64 `json:"top_logprobs"`
		}
		PromptLogprobs []map[string]struct {
			Logprob float64
			Rank    int
		} `json:"prompt_logprobs"`
	}
	Usage usage
}

// TestPromptScores checks the log probabilities of prompts by a real Triton against those computed from the corpus
// of the model. Models whose engine or backend returns none refuse the fields by name.
func TestPromptScores(t *testing.T) {
	t.Parallel()
	c := contracts(t)
	model := newBigrams(t, c)
	const prompt = "Tokyo is the capital of Japan"
	ids := c.tokens(t, prompt)
	for name, limit := range map[string]int{"scored alone": 0, "one new token": 1} {
		t.Run(name, func(t *testing.T) {
			got := decode[scored](t, c.post(t, "/v1/completions", object{"model": "ensemble", "prompt": ids, "max_tokens": limit, "echo": true, "logprobs": 1, "temperature": 0}).want(t, http.StatusOK))
			choice := got.Choices[0]
			if len(choice.Logprobs.Tokens) != len(ids)+limit || strings.Join(choice.Logprobs.Tokens[:len(ids)], "") != prompt || !strings.HasPrefix(choice.Text, prompt) || got.Usage.Completion != limit {
				t.Fatalf("got %+v", got)
			}
			for i := 1; i < len(ids); i++ {
				if p, want := choice.Logprobs.TokenLogprobs[i], model.logprob(ids[i-1], ids[i]); p == nil || math.Abs(*p-want) > 1e-5 {
					t.Errorf("token %d has %v, want %v", i, p, want)
				}
				for token, p := range choice.Logprobs.TopLogprobs[i] {
					if p < *choice.Logprobs.TokenLogprobs[i]-1e-9 {
						t.Errorf("token %d has the alternative %q of a lower probability", i, token)
					}
				}
			}
			if len(choice.Logprobs.TopLogprobs[len(ids)+limit-1]) == 0 {
				t.Error("the last token has no alternatives")
			}
		})
	}
	t.Run("prompt_logprobs of a chat", func(t *testing.T) {
		got := decode[struct {
			PromptLogprobs []map[string]struct{ Rank int } `json:"prompt_logprobs"`
		}](t, c.post(t, "/v1/chat/completions", object{"model": "ensemble", "messages": []object{{"role": "user", "content": prompt}}, "max_tokens": 1, "prompt_logprobs": 2}).want(t, http.StatusOK))
		if len(got.PromptLogprobs) != len(ids) || got.PromptLogprobs[0] != nil || len(got.PromptLogprobs[1]) < 2 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("an adapter", func(t *testing.T) {
		got := decode[scored](t, c.post(t, "/v1/completions", object{"model": "ensemble_lora_doll", "prompt": prompt, "max_tokens": 1, "prompt_logprobs": 0}).want(t, http.StatusOK))
		if n := len(got.Choices[0].PromptLogprobs); n != len(ids) {
			t.Errorf("%d tokens have log probabilities, want %d", n, len(ids))
		}
	})
	for other, want := range map[string]string{
		"vllm": "its backend returns no log probabilities of prompts", "llmapi": "its backend returns no log probabilities of prompts",
		"plain": "it does not declare the input return_context_logits", "bls": "build it with gather_context_logits",
	} {
		t.Run(other, func(t *testing.T) {
			body := string(c.post(t, "/v1/completions", object{"model": other, "prompt": prompt, "max_tokens": 1, "echo": true, "logprobs": 0}).want(t, http.StatusBadRequest).body)
			if !strings.Contains(body, want) || !strings.Contains(body, `"param":"echo"`) || !strings.Contains(body, `"code":"unsupported_parameter"`) {
				t.Errorf("got %s", body)
			}
		})
	}
}

// TestCachedTokens checks that the cached tokens of a prompt are those of the blocks that an earlier prompt has filled.
// They are absent where the size of a block isn't known.
func TestCachedTokens(t *testing.T) {
	t.Parallel()
	c := contracts(t)
	ask := func(model, prompt string) any {
		usage := decode[struct{ Usage map[string]any }](t, c.post(t, "/v1/completions", object{"model": model, "prompt": prompt, "max_tokens": 3}).want(t, http.StatusOK)).Usage
		if usage["prompt_tokens"] != float64(len(c.tokens(t, prompt))) {
			t.Errorf("%s: usage %v", model, usage)
		}
		details, ok := usage["prompt_tokens_details"].(map[string]any)
		if !ok {
			return nil
		}
		return details["cached_tokens"]
	}
	for _, model := range []string{"ensemble", "llmapi"} {
		const first, second = "cached: q w e r t y", "cached: q w e r t y u i o p"
		if got := ask(model, first); got != 0.0 {
			t.Errorf("%s: the first prompt has %v cached tokens", model, got)
		}
		if got, want := ask(model, second), float64(len(c.tokens(t, first))/4*4); got != want {
			t.Errorf("%s: a prompt with the same start has %v cached tokens, want %v", model, got, want)
		}
	}
	for range 2 {
		if got := ask("bls", "cached: z"); got != nil {
			t.Errorf("bls: %v cached tokens", got)
		}
	}
	const third = "cached: q w e r t y!"
	want := fmt.Sprintf(`"cache_read_input_tokens":16,"input_tokens":%d,`, len(c.tokens(t, third))-16)
	message := c.post(t, "/v1/messages", object{"model": "ensemble", "max_tokens": 3, "messages": []object{{"role": "user", "content": third}}}).want(t, http.StatusOK)
	if !strings.Contains(string(message.body), want) {
		t.Errorf("a message: %s, want %s", message.body, want)
	}
}
