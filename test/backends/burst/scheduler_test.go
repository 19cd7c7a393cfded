package burst_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/backends/burst"
	"github.com/trident-inference/trident/test/pause"
)

// TestScheduler checks the prefix cache of a model with a scheduler, by its counts and by the times
// of its steps. The cache has room for 8 blocks of 100 tokens of 4 bytes, and a request needs the
// room of its answer, too. cmd/tridentsim compares such models with its simulation.
func TestScheduler(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real Triton")
	}
	const (
		block, size, room = 100, 4, 800
		computing         = 100 * time.Millisecond // of a block
	)
	repository := t.TempDir()
	scheduler := burst.Scheduler{
		CacheTokens: room, BlockTokens: block, TokenBytes: size, BatchTokens: 250, BatchRequests: 8, Step: 500, Prompt: 500, Context: 0.01, TimeFactor: 2,
	}
	slow := scheduler
	slow.Step, slow.Prompt = 50_000, 0.01
	if err := burst.Repository(t.Context(), repository, burst.Model{Name: "cached", Scheduler: &scheduler}, burst.Model{Name: "slow", Scheduler: &slow}); err != nil {
		t.Fatal(err)
	}
	server := tritontest.StartServer(t, tritonserver.Options{Repositories: []string{repository}})
	cards := cardsOf(t, tritontest.Connect(t, server))
	card := cards["cached"]
	// prompt returns a prompt of blocks of these letters, the last of which may be incomplete.
	prompt := func(letters string, last int) string {
		var text strings.Builder
		for i, letter := range letters {
			tokens := block
			if i == len(letters)-1 {
				tokens = last
			}
			text.WriteString(strings.Repeat(string(letter), tokens*size))
		}
		return text.String()
	}
	before := [2]int{}
	for _, row := range []struct {
		name           string
		prompt         string
		tokens, cached int
	}{
		{"a new prompt", prompt("abc", 50), 250, 0},
		{"the same prompt: its last token is computed again", prompt("abc", 50), 250, 249},
		{"another end", prompt("abd", 100), 300, 200},
		{"a block is only found after those before it", prompt("xbc", 50), 250, 0},
		{"no space for the oldest", prompt("klmn", 100), 400, 0},
		{"the end of the oldest is gone", prompt("abc", 50), 250, 100},
	} {
		began := time.Now()
		if text, n := complete(t, card, row.prompt, 3); text != burst.Text(3) || n != row.tokens {
			t.Errorf("%s: %d prompt tokens and the answer %q", row.name, n, text)
		}
		if least := time.Duration(row.tokens-row.cached) * computing / block; time.Since(began) < least {
			t.Errorf("%s: the request took %s, less than %s", row.name, time.Since(began), least)
		}
		got := counts(t, server.MetricsURL(), "cached")
		if n := [2]int{got[0] - before[0], got[1] - before[1]}; n != [2]int{row.tokens, row.cached} {
			t.Errorf("%s: %d tokens, %d of them in the cache, not %d and %d", row.name, n[0], n[1], row.tokens, row.cached)
		}
		before = got
	}
	t.Run("too long", func(t *testing.T) {
		for response, err := range card.Engine.Stream(t.Context(), encoded(t, card, prompt("abcdefgh", 98), 3)) {
			if err == nil || !strings.Contains(inference.AsError(err).Message, "don't fit into the cache") {
				t.Errorf("got %v, %v", response, err)
			}
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		for _, err := range cards["slow"].Engine.Stream(t.Context(), encoded(t, cards["slow"], prompt("pqrst", 100), 300)) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		// The next one has no space before the first one has ended, which would take half a minute.
		began := time.Now()
		if text, _ := complete(t, cards["slow"], prompt("uvwxyz", 100), 2); text != burst.Text(2) || time.Since(began) > 15*time.Second {
			t.Errorf("the answer after %s is %q", time.Since(began), text)
		}
	})
}

// TestSchedulerConcurrent checks that requests of a model with a scheduler share its steps, and that
// one that was preempted for lack of space has all of its tokens.
func TestSchedulerConcurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real Triton")
	}
	repository := t.TempDir()
	err := burst.Repository(t.Context(), repository, burst.Model{Name: "cached", Counts: true, Scheduler: &burst.Scheduler{
		CacheTokens: 100, BlockTokens: 10, TokenBytes: 1, BatchTokens: 64, BatchRequests: 8, Step: 100, Prompt: 1, Context: 0.1, TimeFactor: 1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := tritontest.StartServer(t, tritonserver.Options{Repositories: []string{repository}})
	card := cardsOf(t, tritontest.Connect(t, server))["cached"]
	const requests, tokens = 5, 50
	failed := make(chan error, requests)
	for i := range requests {
		prompt := strings.Repeat(strconv.Itoa(i), 20)
		go func() {
			text, _ := complete(t, card, prompt, tokens)
			if want := burst.Counted(prompt, id, tokens); text != want {
				failed <- fmt.Errorf("the answer is %q, not %q", text, want)
				return
			}
			failed <- nil
		}()
	}
	for range requests {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if got := counts(t, server.MetricsURL(), "cached"); got != [2]int{requests * 20, 0} {
		t.Errorf("the counts are %v", got)
	}
}

func encoded(t *testing.T, card *catalog.Card, prompt string, tokens int) *kserve.ModelInferRequest {
	t.Helper()
	req := &inference.Request{Task: inference.TaskGenerate, Stream: true}
	tensors, err := contracts.VLLM{}.Encode(&card.Target, req, &inference.Job{Prompt: prompt, MaxTokens: tokens})
	if err != nil {
		t.Error(err)
		return nil
	}
	tensors.Id = id
	return tensors
}

// complete returns the text of an answer, and the number of the prompt's tokens.
func complete(t *testing.T, card *catalog.Card, prompt string, tokens int) (text string, promptTokens int) {
	t.Helper()
	decoder := contracts.VLLM{}.Decoder(&card.Target, &inference.Request{Task: inference.TaskGenerate, Stream: true})
	for response, err := range card.Engine.Stream(t.Context(), encoded(t, card, prompt, tokens)) {
		if err != nil {
			t.Error(err)
			return text, promptTokens
		}
		var step inference.Step
		if err := decoder.Decode(response, &step); err != nil {
			t.Error(err)
			return text, promptTokens
		}
		text += string(step.Text)
		promptTokens = max(promptTokens, step.PromptTokens)
	}
	return text, promptTokens
}

// counts returns the tokens of a model's prompts, and how many of them were in the cache.
func counts(t *testing.T, url, model string) (n [2]int) {
	t.Helper()
	var page string
	if !pause.Until(10*time.Second, func() bool {
		answer, err := http.Get(url)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		page = string(text)
		return err == nil
	}) {
		t.Fatal("tritonserver has no metrics")
	}
	for i, name := range []string{"burst_prompt_tokens_total", "burst_cached_tokens_total"} {
		_, value, ok := strings.Cut(page, name+`{model="`+model+`"} `)
		value, _, _ = strings.Cut(value, "\n")
		number, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			t.Fatalf("no %s: %v\n%s", name, err, page)
		}
		n[i] = int(number)
	}
	return n
}
