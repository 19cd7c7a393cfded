package encoders

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// longer is the logit of an encoder that prefers long inputs.
func longer(ids []int) float32 { return float32(len(ids)) / 10 }

// words is the number of tokens of a text of short words.
func words(text string) float64 { return float64(len(strings.Fields(text))) }

// encoders returns an engine with a cross-encoder, a classifier, an embedding model and a sparse model, whose
// results depend on the numbers of tokens.
func encoders(tb testing.TB) *frontend {
	tb.Helper()
	engine := inferencetest.New()
	settings := func(more ...string) map[string]string {
		all := map[string]string{"trident.tokenizer": wordTokenizer, "trident.context_length": "64"}
		for i := 0; i < len(more); i += 2 {
			all["trident."+more[i]] = more[i+1]
		}
		return all
	}
	engine.AddEncoder(inferencetest.EncoderConfig("cross", 8, "logits", 1), settings("task", "score"), func(ids []int) []float32 { return []float32{longer(ids)} })
	engine.AddEncoder(inferencetest.EncoderConfig("classes", 8, "logits", 3), settings("labels", "toxic, insult, safe"), func(ids []int) []float32 { return []float32{longer(ids), 0, 1} })
	engine.AddEncoder(inferencetest.EncoderConfig("numbers", 8, "logits", 2), settings(), func([]int) []float32 { return []float32{0, 1} })
	engine.AddEncoder(inferencetest.EncoderConfig("tokens", 8, "last_hidden_state", -1, 2), settings("prompts", `{"query":"find this one: ","document":"text: "}`), func(ids []int) []float32 {
		var values []float32
		for i := range ids {
			values = append(values, 1, float32(i))
		}
		return values
	})
	engine.AddEncoder(inferencetest.EncoderConfig("sparse", 8, "sparse_weights", -1), settings(), func(ids []int) []float32 {
		values := make([]float32, len(ids))
		for i := range values {
			values[i] = 0.5
		}
		return values
	})
	return serveOn(tb, Config{}, engine)
}

// TestCrossEncoder checks the scores of a cross-encoder in each form, with its activation function and without.
func TestCrossEncoder(t *testing.T) {
	f := encoders(t)
	documents := []string{"one", "one two three", "one two"}
	const list = `["one","one two three","one two"]`
	logit := func(document string) float64 { return (words(document) + 1) / 10 } // the query is one token
	score := func(document string) float64 { return sigmoid(logit(document)) }
	for path, body := range map[string]string{
		"/v1/rerank": `{"model":"cross","query":"q","documents":` + list + `}`,
		"/v2/rerank": `{"model":"cross","query":"q","documents":` + list + `}`,
	} {
		var got ranks
		f.ask(t, path, body, "", &got)
		wantRanks(t, &got, documents, 3, score)
	}
	var got ranks
	f.ask(t, "/infinity/rerank", `{"model":"cross","query":"q","raw_scores":true,"documents":`+list+`}`, "", &got)
	wantRanks(t, &got, documents, 3, logit)
	var tei []struct {
		Index int
		Score float64
	}
	f.ask(t, "/tei/cross/rerank", `{"query":"q","texts":`+list+`}`, "TEIRanks", &tei)
	if tei[0].Index != 1 || tei[2].Index != 0 || !near(tei[1].Score, score("one two")) {
		t.Errorf("%v", tei)
	}
}

// TestTruncatedDocuments checks that a cross-encoder's documents are refused by their index, or cut as the client asks.
func TestTruncatedDocuments(t *testing.T) {
	f := encoders(t)
	long := strings.TrimSpace(strings.Repeat("one ", 100))
	got := f.post(t, "/v1/rerank", fmt.Sprintf(`{"model":"cross","query":"q","documents":["one",%q]}`, long))
	if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), `"param":"documents[1]"`) || !strings.Contains(got.Body.String(), "maximum context length is 64 tokens, but documents[1] has 101 tokens") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := f.post(t, "/tei/cross/rerank", fmt.Sprintf(`{"query":"q","texts":[%q]}`, long)); got.Code != http.StatusRequestEntityTooLarge || !strings.Contains(got.Body.String(), "texts[0]") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	for _, tt := range []struct {
		path, body string
		tokens     float64
	}{
		{"/v1/rerank", `{"model":"cross","query":"q","documents":[%q],"truncate_prompt_tokens":-1}`, 64},
		{"/v1/rerank", `{"model":"cross","query":"q","documents":[%q],"truncate_prompt_tokens":20}`, 20},
		{"/v1/rerank", `{"model":"cross","query":"q","documents":[%q],"max_tokens_per_doc":5}`, 6},
		{"/v1/rerank", `{"model":"cross","query":"q","texts":[%q],"truncate":true}`, 64},
		{"/v2/rerank", `{"model":"cross","query":"q","documents":[%q]}`, 64},
		{"/v2/rerank", `{"model":"cross","query":"q","documents":[%q],"max_tokens_per_doc":10}`, 11},
	} {
		body := f.ask(t, tt.path, fmt.Sprintf(tt.body, long), "", nil)
		var score float64
		if _, text, _ := strings.Cut(body, `score":`); true {
			_, _ = fmt.Sscanf(text, "%g", &score) // 0 is no score
		}
		if want := sigmoid(tt.tokens / 10); !near(score, want) {
			t.Errorf("%s %s: %g, want %g", tt.path, tt.body, score, want)
		}
	}
}

// TestCosines checks that an embedding model ranks by cosines, with the prompts of queries and documents.
func TestCosines(t *testing.T) {
	f := encoders(t)
	vector := func(tokens int) (x, y float64) { return 1, float64(tokens-1) / 2 } // the mean of [1, i]
	cos := func(a, b int) float64 {
		x1, y1 := vector(a)
		x2, y2 := vector(b)
		return (x1*x2 + y1*y2) / math.Hypot(x1, y1) / math.Hypot(x2, y2)
	}
	var got struct{ Data []struct{ Score float64 } }
	f.ask(t, "/v1/score", `{"model":"tokens","text_1":"one","text_2":["one","one two three four five"]}`, "ScoreResponse", &got)
	tokens := func(body string) int {
		var vectors [][][]float64
		f.ask(t, "/tei/tokens/embed_all", body, "", &vectors)
		return len(vectors[0])
	}
	query, short, long := tokens(`{"inputs":"one","prompt_name":"query"}`), tokens(`{"inputs":"one","prompt_name":"document"}`), tokens(`{"inputs":"one two three four five","prompt_name":"document"}`)
	if short == query || long != short+4 || tokens(`{"inputs":"one"}`) != 1 {
		t.Errorf("tokens: %d, %d, %d", query, short, long)
	}
	if !near(got.Data[0].Score, cos(query, short)) || !near(got.Data[1].Score, cos(query, long)) {
		t.Errorf("%+v, want %g, %g", got, cos(query, short), cos(query, long))
	}
	if got := f.post(t, "/tei/tokens/embed", `{"inputs":"one","prompt_name":"other"}`); got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), `has no prompt \"other\", but: document, query`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// softmax returns the probabilities of logits.
func softmax(logits ...float64) []float64 {
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(l)
	}
	shares := make([]float64, len(logits))
	for i, l := range logits {
		shares[i] = math.Exp(l) / sum
	}
	return shares
}

// TestClassify checks classes in each form.
func TestClassify(t *testing.T) {
	f := encoders(t)
	long := strings.TrimSpace(strings.Repeat("one ", 30))
	var vllm struct {
		Data []struct {
			Index int
			Label string
			Probs []float64
			Num   int `json:"num_classes"`
		}
	}
	for _, path := range []string{"/v1/classify", "/classify"} {
		f.ask(t, path, fmt.Sprintf(`{"model":"classes","input":["one two",%q]}`, long), "ClassifyResponse", &vllm)
		first, second := vllm.Data[0], vllm.Data[1]
		if first.Label != "safe" || second.Label != "toxic" || second.Index != 1 || second.Num != 3 || !sameVector(first.Probs, softmax(0.2, 0, 1)) || !sameVector(second.Probs, softmax(3, 0, 1)) {
			t.Errorf("%+v", vllm)
		}
	}
	f.ask(t, "/v1/classify", `{"model":"classes","input":"one two","use_activation":false}`, "ClassifyResponse", &vllm)
	if !sameVector(vllm.Data[0].Probs, []float64{0.2, 0, 1}) {
		t.Errorf("%+v", vllm)
	}
	type class struct {
		Label string
		Score float64
	}
	labels := func(list []class) (names []string) {
		for _, c := range list {
			names = append(names, c.Label)
		}
		return names
	}
	var infinity struct{ Data [][]class }
	f.ask(t, "/infinity/classify", `{"model":"classes","input":["one two"]}`, "InfinityClassifyResponse", &infinity)
	if !slices.Equal(labels(infinity.Data[0]), []string{"safe", "toxic", "insult"}) || !near(infinity.Data[0][0].Score, softmax(0.2, 0, 1)[2]) {
		t.Errorf("%+v", infinity)
	}
	var one []class
	for path, body := range map[string]string{"/tei/classes/predict": `{"inputs":"one two"}`, "/tei/classes": `{"inputs":["one","two"]}`} {
		f.ask(t, path, body, "TEIPredictions", &one)
		if !slices.Equal(labels(one), []string{"safe", "toxic", "insult"}) || !near(one[1].Score, softmax(0.2, 0, 1)[0]) {
			t.Errorf("%s: %+v", path, one)
		}
	}
	var several [][]class
	f.ask(t, "/tei/classes/predict", fmt.Sprintf(`{"inputs":[["one two"],[%q],["one","two"]],"raw_scores":true}`, long), "", &several)
	if len(several) != 3 || several[1][0] != (class{"toxic", 3}) || !near(several[2][1].Score, 0.2) {
		t.Errorf("%+v", several)
	}
}

// TestModerations checks the categories of texts, parts of one text, and a classifier without names of its classes.
func TestModerations(t *testing.T) {
	f := encoders(t)
	long := strings.TrimSpace(strings.Repeat("one ", 30))
	var got struct {
		Model   string
		Results []struct {
			Flagged    bool
			Categories map[string]bool
			Scores     map[string]float64  `json:"category_scores"`
			Types      map[string][]string `json:"category_applied_input_types"`
		}
	}
	f.ask(t, "/v1/moderations", fmt.Sprintf(`{"model":"classes","input":["one",%q]}`, long), "ModerationResponse", &got)
	if len(got.Results) != 2 || got.Results[0].Flagged || !got.Results[1].Flagged || !got.Results[1].Categories["toxic"] || got.Results[1].Categories["safe"] ||
		!near(got.Results[1].Scores["insult"], softmax(3, 0, 1)[1]) || !slices.Equal(got.Results[0].Types["safe"], []string{"text"}) {
		t.Errorf("%+v", got)
	}
	f.ask(t, "/v1/moderations", fmt.Sprintf(`{"model":"classes","input":[{"type":"text","text":"one"},{"type":"text","text":%q}]}`, long), "ModerationResponse", &got)
	if len(got.Results) != 1 || !got.Results[0].Flagged || !near(got.Results[0].Scores["toxic"], softmax(3.2, 0, 1)[0]) { // a line feed is between the parts
		t.Errorf("%+v", got)
	}
	if got := f.post(t, "/v1/moderations", `{"model":"numbers","input":"one"}`); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "set its parameter trident.labels") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// TestTokenVectors checks the vectors of tokens and sparse vectors, in vLLM's and TEI's forms.
func TestTokenVectors(t *testing.T) {
	f := encoders(t)
	var pooled struct{ Data []struct{ Data [][]float64 } }
	f.ask(t, "/pooling", `{"model":"tokens","input":["one two","one"],"normalize":false}`, "PoolingResponse", &pooled)
	if len(pooled.Data) != 2 || len(pooled.Data[0].Data) != 2 || len(pooled.Data[1].Data) != 1 || !sameVector(pooled.Data[0].Data[1], []float64{1, 1}) {
		t.Errorf("%+v", pooled)
	}
	var sparse [][]struct {
		Index int
		Value float64
	}
	f.ask(t, "/tei/sparse/embed_sparse", `{"inputs":["yes"]}`, "", &sparse)
	if len(sparse) != 1 || len(sparse[0]) != 1 || sparse[0][0].Index != yesToken || sparse[0][0].Value != 0.5 {
		t.Errorf("%+v", sparse)
	}
	body := f.ask(t, "/pooling", `{"model":"sparse","input":"yes","task":"token_classify"}`, "", nil)
	if !strings.Contains(body, fmt.Sprintf(`"data":[{"index":%d,"value":0.5}]`, yesToken)) {
		t.Error(body)
	}
	for _, task := range []string{"", `,"task":"token_classify"`} { // the only task of the model
		got := f.post(t, "/pooling", `{"model":"sparse","input":"yes","encoding_format":"base64"`+task+`}`)
		if body := got.Body.String(); got.Code != 400 || !strings.Contains(body, `"encoding_format must be float for sparse vectors: base64 has no token ids"`) || !strings.Contains(body, `"param":"encoding_format"`) {
			t.Errorf("%q: %d %s", task, got.Code, body)
		}
	}
}

// TestManyTexts checks that a request may have 10,000 texts, and that the answers have their order.
func TestManyTexts(t *testing.T) {
	f := encoders(t)
	list := make([]string, 10_000)
	for i := range list {
		list[i] = `"one` + strings.Repeat(" two", i%7) + `"`
	}
	var got struct{ Data []struct{ Score float64 } }
	f.ask(t, "/v1/score", `{"model":"cross","text_1":"q","text_2":[`+strings.Join(list, ",")+`]}`, "", &got)
	if len(got.Data) != len(list) {
		t.Fatalf("%d scores", len(got.Data))
	}
	for i := range list {
		if want := sigmoid(float64(2+i%7) / 10); !near(got.Data[i].Score, want) {
			t.Fatalf("%d: %g, want %g", i, got.Data[i].Score, want)
		}
	}
}

// TestTEIModelTypes checks the kinds of models that TEI's clients distinguish.
func TestTEIModelTypes(t *testing.T) {
	f := encoders(t)
	for model, want := range map[string]string{
		"cross":   `"model_type":{"reranker":{"id2label":{`,
		"classes": `"model_type":{"classifier":{"id2label":{"0":"toxic","1":"insult","2":"safe"},"label2id":{"insult":1,"safe":2,"toxic":0}}}`,
		"tokens":  `"model_type":{"embedding":{"pooling":"mean"}}`,
	} {
		got := f.send(t, http.MethodGet, "/tei/"+model+"/info", "")
		wantDocument(t, "TEIInfo", got.Body.String())
		for _, part := range []string{want, `"max_input_length":64`, `"max_batch_tokens":16384`} {
			if !strings.Contains(got.Body.String(), part) {
				t.Errorf("%s: no %s: %s", model, part, got.Body)
			}
		}
	}
	engine := inferencetest.New()
	settings := judgeSettings()
	settings["trident.task"] = "generate"
	engine.AddModel("ranker", judge().Script(), settings)
	got := serveOn(t, Config{}, engine).send(t, http.MethodGet, "/tei/ranker/info", "").Body.String()
	wantDocument(t, "TEIInfo", got)
	if !strings.Contains(got, `"model_type":{"reranker":{"id2label":{},"label2id":{}}}`) {
		t.Errorf("a chat model that ranks: %s", got)
	}
}

// TestTruncatedTexts checks that texts of a model that tokenizes them itself are cut by the model's tokenizer, and that
// they are refused without a truncation.
func TestTruncatedTexts(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("texts", letters, map[string]string{"trident.task": "embed", "trident.tokenizer": wordTokenizer, "trident.context_length": "4"})
	engine.AddModel("unknown", letters, map[string]string{"trident.task": "embed"})
	f := serveOn(t, Config{}, engine)
	for side, want := range map[string]string{"Right": "a b c d", "Left": " c d e f"} {
		f.ask(t, "/tei/texts/embed", fmt.Sprintf(`{"inputs":"a b c d e f","truncate":true,"truncation_direction":%q}`, side), "Vectors", nil)
		all := engine.Requests()
		if got := inferencetest.Input(all[len(all)-1], "embedding_request"); got != fmt.Sprintf(`{"input":%q}`, want) {
			t.Errorf("%s: %s", side, got)
		}
	}
	if got := f.post(t, "/tei/texts/embed", `{"inputs":["a","a b c d e f"]}`); got.Code != http.StatusRequestEntityTooLarge || !strings.Contains(got.Body.String(), "inputs[1] has 6 tokens") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	got := f.post(t, "/pooling", `{"model":"unknown","input":"a b","truncate_prompt_tokens":1}`)
	if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "its tokenizer isn't known. Set the parameter trident.tokenizer") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// TestDisconnect checks that a model stops when the client disconnects, for a model that embeds and one that generates.
func TestDisconnect(t *testing.T) {
	for model, settings := range map[string]map[string]string{"vectors": {"trident.task": "embed"}, "judge": judgeSettings()} {
		t.Run(model, func(t *testing.T) {
			started, stopped := make(chan struct{}, 2), make(chan struct{}, 2)
			engine := inferencetest.New()
			engine.AddModel(model, func(ctx context.Context, _ *kserve.ModelInferRequest, _ func(*inference.Response) bool) error {
				started <- struct{}{}
				<-ctx.Done()
				stopped <- struct{}{}
				return ctx.Err()
			}, settings)
			f := serveOn(t, Config{}, engine)
			ctx, disconnect := context.WithCancel(t.Context())
			go func() { <-started; disconnect() }()
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/rerank", strings.NewReader(`{"query":"q","documents":["d"]}`))
			answer := httptest.NewRecorder()
			f.ServeHTTP(answer, r)
			<-stopped // the test times out if the model isn't stopped
			if answer.Code != 499 {
				t.Errorf("%d %s", answer.Code, answer.Body)
			}
		})
	}
}
