package encoders

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/server"
)

// operations are the operations with the schema of their bodies.
var operations = map[string]string{
	"/v1/rerank": "RerankRequest", "/v2/rerank": "CohereRerankRequest", "/v1/score": "ScoreRequest", "/v1/classify": "ClassifyRequest",
	"/v1/moderations": "ModerationRequest", "/pooling": "PoolingRequest", "/tei/vectors/embed": "TEIEmbedRequest", "/tei/vectors/embed_all": "TEIEmbedAllRequest",
	"/tei/vectors/embed_sparse": "TEIEmbedAllRequest", "/tei/vectors/predict": "TEIPredictRequest", "/tei/vectors/rerank": "TEIRerankRequest",
	"/tei/vectors/similarity": "TEISimilarityRequest", "/infinity/rerank": "InfinityRerankRequest", "/infinity/classify": "InfinityClassifyRequest",
}

// TestFields checks that each field of the document is read, by a value that no field may have. Other fields are
// listed as ignored, or refused by a strict server.
func TestFields(t *testing.T) {
	f := serve(t, Config{})
	strict := serve(t, Config{Strict: true})
	for path, name := range operations {
		for field := range schema(t, name).Properties {
			got := f.post(t, path, fmt.Sprintf(`{%q:[{}]}`, field))
			if got.Code < 400 || got.Code > 422 || !strings.Contains(got.Body.String(), field) || strings.Contains(got.Body.String(), "is required") && !strings.Contains(got.Body.String(), field+"[0]") {
				t.Errorf("%s: %s: %d %s", path, field, got.Code, got.Body)
			}
		}
	}
	for body, ignored := range map[string]string{
		`{"model":"judge","query":"q","documents":["d"],"other":{"a":[1]},"rank_fields":["text"]}`:    "other, rank_fields",
		`{"model":"judge","query":"q","documents":[{"title":"t","text":"d"},{"text":"e","title":1}]}`: "documents[0].title, documents[1].title",
	} {
		if got := f.post(t, "/v1/rerank", body); got.Code != http.StatusOK || got.Header().Get(server.IgnoredHeader) != ignored {
			t.Errorf("%s: %d %s %q", body, got.Code, got.Body, got.Header().Get(server.IgnoredHeader))
		}
		if got := strict.post(t, "/v1/rerank", body); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "unknown field "+strings.Split(ignored, ",")[0]) {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
}

// many returns a list of n texts.
func many(n int) string { return "[" + strings.Repeat(`"a",`, n-1) + `"a"]` }

// TestErrors checks the status, the field at fault and the message of errors, in the form of each API.
func TestErrors(t *testing.T) {
	f := serve(t, Config{})
	const documents = `"documents":["d"]`
	long := strings.Repeat("a ", 5<<20)
	for _, tt := range []struct{ path, body, param, message string }{
		{"/v1/rerank", `{`, "", "the request body is not valid JSON"},
		{"/v1/rerank", `[]`, "", "the request body must be a JSON object"},
		{"/v1/rerank", "{\"query\":\"\xff\"}", "", "the request body is not valid JSON: the JSON text is not UTF-8 at byte 10"},
		{"/v1/rerank", `{"model":"judge",` + documents + `}`, "query", "query is required"},
		{"/v1/rerank", `{"model":"judge","query":null,` + documents + `}`, "query", "query is required"},
		{"/v1/rerank", `{"model":"judge","query":"",` + documents + `}`, "query", "query must not be empty"},
		{"/v1/rerank", `{"model":"judge","query":"q"}`, "documents", "documents is required"},
		{"/v1/rerank", `{"model":"judge","query":"q","documents":[]}`, "documents", "documents must not be empty"},
		{"/v1/rerank", `{"model":"judge","query":"q","documents":["d",""]}`, "documents[1]", "documents[1] must not be empty"},
		{"/v1/rerank", `{"model":"judge","query":"q","documents":["d",{"text":7}]}`, "documents[1].text", "documents[1].text must be a string, got 7"},
		{"/v1/rerank", `{"model":"judge","query":"q","documents":["d",7]}`, "documents[1]", "documents[1] must be a string or an object with the member text, got 7"},
		{"/v1/rerank", `{"model":"judge","query":"q",` + documents + `,"texts":["d"]}`, "texts", "texts and documents exclude each other"},
		{"/v1/rerank", `{"model":"judge","query":"q",` + documents + `,"top_n":-1}`, "top_n", "top_n must be an integer from 0 to 2147483647, got -1"},
		{"/v1/rerank", `{"model":"judge","query":"q",` + documents + `,"truncate_prompt_tokens":0}`, "truncate_prompt_tokens", "truncate_prompt_tokens must be -1 or at least 1, got 0"},
		{"/v1/rerank", `{"model":"judge","query":"q",` + documents + `,"truncation_side":"top"}`, "truncation_side", `truncation_side must be left or right, got "top"`},
		{"/v1/rerank", `{"query":"q",` + documents + `}`, "model", "this server has several models"},
		{"/v1/rerank", `{"model":"gone","query":"q",` + documents + `}`, "model", "the model `gone` does not exist"},
		{"/v1/rerank", `{"model":"judge","query":"q","documents":` + many(budget.EncodeInputs+1) + `}`, "documents[16384]", "documents[16384] exceeds the maximum of 16384 entries: send fewer"},
		{"/v1/rerank", `{"model":"judge","query":"q","documents":` + many(budget.Embedded+1) + `}`, "documents[4096]", "documents[4096] exceeds the maximum of 4096 pairs for a model that generates text: send fewer"},
		{"/v1/rerank", `{"model":"judge","query":"q","documents":["` + long + `"]}`, "documents[0]", "documents[0] "},
		{"/v1/rerank", `{"model":"vectors","query":"q",` + documents + `,"instruction":"x"}`, "instruction", "instruction is not supported by the model `vectors`: only models that generate text read it"},
		{"/v1/score", `{"model":"judge"}`, "text_1", "text_1 is required, and text_2"},
		{"/v1/score", `{"model":"judge","queries":"q"}`, "documents", "documents is required"},
		{"/v1/score", `{"model":"judge","data_2":"q"}`, "data_1", "data_1 is required"},
		{"/v1/score", `{"model":"judge","text_1":["a","b"],"text_2":["c"]}`, "text_2", "text_2 must have as many texts as text_1, which has 2, but it has 1"},
		{"/v1/score", `{"model":"judge","text_1":"a","queries":"b","text_2":"c"}`, "queries", "queries excludes text_1"},
		{"/v1/classify", `{"model":"judge","input":"a"}`, "model", "the model `judge` doesn't support classification"},
		{"/v1/classify", `{"model":"judge","input":["a",""]}`, "input[1]", "input[1] must not be empty"},
		{"/v1/moderations", `{"model":"judge","input":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}}]}`, "input[1].type", "input[1].type must be text: classifiers here take no images"},
		{"/v1/moderations", `{"model":"judge","input":["a",{"type":"text","text":"a"}]}`, "input[1]", "input[1] must be a string, got an object"},
		{"/pooling", `{"model":"vectors","input":[[1,2],[]]}`, "input[1]", "input[1] must not be empty"},
		{"/pooling", `{"model":"vectors","input":[1,"a"]}`, "input[1]", "input[1] must be a token id, got a string of 1 bytes"},
		{"/pooling", `{"model":"vectors","input":"a","task":"plugin"}`, "task", "task must be embed, classify, score, token_embed or token_classify, got"},
		{"/infinity/classify", `{"model":"judge","input":"a"}`, "input", "input must be a list of strings, got a string of 1 bytes"},
		{"/v1/scores", `{}`, "", "this path is not served"},
	} {
		got := f.post(t, tt.path, tt.body)
		var answer struct {
			Error struct{ Message, Param string }
		}
		if err := json.Unmarshal(got.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%s: %v", got.Body, err)
		}
		wantDocument(t, "ErrorResponse", got.Body.String())
		if got.Code != 400 && got.Code != 404 || !strings.Contains(answer.Error.Message, tt.message) || answer.Error.Param != tt.param {
			t.Errorf("%s %.150s: %d %.300s", tt.path, tt.body, got.Code, got.Body)
		}
	}
}

// TestOtherErrors checks errors in Cohere's and TEI's forms.
func TestOtherErrors(t *testing.T) {
	f := serve(t, Config{Names: configfield.NamesOf(map[configfield.Field]string{"encoders.TEIModel": "--tei-model"})})
	for _, tt := range []struct {
		path, body string
		status     int
		kind       string
		message    string
	}{
		{"/v2/rerank", `{"model":"judge","query":"q"}`, 400, "", "documents is required"},
		{"/v2/rerank", `{"model":"judge","query":"q","documents":["d"],"top_n":0}`, 400, "", "top_n must be an integer from 1 to 2147483647, got 0"},
		{"/v2/rerank", `{"model":"gone","query":"q","documents":["d"]}`, 404, "", "the model `gone` does not exist"},
		{"/tei/vectors/embed", `{}`, 422, "Validation", "inputs is required"},
		{"/tei/vectors/embed", `{"inputs":["a",""]}`, 422, "Validation", "inputs[1] must not be empty"},
		{"/tei/gone/embed", `{"inputs":"a"}`, 404, "Validation", "the model `gone` does not exist"},
		{"/tei/judge/predict", `{"inputs":["a","b","c"]}`, 422, "Validation", "inputs[2] is one too many: a pair has two strings. Send a list of texts as a list of lists of one string"},
		{"/tei/judge/predict", `{"inputs":["a"]}`, 422, "Validation", "inputs must be a pair of strings, got a list of 1"},
		{"/tei/judge/predict", `{"inputs":[["a"],["a","b","c"]]}`, 422, "Validation", "inputs[1] must be a list of one or two strings, got a list of 3"},
		{"/tei/judge/predict", `{"inputs":"a"}`, 422, "Validation", "the model `judge` doesn't support classification"},
		{"/tei/vectors/similarity", `{"inputs":{"source_sentence":"a"}}`, 422, "Validation", "inputs.sentences is required"},
		{"/tei/vectors/similarity", `{"inputs":{"source_sentence":"a","sentences":["b"]},"parameters":{"truncate":1}}`, 422, "Validation", "parameters.truncate must be true or false, got 1"},
		{"/embed", `{"inputs":"a"}`, 422, "Validation", "the path has no model: use /tei/{model}/ before it, or set --tei-model"},
	} {
		got := f.post(t, tt.path, tt.body)
		var answer struct {
			ID, Message, Error string
			Kind               string `json:"error_type"`
		}
		if err := json.Unmarshal(got.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%s: %v", got.Body, err)
		}
		form := "TEIErrorResponse"
		if tt.kind == "" {
			form = "CohereErrorResponse"
		}
		wantDocument(t, form, got.Body.String())
		if got.Code != tt.status || answer.Kind != tt.kind || !strings.Contains(answer.Message+answer.Error, tt.message) {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, got.Code, got.Body)
		}
	}
	if got := f.send(t, http.MethodGet, "/tei/vectors/embed", ""); got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != http.MethodPost {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}
