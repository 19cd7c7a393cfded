package e2e

import (
	"fmt"
	"hash/crc32"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// decided is a response to a request for decisions.
type decided struct {
	Answers []struct {
		Choice        any
		Probabilities []struct {
			Value       any
			Probability float64
		}
	}
	Usage struct {
		Output int `json:"output_tokens"`
	}
}

// choices returns a question with one choice per value.
func choices(values ...any) object {
	var list []object
	for _, value := range values {
		list = append(list, object{"value": value})
	}
	return object{"type": "choice", "name": "q", "instructions": "Which one?", "choices": list}
}

// TestContractDecisions checks decisions of a model with raw log probabilities, as vLLM has them by default: they are
// those of the values, in any order, and sum to 1. A value that isn't among the likeliest tokens is refused.
func TestContractDecisions(t *testing.T) {
	t.Parallel()
	s := contractModel(t).startAt(t, root(t), "--lora-separator=_lora_")
	if !poll(startLimit, func() bool {
		resp, err := client.Get(s.url + "/v1/models/vllm")
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}) {
		t.Fatalf("the model isn't served:\n%s", s.log)
	}
	values := []any{"north", "east", "south", "west", true, "true"}
	probabilities := func(model string, values []any) map[any]float64 {
		got := decode[decided](t, s.post(t, "/v1/decisions", object{"model": model, "input": "The ship sails.", "questions": []object{choices(values...), choices(values...)}}).want(t, http.StatusOK))
		if len(got.Answers) != 2 || got.Usage.Output != 2 {
			t.Fatalf("%+v", got)
		}
		shares, sum := map[any]float64{}, 0.0
		for i, p := range got.Answers[0].Probabilities {
			if sum += p.Probability; p.Value != values[i] || p != got.Answers[1].Probabilities[i] {
				t.Errorf("%+v, the same question %+v", p, got.Answers[1].Probabilities[i])
			}
			shares[p.Value] = p.Probability
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("the probabilities sum to %g", sum)
		}
		return shares
	}
	first := probabilities("vllm", values)
	slices.Reverse(values)
	for _, model := range []string{"vllm", "vllm_lora_doll"} {
		second, total := probabilities(model, values), 0.0
		logits := map[any]float64{}
		for _, value := range values {
			text := fmt.Sprint(value)
			if s, ok := value.(string); ok {
				text = fmt.Sprintf("%q", s)
			}
			logits[value] = float64(crc32.ChecksumIEEE([]byte(text))%1000) / 250
			total += math.Exp(logits[value])
		}
		for _, value := range values {
			if want := math.Exp(logits[value]) / total; math.Abs(second[value]-want) > 1e-6 || math.Abs(first[value]-want) > 1e-6 {
				t.Errorf("%v: %g, in another order %g, want %g", value, first[value], second[value], want)
			}
		}
	}
	var many []any
	for i := range 30 {
		many = append(many, fmt.Sprint(i))
	}
	refused := s.post(t, "/v1/decisions", object{"model": "vllm", "input": "a", "questions": []object{choices(many...)}})
	const setting = "set logprobs_mode of the engine to processed_logprobs, or raise its max_logprobs"
	if refused.status != http.StatusBadRequest || !strings.Contains(string(refused.body), setting) {
		t.Errorf("%d %s", refused.status, refused.body)
	}
	const counted = `trident_requests_total{code="ok",model="vllm",operation="decision",surface="openai"} 3`
	if page := string(s.get(t, "/metrics").body); !strings.Contains(page, counted) {
		t.Errorf("the metrics lack %s", counted)
	}
}

// TestDemoDecisions checks that the demo model, a small one, decides what is plain.
func TestDemoDecisions(t *testing.T) {
	t.Parallel()
	s := serving(t)
	got := decode[decided](t, s.post(t, "/v1/decisions", object{
		"model": "chat", "input": "Berlin is the capital of Germany.", "questions": []object{choices("Tokyo", "Berlin")},
	}).want(t, http.StatusOK))
	if p := got.Answers[0].Probabilities; len(p) != 2 || math.Abs(p[0].Probability+p[1].Probability-1) > 1e-9 || p[0].Probability <= 0 || p[1].Probability <= 0 {
		t.Errorf("%+v", got)
	}
	t.Logf("%+v", got.Answers[0].Probabilities)
}
