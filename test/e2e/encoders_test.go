package e2e

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/encoders"
	"github.com/trident-inference/trident/test/golden"
	"github.com/trident-inference/trident/test/tier"
)

// Bounds of the differences to PyTorch's results on the same weights.
const (
	vectorBound = 1e-4
	scoreBound  = 1e-3
	// oracleBound is for the oracle's own results on other machines.
	oracleBound = 2e-5
)

// The units of the oracle's vectors: UNITS and TOKEN_UNITS in test/encoders/oracle.py.
const (
	oracleUnits      = 65000
	oracleTokenUnits = 32000
)

// encoderOracle is sentence-transformers. Its floating-point numbers depend on the machine, so the
// tests compare its answers within bounds.
func encoderOracle(file string) golden.Oracle {
	return golden.Oracle{
		Script: "test/encoders/oracle.py", File: "testdata/encoders/" + file + ".golden.gz", Varies: true,
		Environment: ".venv-encoders", Requirements: "tools/encoders-requirements.txt",
	}
}

// encoderAnswer is an answer of the oracle.
type encoderAnswer struct {
	Vector []byte
	Score  float64
	Logits []float64
	// IDs and Weights are those of a sparse vector.
	IDs, Weights []byte
	// Tokens are the vectors of tokens, one after the other.
	Tokens []byte
}

// values returns the numbers of the answer.
func (a encoderAnswer) values() []float64 {
	if a.Logits != nil {
		return a.Logits
	}
	if a.IDs != nil {
		weights := make([]float64, spladeVocabulary)
		for at := 0; at+3 < len(a.IDs); at += 4 {
			weights[binary.LittleEndian.Uint32(a.IDs[at:])] = float64(math.Float32frombits(binary.LittleEndian.Uint32(a.Weights[at:])))
		}
		return weights
	}
	switch {
	case a.Vector != nil:
		return inUnits(a.Vector, oracleUnits)
	case a.Tokens != nil:
		return inUnits(a.Tokens, oracleTokenUnits)
	}
	return []float64{a.Score}
}

// inUnits returns numbers of 16 bits in units of 1/units.
func inUnits(packed []byte, units float64) (values []float64) {
	for at := 0; at+1 < len(packed); at += 2 {
		values = append(values, float64(int16(binary.LittleEndian.Uint16(packed[at:])))/units)
	}
	return values
}

// spladeVocabulary is the number of components of sparse vectors, most of which are 0.
const spladeVocabulary = 30522

// recordedAnswers returns the oracle's recorded answers. In the slow tier it also asks the oracle again, if
// that is installed, and compares.
func recordedAnswers(t *testing.T, oracle golden.Oracle, questions []golden.Question) [][]float64 {
	t.Helper()
	var values [][]float64
	for _, a := range oracle.Answers(t, questions) {
		text, _ := a.Text()
		values = append(values, decodeAnswer(t, []byte(text)))
	}
	if !tier.Slow() || golden.Update() {
		return values
	}
	if _, err := os.Stat(filepath.Join(root(t), oracle.Environment)); err != nil {
		t.Logf("the oracle isn't asked again: %v: run tools/setup-encoders.sh", err)
		return values
	}
	var bodies []any
	for _, q := range questions {
		bodies = append(bodies, q.Body)
	}
	for i, answer := range oracle.Ask(t, bodies...) {
		if worst := distance(decodeAnswer(t, answer), values[i]); worst > oracleBound {
			t.Errorf("%s: the oracle's answer differs by %v from the recorded one: run the test with -update", questions[i].Name, worst)
		}
	}
	return values
}

func decodeAnswer(t *testing.T, text []byte) []float64 {
	t.Helper()
	var a encoderAnswer
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return a.values()
}

// distance returns the largest difference of two lists, or infinity if they have different lengths.
func distance(a, b []float64) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return math.Inf(1)
	}
	worst := 0.0
	for i := range a {
		worst = max(worst, math.Abs(a[i]-b[i]))
	}
	return worst
}

// sampled returns the indexes of those items that the tier sends: all in the slow tier.
func sampled(count, step int) (chosen []int) {
	for i := 0; i < count; i += tier.Size(step, 1) {
		chosen = append(chosen, i)
	}
	return chosen
}

// encoderTexts is the number of texts of a model. The check tier sends few of them.
const encoderTexts = 1000

// encoding launches a trident with encoder models on a real Triton.
func encoding(t *testing.T, names ...string) *trident {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real Triton")
	}
	models, err := encoders.Named(names...)
	if err != nil {
		t.Fatal(err)
	}
	repository := t.TempDir()
	if err := encoders.Repository(t.Context(), repository, models...); err != nil {
		t.Fatal(err)
	}
	return ownEngine(t, tritonserver.Options{Repositories: []string{repository}}).startReady(t)
}

// encoderCase is a model with texts, and the numbers that the oracle returns for each.
type encoderCase struct {
	model, prompt string
	queries       []string // for pairs, as many as texts
	texts         []string
	want          [][]float64
	asks          string // the key of the text in the oracle's question; default text, or document for pairs
	dimensions    int    // of the vectors of tokens
	compare       func(*encoderCase, *testing.T, *trident)
}

// encoderCases returns the models with their texts. Many texts exceed the model's limit: 256 tokens for embedding,
// 8,192 for multilingual, 512 for the others. A query of the reranker has ten documents. The vectors of tokens are
// truncated to few dimensions, because the answers would need megabytes.
func encoderCases() []*encoderCase {
	queries := make([]string, encoderTexts)
	for i, query := range encoders.Texts(6, encoderTexts/10, 1, 20) {
		for j := range 10 {
			queries[10*i+j] = query
		}
	}
	vectors, classes := (*encoderCase).compareVectors, (*encoderCase).compareClasses
	return []*encoderCase{
		{model: "embedding", texts: encoders.Texts(1, encoderTexts, 1, 400), compare: vectors},
		{model: "reranker", queries: queries, texts: encoders.Texts(5, encoderTexts, 1, 600), compare: (*encoderCase).compareScores},
		{model: "splade", asks: "sparse", texts: encoders.Texts(8, 60, 1, 600), compare: (*encoderCase).compareSparse},
		{model: "bge", texts: encoders.Texts(2, 100, 1, 700), compare: vectors},
		{model: "multilingual", prompt: "query", texts: append(encoders.Texts(3, 200, 1, 1000), encoders.Texts(4, 1, 9000, 9000)...), compare: vectors},
		{model: "topics", asks: "classify", texts: encoders.Texts(7, 60, 1, 600), compare: classes},
		{model: "flags", asks: "classify", texts: encoders.Texts(7, 60, 1, 600), compare: classes},
		{model: "colbert", asks: "tokens", dimensions: 32, texts: encoders.Texts(9, 60, 1, 600), compare: (*encoderCase).compareTokens},
	}
}

// checkCases is the number of cases that the check tier runs.
const checkCases = 3

// TestEncoders compares the vectors, scores and classes of models on a real Triton with those of
// sentence-transformers on the same weights.
func TestEncoders(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a real Triton")
	}
	cases := encoderCases()
	if !golden.Update() {
		cases = cases[:tier.Size(checkCases, len(cases))]
	}
	var names []string
	for _, c := range cases {
		names = append(names, c.model)
		c.want = recordedAnswers(t, encoderOracle(c.model), c.questions(t))
	}
	if golden.Update() {
		return
	}
	s := encoding(t, names...)
	for _, c := range cases {
		t.Run(c.model, func(t *testing.T) { c.compare(c, t, s) })
	}
}

// classNames has the labels of the classifiers.
func classNames() map[string][]string {
	return map[string][]string{"topics": {"sport", "science", "politics"}, "flags": {"hate", "violence", "self-harm"}}
}

// questions returns the oracle's questions.
func (c *encoderCase) questions(t *testing.T) []golden.Question {
	t.Helper()
	models, err := encoders.Named(c.model)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := models[0].Folder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	questions := make([]golden.Question, len(c.texts))
	for i, text := range c.texts {
		key := object{"model": c.model, cmp.Or(c.asks, "text"): text}
		switch {
		case c.queries != nil:
			key = object{"model": c.model, "query": c.queries[i], "document": text}
		case c.dimensions > 0:
			key["dimensions"] = c.dimensions
		case c.prompt != "":
			key["prompt"] = c.prompt
		}
		body := maps.Clone(key)
		body["folder"] = folder
		questions[i] = golden.Question{Name: fmt.Sprintf("%s %d", c.model, i), Body: body, Key: key}
	}
	return questions
}

// compareVectors compares the vectors of texts, in requests of different sizes at the same time.
func (c *encoderCase) compareVectors(t *testing.T, s *trident) {
	t.Helper()
	together(t, sampled(len(c.texts), 20), func(items []int) {
		body := object{"model": c.model, "encoding_format": "base64", "truncate_prompt_tokens": -1, "input": pick(c.texts, items)}
		if c.prompt != "" {
			body["prompt_name"] = c.prompt
		}
		got := decode[embeddings](t, s.post(t, "/v1/embeddings", body).want(t, http.StatusOK))
		if len(got.Data) != len(items) {
			t.Errorf("%d vectors for %d texts", len(got.Data), len(items))
			return
		}
		for j, i := range items {
			if worst := distance(wide(vector(t, got.Data[j].Embedding, true)), c.want[i]); worst > vectorBound {
				t.Errorf("the vector of text %d differs by %v from that of sentence-transformers: %.80q", i, worst, c.texts[i])
			}
		}
	})
}

// pooled asks for the vectors of texts by /pooling. The type of the response's data is T.
func pooled[T any](t *testing.T, s *trident, body object) []T {
	t.Helper()
	got := decode[struct {
		Data []struct {
			Index int
			Data  T
		}
	}](t, s.post(t, "/pooling", body).want(t, http.StatusOK))
	var data []T
	for i, result := range got.Data {
		if result.Index != i {
			t.Errorf("result %d has the index %d", i, result.Index)
		}
		data = append(data, result.Data)
	}
	return data
}

// compareSparse compares sparse vectors.
func (c *encoderCase) compareSparse(t *testing.T, s *trident) {
	t.Helper()
	type weight struct {
		Index int
		Value float64
	}
	together(t, sampled(len(c.texts), 20), func(items []int) {
		got := pooled[[]weight](t, s, object{"model": c.model, "truncate_prompt_tokens": -1, "input": pick(c.texts, items)})
		if len(got) != len(items) {
			t.Errorf("%d vectors for %d texts", len(got), len(items))
			return
		}
		for j, i := range items {
			weights := make([]float64, spladeVocabulary)
			for _, w := range got[j] {
				weights[w.Index] = w.Value
			}
			if worst := distance(weights, c.want[i]); worst > vectorBound || len(got[j]) == 0 {
				t.Errorf("the %d weights of text %d differ by %v from those of SparseEncoder: %.80q", len(got[j]), i, worst, c.texts[i])
			}
		}
	})
}

// compareTokens compares the vectors of tokens.
func (c *encoderCase) compareTokens(t *testing.T, s *trident) {
	t.Helper()
	together(t, sampled(len(c.texts), 20), func(items []int) {
		got := pooled[[][]float64](t, s, object{"model": c.model, "truncate_prompt_tokens": -1, "dimensions": c.dimensions, "input": pick(c.texts, items)})
		if len(got) != len(items) {
			t.Errorf("results for %d of %d texts", len(got), len(items))
			return
		}
		for j, i := range items {
			if worst := distance(slices.Concat(got[j]...), c.want[i]); worst > vectorBound {
				t.Errorf("the vectors of %d tokens of text %d differ by %v from those of MultiVectorEncoder: %.80q", len(got[j]), i, worst, c.texts[i])
			}
		}
	})
}

func pick(texts []string, items []int) (picked []string) {
	for _, i := range items {
		picked = append(picked, texts[i])
	}
	return picked
}

func wide(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// together calls send with groups of 1 to 16 items, of which eight run at the same time.
func together(t *testing.T, items []int, send func(items []int)) {
	t.Helper()
	const senders = 8
	groups := make(chan []int)
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for group := range groups {
				send(group)
			}
		})
	}
	for size := 1; len(items) > 0; size = size%16 + 1 {
		n := min(size, len(items))
		groups <- items[:n]
		items = items[n:]
	}
	close(groups)
	all.Wait()
}

// ranked is a result of a rerank.
type ranked struct {
	Index int
	Score float64 `json:"relevance_score"`
}

// compareScores compares the scores of a cross-encoder. Each request has the ten documents of a query.
func (c *encoderCase) compareScores(t *testing.T, s *trident) {
	t.Helper()
	together(t, sampled(len(c.texts)/10, 20), func(items []int) {
		for _, query := range items {
			at := 10 * query
			got := decode[struct{ Results []ranked }](t, s.post(t, "/v1/rerank", object{
				"model": c.model, "query": c.queries[at], "documents": c.texts[at : at+10], "truncate_prompt_tokens": -1,
			}).want(t, http.StatusOK))
			if len(got.Results) != 10 || !slices.IsSortedFunc(got.Results, func(a, b ranked) int { return cmp.Compare(b.Score, a.Score) }) {
				t.Errorf("query %d: got %v, want 10 documents in the order of their scores", query, got.Results)
			}
			for _, r := range got.Results {
				if worst := math.Abs(r.Score - c.want[at+r.Index][0]); worst > scoreBound {
					t.Errorf("the score of document %d differs by %v from that of CrossEncoder", at+r.Index, worst)
				}
			}
		}
	})
}

// compareClasses compares the probabilities and the label of a classifier.
func (c *encoderCase) compareClasses(t *testing.T, s *trident) {
	t.Helper()
	type class struct {
		Label string
		Probs []float64
	}
	together(t, sampled(len(c.texts), 20), func(items []int) {
		got := decode[struct{ Data []class }](t, s.post(t, "/v1/classify", object{
			"model": c.model, "input": pick(c.texts, items), "truncate_prompt_tokens": -1,
		}).want(t, http.StatusOK))
		for j, i := range items {
			if worst := distance(got.Data[j].Probs, activated(c.want[i], c.model == "flags")); worst > scoreBound {
				t.Errorf("the probabilities of text %d differ by %v", i, worst)
			}
			if best := slices.Index(c.want[i], slices.Max(c.want[i])); got.Data[j].Label != classNames()[c.model][best] {
				t.Errorf("the label of text %d is %q, want %q", i, got.Data[j].Label, classNames()[c.model][best])
			}
		}
	})
}

// activated returns the sigmoid of each logit, or the softmax of all.
func activated(logits []float64, sigmoid bool) []float64 {
	out := make([]float64, len(logits))
	sum := 0.0
	for i, x := range logits {
		out[i] = math.Exp(x - slices.Max(logits))
		sum += out[i]
	}
	for i, x := range logits {
		if out[i] /= sum; sigmoid {
			out[i] = 1 / (1 + math.Exp(-x))
		}
	}
	return out
}
