package openai

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/serving"
)

// withoutModel are requests without a model, and a part of the response of the model `only`.
func withoutModel() []struct{ path, body, want string } {
	return []struct{ path, body, want string }{
		{chatPath, `{"messages":[{"role":"user","content":"hi"}]}`, `"model":"only"`},
		{chatPath, `{"messages":[{"role":"user","content":"hi"}],"stream":true}`, `"model":"only"`},
		{chatPath, `{"model":null,"messages":[{"role":"user","content":"hi"}]}`, `"model":"only"`},
		{chatPath, `{"model":"","messages":[{"role":"user","content":"hi"}]}`, `"model":"only"`},
		{completionPath, `{"prompt":"hi"}`, `"model":"only"`},
		{"/v1/responses", `{"input":"hi"}`, `"model":"only"`},
		{"/v1/responses/input_tokens", `{"input":"hi"}`, `"input_tokens":19`},
		{countPath, `{"messages":[{"role":"user","content":"hi"}]}`, `"input_tokens":19`},
		{renderPath, `{"messages":[{"role":"user","content":"hi"}]}`, `"model":"only"`},
		{renderCompletionPath, `{"prompt":"hi"}`, `"token_ids":[104,105]`},
		{decisionPath, `{"input":"hi","questions":[{"type":"predicate","instructions":"?"}]}`, `"model":"only"`},
		{"/v1/tokenize", `{"prompt":"hi"}`, `"tokens":[104,105]`},
		{"/v1/detokenize", `{"tokens":[104,105]}`, `"prompt":"hi"`},
		{"/completions", `{"prompt":"hi"}`, `"model":"only"`},
	}
}

// TestWithoutModel checks that all operations send requests without a model to the only one, and
// refuse them if there are several.
func TestWithoutModel(t *testing.T) {
	say := inferencetest.StreamText("x")
	parameters := map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.tokenizer": byteTokenizer, "trident.aliases": "gpt-4o"}
	engine := inferencetest.New()
	engine.AddModel("only", orScores(say), parameters)
	one := fieldServer(t, Config{}, engine)
	several := inferencetest.New()
	several.AddModel("only", say, parameters)
	several.AddModel("other", say, parameters)
	two := fieldServer(t, Config{}, several)
	for _, tt := range withoutModel() {
		if resp, body := openaitest.Do(t, http.MethodPost, one.URL+tt.path, tt.body); resp.StatusCode != http.StatusOK || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d %s, want %s", tt.path, tt.body, resp.StatusCode, body, tt.want)
		}
		resp, body := openaitest.Do(t, http.MethodPost, two.URL+tt.path, tt.body)
		const want = `{"error":{"message":"model is required, because this server has several models: GET /v1/models lists their names","type":"invalid_request_error","param":"model","code":"invalid_value"}}`
		if resp.StatusCode != http.StatusBadRequest || body != want {
			t.Errorf("of two, %s %s: %d %s", tt.path, tt.body, resp.StatusCode, body)
		}
	}
	if n := len(several.Requests()); n > 0 {
		t.Errorf("the engine of two models got %d requests", n)
	}
	speaker := inferencetest.New()
	speaker.AddModel("speaker", say, map[string]string{"trident.task": "generate"})
	vectors := inferencetest.New()
	vectors.AddModel("vectors", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	if resp, body := openaitest.Do(t, http.MethodPost, fieldServer(t, Config{}, vectors).URL+"/v1/embeddings", `{"input":"hi"}`); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"model":"vectors"`) {
		t.Errorf("embeddings: %d %s", resp.StatusCode, body)
	}
	if resp, body := openaitest.Do(t, http.MethodPost, fieldServer(t, Config{}, speaker).URL+"/v1/embeddings", `{"input":"hi"}`); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "the model `speaker` ") {
		t.Errorf("embeddings of a chat model: %d %s", resp.StatusCode, body)
	}
}

// TestWithoutModelByKey checks that a request without a model uses only models that its key allows.
func TestWithoutModelByKey(t *testing.T) {
	engine := inferencetest.New()
	for _, name := range []string{"first", "second"} {
		engine.AddModel(name, inferencetest.StreamText("x"), inferencetest.WithTemplate())
	}
	handler := newHandler(Config{}, inferencetest.Service(t, serving.Config{}, engine), newValidator(t))
	for _, tt := range []struct {
		allowed []string
		status  int
		want    string
	}{
		{[]string{"second"}, http.StatusOK, `"model":"second"`},
		{[]string{"first", "second"}, http.StatusBadRequest, "several models"},
		{[]string{"third"}, http.StatusServiceUnavailable, "no model is ready"},
	} {
		client := inference.WithClient(t.Context(), &inference.Client{Name: "k", Models: tt.allowed})
		rec, req := httptest.NewRecorder(), httptest.NewRequestWithContext(client, http.MethodPost, completionPath, strings.NewReader(`{"prompt":"hi"}`))
		handler.ServeHTTP(rec, req)
		if body := rec.Body.String(); rec.Code != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%v: %d %s", tt.allowed, rec.Code, body)
		}
	}
}
