package openai

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/serving"
)

func TestModelAliases(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("org/chat", inferencetest.StreamText("hello"), map[string]string{"trident.aliases": "team/gpt 4", "trident.loras": "org/doll"})
	handler, err := New(Config{OwnedBy: "the lab"}, inferencetest.ServiceWithSeparator(t, ":", serving.Config{}, engine), nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	tests := []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"its own", http.MethodGet, "/v1/models/org/chat", "", http.StatusOK, `"id":"org/chat","object":"model","owned_by":"the lab"}`},
		{"an alias", http.MethodGet, "/v1/models/team/gpt%204", "", http.StatusOK, `"id":"team/gpt 4","object":"model"`},
		{"an alias, all escaped", http.MethodGet, "/models/team%2Fgpt%204", "", http.StatusOK, `"id":"team/gpt 4"`},
		{"an adapter", http.MethodGet, "/v1/models/org/chat:org/doll", "", http.StatusOK, `"id":"org/chat:org/doll"`},
		{"an adapter, all escaped", http.MethodGet, "/v1/models/org%2Fchat%3Aorg%2Fdoll", "", http.StatusOK, `"id":"org/chat:org/doll"`},
		{"an adapter that isn't there", http.MethodGet, "/v1/models/org/chat:cat", "", http.StatusNotFound, "the model `org/chat` has no LoRA adapter `cat`"},
		{"all", http.MethodGet, "/v1/models", "", http.StatusOK, `"id":"team/gpt 4"`},
		{"a text by an alias", http.MethodPost, "/v1/completions", `{"model":"team/gpt 4","prompt":"x"}`, http.StatusOK, `"model":"team/gpt 4"`},
		{"a text by an adapter", http.MethodPost, "/v1/completions", `{"model":"org/chat:org/doll","prompt":"x"}`, http.StatusOK, `"model":"org/chat:org/doll"`},
		{"no such adapter", http.MethodPost, "/v1/completions", `{"model":"org/chat:cat","prompt":"x"}`, http.StatusNotFound, `"param":"model","code":"model_not_found"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if resp, body := openaitest.Do(t, tt.method, server.URL+tt.path, tt.body); resp.StatusCode != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
	if adapter := inferencetest.Input(engine.Requests()[1], "sampling_parameters"); !strings.Contains(adapter, `"lora_name":"org/doll"`) {
		t.Errorf("the adapter's request has %s", adapter)
	}
}

func TestDocumentIsServed(t *testing.T) {
	server, _ := serve(t, Config{}, nil)
	resp, body := openaitest.Do(t, http.MethodGet, server.URL+"/openapi.json", "")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, `"openapi":"3.0.3"`) ||
		!strings.Contains(body, `"enum":["float","base64",null],"nullable":true`) {
		t.Errorf("%d %s %.100s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
	}
	if resp, body := openaitest.Do(t, http.MethodPost, server.URL+"/openapi.json", ""); resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") == "" {
		t.Errorf("POST: %d %s", resp.StatusCode, body)
	}
}
