package e2e

import (
	"math"
	"net/http"
	"strings"
	"testing"
)

// vllmDecides checks that the probabilities of a decision sum to 1, or that the engine's setting is named by which the
// labels aren't among the likeliest tokens.
func vllmDecides(t *testing.T, c contract, model string) {
	t.Helper()
	a := c.post(t, "/v1/decisions", object{"model": model, "input": "Berlin is the capital of Germany.", "questions": []object{choices("Tokyo", "Berlin")}})
	if a.status == http.StatusBadRequest && strings.Contains(string(a.body), "set logprobs_mode of the engine to processed_logprobs") {
		t.Logf("%s", a.body)
		return
	}
	got := decode[decided](t, a.want(t, http.StatusOK))
	if p := got.Answers[0].Probabilities; len(p) != 2 || math.Abs(p[0].Probability+p[1].Probability-1) > 1e-9 || got.Usage.Output != 1 {
		t.Errorf("%s", a.body)
	}
}

// vllmRanks checks that a generative reranker's scores are probabilities of two labels. Otherwise the error must name the
// engine's setting by which the labels aren't among the likeliest tokens, or the labels that the vocabulary lacks.
func vllmRanks(t *testing.T, c contract, model string) {
	t.Helper()
	a := c.post(t, "/v1/rerank", object{"model": model, "query": "What is the capital of Germany?", "documents": []string{"Berlin is the capital of Germany.", "Bananas are yellow."}})
	body := string(a.body)
	if a.status == http.StatusBadRequest && (strings.Contains(body, "set logprobs_mode of the engine to processed_logprobs") || strings.Contains(body, "its vocabulary doesn't have each of yes, no as one token")) {
		t.Logf("%s", a.body)
		return
	}
	got := decode[struct {
		Results []struct {
			Index int
			Score float64 `json:"relevance_score"`
		}
	}](t, a.want(t, http.StatusOK))
	if r := got.Results; len(r) != 2 || r[0].Index+r[1].Index != 1 || r[0].Score < r[1].Score || r[1].Score <= 0 || r[0].Score >= 1 {
		t.Errorf("%s", a.body)
	}
}
