package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/server/servertest"
)

// TestEncoders checks the routes of the encoders' APIs on the shared port: keys, the forms of refusals, the model of
// TEI's paths, and the metrics.
func TestEncoders(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("vectors", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	target := startMatrixOn(t, engine, "--api-keys-file="+servertest.Write(t, t.TempDir(), "keys", []byte(matrixKeys)), "--http-max-input-size=100000", "--tei-model=vectors")
	ask := func(method, listener, path, body, key string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Host = "localhost:9000"
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		w := httptest.NewRecorder()
		target.listeners[listener].ServeHTTP(w, r)
		return w
	}
	const rank = `{"model":"vectors","query":"q","documents":["a","b"]}`
	for _, test := range []struct {
		name, path, body, key string
		status                int
		want                  string
	}{
		{"ranks", "/v1/rerank", rank, "sk-all", 200, `"relevance_score":0.99`},
		{"ranks without /v1", "/rerank", rank, "sk-all", 200, `"relevance_score":0.99`},
		{"Cohere", "/v2/rerank", rank, "sk-all", 200, `"search_units":1`},
		{"TEI", "/tei/vectors/embed", `{"inputs":"a"}`, "sk-all", 200, `[[0.6,0.8]]`},
		{"TEI at the root", "/embed", `{"inputs":"a"}`, "sk-all", 200, `[[0.6,0.8]]`},
		{"TEI's ranks at the root", "/rerank", `{"query":"q","texts":["a"]}`, "sk-all", 200, `[{"index":0,"score":0.99`},
		{"infinity", "/infinity/embeddings", `{"model":"vectors","input":["a"],"modality":"text"}`, "sk-all", 200, `"embedding":[0.6,0.8]`},
		{"no key", "/v1/rerank", rank, "", 401, `{"error":{"code":"invalid_api_key"`},
		{"no key, TEI", "/tei/vectors/embed", `{"inputs":"a"}`, "", 401, `{"error":"an API key is needed`},
		{"no key, Cohere", "/v2/rerank", rank, "", 401, `{"id":"req_`},
		{"a model of others", "/v1/rerank", rank, "sk-some", 404, `"code":"model_not_found"`},
		{"a model of others, TEI", "/tei/vectors/embed", `{"inputs":"a"}`, "sk-some", 404, `"error_type":"Validation"`},
		{"a model of others at the root", "/embed", `{"inputs":"a"}`, "sk-some", 404, `"error_type":"Validation"`},
		{"too large", "/v1/rerank", `{"query":"` + strings.Repeat("a", 100_000) + `"}`, "sk-all", 413, `"code":"content_too_large"`},
		{"too large, TEI", "/tei/vectors/embed", `{"inputs":"` + strings.Repeat("a", 100_000) + `"}`, "sk-all", 413, `{"error":"the request body is larger`},
		{"no route", "/tei/", "{}", "sk-all", 404, `{"error":"this path is not served`},
	} {
		answer := ask(http.MethodPost, "shared", test.path, test.body, test.key)
		if answer.Code != test.status || !strings.Contains(answer.Body.String(), test.want) {
			t.Errorf("%s: %d %s", test.name, answer.Code, answer.Body)
		}
		if test.status == http.StatusUnauthorized && answer.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %v", test.name, answer.Header())
		}
	}
	page := ask(http.MethodGet, "metrics", "/metrics", "", "").Body.String()
	for _, line := range []string{
		`trident_requests_total{code="ok",model="vectors",operation="score",surface="encoders"} 4`,
		`trident_requests_total{code="ok",model="vectors",operation="embeddings",surface="encoders"} 2`,
		`trident_requests_total{code="ok",model="vectors",operation="embeddings",surface="openai"} 1`,
		`trident_http_requests_total{code="200",surface="encoders"} 6`,
		`trident_http_requests_total{code="401",surface="encoders"} 3`,
		`trident_prompt_tokens_total{model="vectors",operation="embeddings",surface="encoders"} 6`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}
