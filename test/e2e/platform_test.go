package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// platforms returns the ports of SageMaker and Vertex AI by name.
func (s *trident) platforms(t *testing.T, names ...string) map[string]*trident {
	t.Helper()
	ports := map[string]*trident{}
	for _, name := range names {
		line, ok := s.log.await(startLimit, s.exited, func(l logLine) bool {
			return l["msg"] == "listening for requests of a cloud platform" && l["platform"] == name
		})
		if !ok {
			t.Fatalf("no port for %s:\n%s", name, s.log)
		}
		port := *s
		port.url = "http://" + line.text("address")
		ports[name] = &port
	}
	return ports
}

// TestPlatforms sends the requests of SageMaker and Vertex AI to the demo models, with the
// platforms' own variables: chats, streams, embeddings and KServe's generate.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	flags := []string{"--sagemaker-port=" + freePort(t), "--vertex-ai-default-model=chat"}
	models := demoModels(t)
	models.env = slices.Concat(models.env, []string{
		"AIP_HEALTH_ROUTE=/v1/endpoints/1/health", "AIP_PREDICT_ROUTE=/v1/endpoints/1:predict", "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME=chat",
	})
	if inProcess() { // llama.cpp in the model also reads the variables
		flags = append(flags, "--allow-vertex-ai", "--vertex-ai-port="+freePort(t))
	} else {
		models.env = append(models.env, "AIP_MODE=PREDICTION", "AIP_HTTP_PORT="+freePort(t))
	}
	s := models.start(t, flags...)
	if err := s.awaitModels(); err != nil {
		t.Fatal(err)
	}
	for name, port := range s.platforms(t, "SageMaker", "Vertex AI") {
		health, predict := "/ping", "/invocations"
		if name == "Vertex AI" {
			health, predict = "/v1/endpoints/1/health", "/v1/endpoints/1:predict"
		}
		t.Run(name, func(t *testing.T) { testPlatform(t, port, health, predict) })
	}
	redirect := "X-Vertex-Ai-Triton-Redirect"
	vertex := s.platforms(t, "Vertex AI")["Vertex AI"]
	a := vertex.platformPost(t, "/v1/endpoints/1:predict", "{}", redirect, "v2/models/chat/ready").want(t, http.StatusOK)
	if len(a.body) != 0 {
		t.Errorf("the readiness of the model: %s", a.body)
	}
	vertex.platformPost(t, "/v1/endpoints/1:predict", "{}", redirect, "v2/repository/models/chat/unload").want(t, http.StatusForbidden)
	s.chat(t, ask("Hello.", "max_tokens", 1)) // the model was not unloaded
}

func testPlatform(t *testing.T, s *trident, health, predict string) {
	t.Helper()
	get, err := client.Get(s.url + health)
	if err != nil {
		t.Fatal(err)
	}
	readAll(t, get).want(t, http.StatusOK)
	s.platformPost(t, "/v1/chat/completions", encoded(t, ask("Hello."))).want(t, http.StatusNotFound)

	body := ask("Hello.", "max_tokens", 8, "ignore_eos", true)
	delete(body, "model") // the request then uses the platform's default model
	whole := decode[completion](t, s.platformPost(t, predict, encoded(t, body)).want(t, http.StatusOK))
	if whole.Model != "chat" || whole.Usage.Completion != 8 || len(whole.Choices) != 1 {
		t.Errorf("a chat: %+v", whole)
	}
	body["stream"] = true
	a := s.platformPost(t, predict, encoded(t, body)).want(t, http.StatusOK)
	if events := string(a.body); a.header.Get("Content-Type") != "text/event-stream; charset=utf-8" || strings.Count(events, `"content":"`) < 4 || !strings.HasSuffix(events, "data: [DONE]\n\n") {
		t.Errorf("a stream: %s %s", a.header.Get("Content-Type"), events)
	}
	vectors := decode[struct {
		Data []struct{ Embedding []float64 }
	}](t,
		s.platformPost(t, predict, encoded(t, object{"model": "embedding", "input": []string{"a", "b"}})).want(t, http.StatusOK))
	if len(vectors.Data) != 2 || len(vectors.Data[0].Embedding) != 384 {
		t.Errorf("embeddings: %d", len(vectors.Data))
	}
	answer := s.platformPost(t, predict, `{"text_input":"Hello.","parameters":{"sampling_parameters":"{\"max_tokens\":4}"}}`).want(t, http.StatusOK)
	if text := decode[map[string]any](t, answer); text["model_name"] != "chat" || fmt.Sprint(text["text_output"]) == "" {
		t.Errorf("generate: %s", answer.body)
	}
	if e := s.platformPost(t, predict, `{"messages":[]}`).want(t, http.StatusBadRequest).failure(t); text(e.Param) != "messages" {
		t.Errorf("a bad request is about %s: %s", text(e.Param), text(e.Message))
	}
}

// platformPost sends a POST to a port whose paths are in no document.
func (s *trident) platformPost(t *testing.T, path, body string, header ...string) answer {
	t.Helper()
	response, err := http.DefaultClient.Do(s.request(t, http.MethodPost, path, body, header...))
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, response)
}

func encoded(t *testing.T, body object) string {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
