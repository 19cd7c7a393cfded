package encoders

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// unit returns the vector of a text, of unit length.
func unit(text string) []float64 {
	v := letterCounts(text)
	length := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
	return []float64{v[0] / length, v[1] / length, v[2] / length}
}

func sameVector(a, b []float64) bool { return slices.EqualFunc(a, b, near) }

// TestPooling checks vectors in vLLM's form: numbers and base64, of unit length or as the model returned them.
func TestPooling(t *testing.T) {
	f := serve(t, Config{})
	var got struct {
		Object string
		Data   []struct {
			Index  int
			Object string
			Data   []float64
		}
		Usage struct {
			Tokens int `json:"prompt_tokens"`
		}
	}
	for fields, want := range map[string][][]float64{
		`"input":["aab","c"]`:                                     {unit("aab"), unit("c")},
		`"input":"abc","task":"embed","normalize":false`:          {{1, 1, 1}},
		`"input":["aaab"],"normalize":false,"dimensions":1`:       {{3}},
		`"input":"aab","user":"u","priority":1,"task":"embed"`:    {unit("aab")},
		`"input":["b","b"],"encoding_format":"float","task":null`: {unit("b"), unit("b")},
	} {
		f.ask(t, "/pooling", `{"model":"vectors",`+fields+`}`, "PoolingResponse", &got)
		if len(got.Data) != len(want) || got.Object != "list" {
			t.Fatalf("%s: %+v", fields, got)
		}
		for i := range want {
			if got.Data[i].Index != i || got.Data[i].Object != "pooling" || !sameVector(got.Data[i].Data, want[i]) {
				t.Errorf("%s: %+v, want %v", fields, got.Data[i], want[i])
			}
		}
	}
	var encoded struct{ Data []struct{ Data string } }
	f.ask(t, "/v1/pooling", `{"model":"vectors","input":"aab","encoding_format":"base64","normalize":false}`, "PoolingResponse", &encoded)
	raw, err := base64.StdEncoding.DecodeString(encoded.Data[0].Data)
	if err != nil || len(raw) != 12 || math.Float32frombits(binary.LittleEndian.Uint32(raw)) != 2 {
		t.Errorf("%+v", encoded)
	}
}

// TestPoolingForms checks the JSON of the vectors of tokens, of sparse vectors, and of classes.
func TestPoolingForms(t *testing.T) {
	answer := &inference.EncodeAnswer{Results: []inference.Encoded{
		{Tokens: inference.Matrix{Rows: 2, Columns: 2, Values: []float32{1, 0.5, -2, 0.1}}},
		{Sparse: []inference.TokenWeight{{ID: 7, Weight: 0.25}, {ID: 9, Weight: 1.5}}},
		{Classes: []float64{0.75, 0.25}},
	}, Usage: inference.Usage{PromptTokens: 9}}
	p := pooling{options: options{model: `a"b`}, format: "float"}
	body := string(p.response(answer))
	wantDocument(t, "PoolingResponse", strings.Replace(body, `{"index":7,"value":0.25},{"index":9,"value":1.5}`, `0`, 1))
	for _, want := range []string{
		`"model":"a\"b"`, `{"index":0,"object":"pooling","data":[[1,0.5],[-2,0.1]]}`, `{"index":1,"object":"pooling","data":[{"index":7,"value":0.25},{"index":9,"value":1.5}]}`,
		`{"index":2,"object":"pooling","data":[0.75,0.25]}`, `"usage":{"prompt_tokens":9,"total_tokens":9,"completion_tokens":0}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
}

// TestTEI checks TEI's operations for a model in the path, whose name may have slashes, and for the model of the setting.
func TestTEI(t *testing.T) {
	f := serve(t, Config{TEIModel: "vectors", Version: "1.2.3"})
	var vectors [][]float64
	for _, path := range []string{"/tei/vectors/embed", "/tei/org/vectors/embed", "/tei/org%2Fvectors/embed", "/embed", "/tei/vectors"} {
		vectors = nil
		f.ask(t, path, `{"inputs":["aab","c"],"truncate":true,"truncation_direction":"Left"}`, "Vectors", &vectors)
		if len(vectors) != 2 || !sameVector(vectors[0], unit("aab")) || !sameVector(vectors[1], unit("c")) {
			t.Errorf("%s: %v", path, vectors)
		}
	}
	vectors = nil
	f.ask(t, "/embed", `{"inputs":"aab","normalize":false,"dimensions":2}`, "Vectors", &vectors)
	if len(vectors) != 1 || !sameVector(vectors[0], []float64{2, 1}) {
		t.Errorf("%v", vectors)
	}
	for _, path := range []string{"/tei/vectors/similarity", "/similarity", "/tei/vectors"} {
		var cosines []float64
		f.ask(t, path, `{"inputs":{"source_sentence":"ab","sentences":["aab","c","ab"]},"parameters":{"truncate":true}}`, "", &cosines)
		if !sameVector(cosines, []float64{cosine("ab", "aab"), 0, 1}) {
			t.Errorf("%s: %v", path, cosines)
		}
	}
	for _, path := range []string{"/tei/vectors/info", "/info"} {
		got := f.send(t, http.MethodGet, path, "")
		wantDocument(t, "TEIInfo", got.Body.String())
		var info struct {
			ID      string `json:"model_id"`
			Version string
			Batch   int                                           `json:"max_client_batch_size"`
			Type    struct{ Embedding *struct{ Pooling string } } `json:"model_type"`
		}
		if err := json.Unmarshal(got.Body.Bytes(), &info); err != nil || got.Code != http.StatusOK || info.ID != "vectors" || info.Version != "1.2.3" || info.Batch != 16384 || info.Type.Embedding == nil {
			t.Errorf("%s: %d %s %v", path, got.Code, got.Body, err)
		}
	}
}

// TestTEIRanks checks the list that requests with texts get, for the model of the setting, of the path, and of the body.
func TestTEIRanks(t *testing.T) {
	f := serve(t, Config{TEIModel: "judge"})
	for path, body := range map[string]string{
		"/rerank":           `{"query":"q","texts":["d","e"],"return_text":true}`,
		"/v1/rerank":        `{"model":"judge","query":"q","texts":["d","e"],"return_documents":true}`,
		"/tei/judge/rerank": `{"query":"q","texts":["d","e"],"return_text":true}`,
		"/tei/judge":        `{"query":"q","texts":["d","e"],"return_text":true}`,
	} {
		var got []struct {
			Index int
			Score float64
			Text  string
		}
		f.ask(t, path, body, "TEIRanks", &got)
		if len(got) != 2 || got[0].Score < got[1].Score || got[0].Index == got[1].Index {
			t.Fatalf("%s: %+v", path, got)
		}
		for _, r := range got {
			if text := []string{"d", "e"}[r.Index]; r.Text != text || !near(r.Score, sigmoid(judged("q", text))) {
				t.Errorf("%s: %+v", path, r)
			}
		}
	}
	body := f.ask(t, "/tei/judge/rerank", `{"query":"q","texts":["d"],"raw_scores":true}`, "TEIRanks", nil)
	var raw []struct{ Score float64 }
	if err := json.Unmarshal([]byte(body), &raw); err != nil || !near(raw[0].Score, judged("q", "d")) || strings.Contains(body, "text") {
		t.Errorf("%s: %v", body, err)
	}
}

// TestTEIPredictions checks the form of classes: one list for one text or pair, and a list of lists for several.
func TestTEIPredictions(t *testing.T) {
	list := predictions([]string{"low", "high", "mid"}, []float64{0.1, 0.7, 0.2})
	text, err := json.Marshal(list)
	if err != nil || string(text) != `[{"label":"high","score":0.7},{"label":"mid","score":0.2},{"label":"low","score":0.1}]` {
		t.Errorf("%s %v", text, err)
	}
	wantDocument(t, "TEIPredictions", string(text))
}

// TestCategories checks that a text is flagged by labels of harmful texts only, and that labels without names are refused.
func TestCategories(t *testing.T) {
	for _, tt := range []struct {
		labels  []string
		classes []float64
		flagged bool
	}{
		{[]string{"toxic", "insult"}, []float64{0.2, 0.6}, true},
		{[]string{"toxic", "insult"}, []float64{0.2, 0.4}, false},
		{[]string{"Non-Toxic", "toxic"}, []float64{0.9, 0.1}, false},
		{[]string{"not hate", "hate"}, []float64{0.3, 0.7}, true},
		{[]string{"safe", "unsafe"}, []float64{0.5, 0.5}, true},
	} {
		got := categories(tt.labels, tt.classes)
		if got.Flagged != tt.flagged || got.CategoryScores[tt.labels[1]] != tt.classes[1] || got.Categories[tt.labels[0]] != (tt.classes[0] >= 0.5) {
			t.Errorf("%v %v: %+v", tt.labels, tt.classes, got)
		}
	}
	if err := checkCategories("m", []string{"toxic", "LABEL_1"}); err == nil || !strings.Contains(err.Error(), "set its parameter trident.labels") {
		t.Error(err)
	}
	if err := checkCategories("m", []string{"toxic", "safe"}); err != nil {
		t.Error(err)
	}
}

// TestSearchUnits checks the units by which Cohere bills.
func TestSearchUnits(t *testing.T) {
	for _, tt := range []struct{ documents, tokens, units int }{{1, 0, 1}, {100, 500, 1}, {101, 500, 2}, {100, 501, 2}, {51, 501, 2}, {50, 1000, 1}} {
		answer := &inference.EncodeAnswer{Results: slices.Repeat([]inference.Encoded{{PromptTokens: tt.tokens}}, tt.documents)}
		if got := searchUnits(answer); got != tt.units {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}

// TestDocument checks that the document is served.
func TestDocument(t *testing.T) {
	got := serve(t, Config{}).send(t, http.MethodGet, "/v1/rerank/openapi.json", "")
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"/tei/{model}/embed"`) {
		t.Errorf("%d %.200s", got.Code, got.Body)
	}
}

// TestDocumentation checks that the tables of the page have all fields of the document, and no others.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/encoders.md")
	if err != nil {
		t.Fatal(err)
	}
	for section, names := range map[string][]string{
		"Rerank": {"RerankRequest"}, "Cohere": {"CohereRerankRequest"}, "Scores": {"ScoreRequest"}, "Classes": {"ClassifyRequest"}, "Moderations": {"ModerationRequest"},
		"Vectors": {"PoolingRequest"}, "text-embeddings-inference": {"TEIEmbedRequest", "TEIEmbedAllRequest", "TEIPredictRequest", "TEIRerankRequest", "TEISimilarityRequest"},
		"infinity": {"InfinityRerankRequest", "InfinityClassifyRequest"},
	} {
		_, text, found := strings.Cut(string(page), "\n## "+section+"\n")
		if !found {
			t.Errorf("the page has no section %s", section)
		}
		text, _, _ = strings.Cut(text, "\n## ")
		rows := map[string]bool{}
		for line := range strings.Lines(text) {
			if field, found := strings.CutPrefix(line, "| `"); found {
				field, _, _ = strings.Cut(field, "`")
				rows[field] = true
			}
		}
		for _, name := range names {
			for field := range schema(t, name).Properties {
				if !rows[field] {
					t.Errorf("%s has no row of %s", section, field)
				}
			}
		}
		for field := range rows {
			if !slices.ContainsFunc(names, func(name string) bool { return schema(t, name).Properties[field] != nil }) {
				t.Errorf("%s has a row of %s, which the document doesn't have", section, field)
			}
		}
	}
}
