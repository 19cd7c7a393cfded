package serving

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/tokenizer"
	"github.com/trident-inference/trident/services/vector"
)

// TestLogitRow compares the log probabilities, ranks and likeliest tokens of random rows with those of a
// sorted copy. Equal logits are among them.
func TestLogitRow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		const columns, padding = 50, 3
		values, raw := make([]float64, columns), []byte(nil)
		for i := range columns + padding {
			v := float64(random.IntN(40))/4 - 5
			if i < columns {
				values[i] = v
			} else {
				v = 100
			}
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v)))
		}
		top := random.IntN(21)
		row := newLogitRow(&inference.Logits{Type: "FP32", Rows: 1, Columns: columns + padding, Raw: raw}, columns, top)
		row.read(0)
		sum := 0.0
		for _, v := range values {
			sum += math.Exp(v)
		}
		order := make([]int, columns)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return int(4*values[b]) - int(4*values[a]) })
		if !slices.Equal(row.top, order[:top]) {
			t.Fatalf("the likeliest are %v, want %v of %v", row.top, order[:top], values)
		}
		for _, v := range values {
			rank := 1
			for _, other := range values {
				if other > v {
					rank++
				}
			}
			if got := row.logprob(float32(v)); math.Abs(got-math.Log(math.Exp(v)/sum)) > 1e-9 || row.rank(float32(v)) != rank {
				t.Fatalf("%v has %v and rank %d, want %v and %d", v, got, row.rank(float32(v)), math.Log(math.Exp(v)/sum), rank)
			}
		}
	}
}

// TestImpossibleTokens checks that logits of minus infinity and NaN have the lowest log probability.
func TestImpossibleTokens(t *testing.T) {
	var raw []byte
	for _, v := range []float64{1, math.Inf(-1), math.NaN()} {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v)))
	}
	row := newLogitRow(&inference.Logits{Type: "FP32", Rows: 1, Columns: 3, Raw: raw}, 2, 1)
	row.read(0)
	if got := []float64{row.logprob(row.values[0]), row.logprob(row.values[1])}; !slices.Equal(got, []float64{0, inference.MinLogprob}) {
		t.Errorf("got %v", got)
	}
	row = newLogitRow(&inference.Logits{Type: "FP32", Rows: 1, Columns: 3, Raw: raw}, 3, 1)
	row.read(0)
	if got := row.logprob(row.values[0]); got != inference.MinLogprob {
		t.Errorf("beside NaN: %v", got)
	}
}

// TestTokenTexts checks the texts and offsets of a prompt's tokens: characters of several tokens, and offsets in
// code points.
func TestTokenTexts(t *testing.T) {
	bytes, _, err := tokenizer.Load(os.DirFS("../../test/models-contract/vllm/tokenizer"))
	if err != nil {
		t.Fatal(err)
	}
	const prompt = "aé €!"
	ids, err := bytes.Encode(t.Context(), prompt, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	texts := newTokenTexts(bytes, prompt)
	var got []string
	var offsets []int
	for _, id := range ids {
		text, offset := texts.next(id, false)
		got, offsets = append(got, text), append(offsets, offset)
	}
	if want := []string{"a", "\uFFFD", "\uFFFD", " ", "\uFFFD", "\uFFFD", "\uFFFD", "!"}; !slices.Equal(got, want) {
		t.Errorf("texts %q, want %q", got, want)
	}
	if want := []int{0, 1, 1, 2, 3, 3, 3, 4}; !slices.Equal(offsets, want) {
		t.Errorf("offsets %v, want %v", offsets, want)
	}
}

// manyTokens is a tokenizer with a large vocabulary and a token for each byte.
type manyTokens struct{ inference.Tokenizer }

func (manyTokens) Size() int { return 1 << 17 }
func (manyTokens) Encode(_ context.Context, text string, _ bool, _ *inference.TextBudget) ([]int, error) {
	return make([]int, len(text)), nil
}

// TestLongestScore checks that a prompt whose logits exceed the budget is refused before an inference.
func TestLongestScore(t *testing.T) {
	const most = budget.ContextLogits / (4 << 17)
	card := &catalog.Card{Target: inference.Target{Tokenizer: manyTokens{}}}
	for length, want := range map[int]string{
		most:     "",
		most + 1: "prompt has 2049 tokens, but log probabilities are available for prompts of at most 2048 tokens of this model, whose engine returns 131072 logits for each",
	} {
		req := &inference.Request{Prompts: []inference.Input{{}}, Sampling: inference.Sampling{PromptLogprobs: new(0)}}
		s := &scoring{prompts: make([]promptScoring, 1)}
		err := s.tokenize(t.Context(), card, req, []string{strings.Repeat("a", length)})
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%d tokens: %v", length, err)
		}
	}
}

// scorer is a backend whose models return logits of one column for each token.
type scorer struct {
	inference.Backend
	inference.Scorer
}

func (scorer) EncodeScore(*inference.Target, *inference.Request, *inference.Job) (*kserve.ModelInferRequest, error) {
	return &kserve.ModelInferRequest{}, nil
}

func (scorer) DecodeScore(*inference.Target, *inference.Response) (*inference.Logits, error) {
	return &inference.Logits{Type: "FP32", Rows: 2, Columns: 1, Raw: make([]byte, 8)}, nil
}

// heldEngine answers when it is released.
type heldEngine struct {
	inference.Engine

	began, release chan struct{}
}

func (e heldEngine) Stream(context.Context, *kserve.ModelInferRequest) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		e.began <- struct{}{}
		<-e.release
		yield(&inference.Response{Final: true}, nil)
	}
}

// oneToken is a tokenizer with one token.
type oneToken struct{ inference.Tokenizer }

func (oneToken) Size() int                 { return 1 }
func (oneToken) Decode([]int, bool) string { return "a" }

// TestLogitsInMemory checks that the logits of a prompt count in the budget until the score ends. A prompt that waits
// leaves the queue with its client.
func TestLogitsInMemory(t *testing.T) {
	engine := heldEngine{began: make(chan struct{}), release: make(chan struct{})}
	card := &catalog.Card{Target: inference.Target{Tokenizer: oneToken{}}, Engine: engine, Backend: scorer{}}
	memory := newLogitMemory(2*4, 2*4) // one prompt of two tokens
	score := func(ctx context.Context) error {
		s := &scoring{backend: scorer{}, memory: memory, prompts: []promptScoring{{ids: []int{0, 0}}}}
		r := &textRun{card: card, req: &inference.Request{}, scoring: s}
		_, err := r.score(ctx, &inference.Job{Prompt: "aa"}, nil)
		return err
	}
	result := make(chan error)
	go func() { result <- score(t.Context()) }()
	<-engine.began
	if memory.total.TryAcquire(1) {
		t.Error("the logits of the prompt don't count")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := score(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a second prompt beside the first: %v", err)
	}
	for range 2 {
		engine.release <- struct{}{}
		if err := <-result; err != nil {
			t.Error(err)
		}
		if memory.total.TryAcquire(2 * 4) { // the memory is free again
			memory.total.Release(2 * 4)
		} else {
			t.Fatal("the memory of the logits isn't released")
		}
		go func() { result <- score(t.Context()) }()
		<-engine.began
	}
	engine.release <- struct{}{}
	<-result
	if len(memory.models) > 0 {
		t.Errorf("%d shares of models are kept", len(memory.models))
	}
}

// TestLogitsOfStalledModel checks that a model whose engine doesn't answer, with more prompts than its share, leaves
// memory to other models, whose prompts together don't exceed the total.
func TestLogitsOfStalledModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := newLogitMemory(2*2*4, 2*4) // two prompts of two tokens; one of each model
		engines := map[string]heldEngine{}
		score := func(ctx context.Context, model string) error {
			card := &catalog.Card{Target: inference.Target{Name: model, Tokenizer: oneToken{}}, Engine: engines[model], Backend: scorer{}}
			s := &scoring{backend: scorer{}, memory: memory, prompts: []promptScoring{{ids: []int{0, 0}}}}
			_, err := (&textRun{card: card, req: &inference.Request{}, scoring: s}).score(ctx, &inference.Job{Prompt: "aa"}, nil)
			return err
		}
		for _, model := range []string{"stalled", "second", "third"} {
			engines[model] = heldEngine{began: make(chan struct{}, 9), release: make(chan struct{}, 9)}
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go func() { _ = score(ctx, "stalled") }()
		}
		synctest.Wait()
		if n := len(engines["stalled"].began); n != 1 {
			t.Errorf("%d prompts of the stalled model are at its engine", n)
		}
		others := make(chan error, 1)
		go func() { others <- score(t.Context(), "second") }()
		synctest.Wait()
		go func() { others <- score(t.Context(), "third") }()
		synctest.Wait()
		if second, last := len(engines["second"].began), len(engines["third"].began); second != 1 || last != 0 {
			t.Errorf("%d and %d prompts of the other models are at their engines, want 1 and 0", second, last)
		}
		engines["third"].release <- struct{}{}
		engines["second"].release <- struct{}{}
		for range 2 {
			if err := <-others; err != nil {
				t.Error(err)
			}
		}
		cancel()
		engines["stalled"].release <- struct{}{}
		synctest.Wait()
		if len(memory.models) > 0 || !memory.total.TryAcquire(2*2*4) {
			t.Errorf("%d shares of models are kept", len(memory.models))
		}
	})
}

// BenchmarkLogitRow answers how long a row of a large vocabulary takes, with 5 alternatives.
func BenchmarkLogitRow(b *testing.B) {
	const columns = 1 << 17
	random := rand.New(rand.NewPCG(1, 2))
	for _, datatype := range []string{"FP32", "BF16", "FP16"} {
		size := vector.Size(datatype)
		raw := make([]byte, columns*size)
		for i := range columns {
			bits := math.Float32bits(float32(random.NormFloat64() * 4))
			if size == 4 {
				binary.LittleEndian.PutUint32(raw[4*i:], bits)
			} else {
				binary.LittleEndian.PutUint16(raw[2*i:], uint16(bits>>16)&0xbbff) // as a half, finite
			}
		}
		row := newLogitRow(&inference.Logits{Type: datatype, Rows: 1, Columns: columns, Raw: raw}, columns, 5)
		b.Run(datatype, func(b *testing.B) {
			for b.Loop() {
				row.read(0)
				row.rank(row.values[7])
			}
		})
	}
}
