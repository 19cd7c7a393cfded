package encoders

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/test/tier"
)

// TestLimits checks that extreme requests have an error that names the field, or the complete answer, in each API, and that
// they take little memory in relation to their size.
func TestLimits(t *testing.T) {
	tier.Computes(t)
	f := encoders(t)
	const manyTexts = 10_000
	texts, long := many(manyTexts), strings.Repeat("one ", tier.Size(1<<18, 10<<18)) // 1 MiB, and 10 MiB in the slow tier
	ids := "[" + strings.TrimSuffix(strings.Repeat("1,", 1<<20), ",") + "]"
	beyond := fmt.Sprintf("has %d", len(long)/40) // without the last digit of the number of tokens
	alone := fmt.Sprintf("has %d bytes, but Trident tokenizes at most 524288 bytes for this model", len(long))
	for _, tt := range []struct {
		name, path, body string
		status           int
		want             string
		count            int // number of results
	}{
		{"10,000 documents", "/v1/rerank", `{"model":"cross","query":"q","return_documents":false,"documents":` + texts + `}`, 200, `"relevance_score"`, manyTexts},
		{"10,000 documents, Cohere", "/v2/rerank", `{"model":"cross","query":"q","documents":` + texts + `}`, 200, `"relevance_score"`, manyTexts},
		{"10,000 texts, TEI", "/tei/tokens/embed", `{"inputs":` + texts + `}`, 200, `[1,0]`, manyTexts},
		{"10,000 classes", "/v1/classify", `{"model":"classes","input":` + texts + `}`, 200, `"label":"safe"`, manyTexts},
		{"10,000 vectors", "/pooling", `{"model":"tokens","task":"embed","input":` + texts + `}`, 200, `"data":[1,0]`, manyTexts},
		{"10,000 pairs", "/tei/cross/rerank", `{"query":"q","texts":` + texts + `}`, 200, `"score"`, manyTexts},

		{"a long document", "/v1/rerank", `{"model":"cross","query":"q","documents":["d","` + long + `"]}`, 400, `documents[1] ` + beyond, 0},
		{"a long query", "/v1/rerank", `{"model":"cross","query":"` + long + `","documents":["d"]}`, 400, `documents[0] ` + alone, 0},
		{"a long document that is cut, Cohere", "/v2/rerank", `{"model":"cross","query":"q","documents":["d","` + long + `"]}`, 200, `"relevance_score"`, 2},
		{"a long document that is cut", "/v1/rerank", `{"model":"cross","query":"q","truncate_prompt_tokens":-1,"return_documents":false,"documents":["d","` + long + `"]}`, 200, `"relevance_score"`, 2},
		{"a long text", "/v1/score", `{"model":"cross","text_1":"q","text_2":["d","` + long + `"]}`, 400, `text_2[1] ` + beyond, 0},
		{"a long text of a classifier", "/v1/classify", `{"model":"classes","input":["d","` + long + `"]}`, 400, `input[1] ` + beyond, 0},
		{"a long text, moderated", "/v1/moderations", `{"model":"classes","input":["d","` + long + `"]}`, 400, `input[1] ` + beyond, 0},
		{"a long text for vectors", "/pooling", `{"model":"tokens","input":"` + long + `"}`, 400, `input ` + alone, 0},
		{"a long text, TEI", "/tei/tokens/embed", `{"inputs":["d","` + long + `"]}`, 413, `inputs[1] ` + beyond, 0},
		{"a long text that is cut, TEI", "/tei/tokens/embed", `{"truncate":true,"inputs":["d","` + long + `"]}`, 200, `[1,0]`, 1},
		{"a long text, infinity", "/infinity/classify", `{"model":"classes","input":["` + long + `"]}`, 400, `input ` + alone, 0},
		{"many token ids", "/pooling", `{"model":"tokens","input":` + ids + `}`, 400, `"param":"input"`, 0},

		{"an empty document", "/v2/rerank", `{"model":"cross","query":"q","documents":["d",""]}`, 400, `documents[1] must not be empty`, 0},
		{"an empty query", "/tei/cross/rerank", `{"query":"","texts":["d"]}`, 422, `query must not be empty`, 0},
		{"an empty text", "/v1/score", `{"model":"cross","text_1":"q","text_2":["d",""]}`, 400, `text_2[1] must not be empty`, 0},
		{"an empty text of a classifier", "/infinity/classify", `{"model":"classes","input":["d",""]}`, 400, `input[1] must not be empty`, 0},
		{"an empty text, moderated", "/v1/moderations", `{"model":"classes","input":""}`, 400, `input must not be empty`, 0},
		{"an empty text for vectors", "/pooling", `{"model":"tokens","input":["d",""]}`, 400, `input[1] must not be empty`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := f.post(t, tt.path, tt.body)
			runtime.ReadMemStats(&after)
			if body := got.Body.String(); got.Code != tt.status || !strings.Contains(body, tt.want) || tt.count > 0 && strings.Count(body, tt.want) != tt.count {
				t.Errorf("%d %.200s with %d results, want %d %s", got.Code, body, strings.Count(body, tt.want), tt.status, tt.want)
			}
			// All that is allocated counts, also what is free again at once. The bound is that of test/cost, and 4 KiB for each
			// text with its tensors and its result.
			if used, most := after.TotalAlloc-before.TotalAlloc, uint64(10*len(tt.body)+4<<10*strings.Count(tt.body, `"a"`)+32<<20); used > most {
				t.Errorf("%d MiB were allocated for a body of %d KiB, at most %d MiB are expected", used>>20, len(tt.body)>>10, most>>20)
			}
		})
	}
}

// TestInvalidUTF8 checks that each operation names the byte at which a body isn't UTF-8.
func TestInvalidUTF8(t *testing.T) {
	f := encoders(t)
	for path := range operations {
		status := http.StatusBadRequest
		if strings.HasPrefix(path, teiPrefix) {
			status = http.StatusUnprocessableEntity
		}
		if got := f.post(t, path, "{\"query\":\"a\xff\"}"); got.Code != status || !strings.Contains(got.Body.String(), "the JSON text is not UTF-8 at byte 11") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

// TestLabelsThatDontMatch checks that a list of labels with another length than the model's classes is an error that
// names the setting, in each API with classes.
func TestLabelsThatDontMatch(t *testing.T) {
	engine := inferencetest.New()
	engine.AddEncoder(inferencetest.EncoderConfig("classes", 8, "logits", 3), map[string]string{"trident.tokenizer": wordTokenizer, "trident.labels": "good, bad"}, func(ids []int) []float32 { return []float32{longer(ids), 0, 1} })
	f := serveOn(t, Config{}, engine)
	for path, body := range map[string]string{
		"/v1/classify":         `{"model":"classes","input":"one"}`,
		"/v1/moderations":      `{"model":"classes","input":"one"}`,
		"/pooling":             `{"model":"classes","input":"one"}`,
		"/infinity/classify":   `{"model":"classes","input":["one"]}`,
		"/tei/classes/predict": `{"inputs":"one"}`,
	} {
		status := http.StatusInternalServerError
		if strings.HasPrefix(path, teiPrefix) {
			status = http.StatusFailedDependency
		}
		if got := f.post(t, path, body); got.Code != status || !strings.Contains(got.Body.String(), "returns 3 classes, but has 2 labels: set the parameter trident.labels") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}
