package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// contractModel returns an engine of the test's own with the model of the vLLM backend's contract.
func contractModel(t *testing.T) engine {
	t.Helper()
	// The model can't be unloaded. Otherwise one of the many requests could unload it.
	return ownEngine(t, tritonserver.Options{Repositories: []string{contractRepository(t)}})
}

// contractRepository returns a repository that has only the given model.
func contractRepository(t *testing.T) string {
	t.Helper()
	repository := t.TempDir()
	if err := os.Symlink(filepath.Join(root(t), "test", "models-contract", "vllm"), filepath.Join(repository, "vllm")); err != nil {
		t.Fatal(err)
	}
	return repository
}

// TestContract runs the contract tests on a model with adapters and a tokenizer.
func TestContract(t *testing.T) {
	t.Parallel()
	s := contractModel(t).startAt(t, root(t), "--lora-separator=_lora_", "--owned-by=lab")
	if !poll(startLimit, func() bool {
		resp, err := client.Get(s.url + "/v1/models/vllm")
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}) {
		t.Fatalf("the model isn't served:\n%s", s.log)
	}
	user := func(model string) map[string]any {
		return map[string]any{"model": model, "messages": []any{map[string]any{"role": "user", "content": "Grüße"}}}
	}
	tests := []struct {
		name, path string
		body       map[string]any
		status     int
		want       string
	}{
		{"a chat", "/v1/chat/completions", user("vllm"), http.StatusOK, `"usage":{"completion_tokens":8,"prompt_tokens":26,"total_tokens":34}`},
		{"by an adapter", "/v1/chat/completions", user("vllm_lora_doll"), http.StatusOK, `"model":"vllm_lora_doll"`},
		{"by one that isn't there", "/v1/chat/completions", user("vllm_lora_cow"), http.StatusNotFound, `"code":"model_not_found"`},
		{"its tokens", "/v1/tokenize", user("vllm"), http.StatusOK, `"count":26,"max_model_len":4096,`},
		{"the tokens of its chat", "/v1/chat/completions/input_tokens", user("vllm"), http.StatusOK, `{"input_tokens":26}`},
		{"its prompt", "/v1/chat/completions/render", merge(user("vllm"), "max_tokens", 8), http.StatusOK, `"sampling_params":{"max_tokens":8,"n":1},"prompt":"`},
		{"the prompt of a text", "/v1/completions/render", map[string]any{"model": "vllm", "prompt": "Grü"}, http.StatusOK, `"prompt":"Grü","token_ids":[71,114,195,188]}]`},
		{"a text of tokens", "/v1/detokenize", map[string]any{"model": "vllm", "tokens": []int{71, 114, 195, 188}}, http.StatusOK, `{"prompt":"Grü"}`},
		{"a message", "/v1/messages", merge(user("vllm"), "max_tokens", 8), http.StatusOK, `"text":"Grüße","type":"text"}],`},
		{"its usage", "/v1/messages", merge(user("vllm"), "max_tokens", 8), http.StatusOK, `"stop_reason":"end_turn","stop_sequence":null,"type":"message","usage":{"cache_creation_input_tokens":null,"cache_read_input_tokens":null,"input_tokens":26,"output_tokens":8}`},
		{"its events", "/v1/messages", merge(merge(user("vllm"), "max_tokens", 8), "stream", true), http.StatusOK, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
		{"the tokens of a message", "/v1/messages/count_tokens", user("vllm"), http.StatusOK, `{"input_tokens":26}`},
		{"a message of a model that isn't there", "/v1/messages", merge(user("none"), "max_tokens", 8), http.StatusNotFound, `"type":"not_found_error"`},
		{"an empty prompt", "/v1/completions", map[string]any{"model": "vllm", "prompt": ""}, http.StatusBadRequest, `"param":"prompt"`},
		{"an id that it doesn't have", "/v1/completions", map[string]any{"model": "vllm", "prompt": "a", "allowed_token_ids": []int{1000}}, http.StatusBadRequest, `"param":"allowed_token_ids"`},
		{"what the context can't hold", "/v1/chat/completions", merge(user("vllm"), "min_tokens", 4096), http.StatusBadRequest, `"param":"min_tokens"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if a := s.post(t, tt.path, tt.body); a.status != tt.status || !strings.Contains(string(a.body), tt.want) {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	answers := 0
	for _, line := range s.log.since(0) {
		if line.text("path") != "/v1/messages" || line["status"] != float64(http.StatusOK) {
			continue
		}
		answers++
		if line.text("model") != "vllm" || line["prompt_tokens"] != float64(26) || line["completion_tokens"] != float64(8) || (answers == 3) != (line["first_token"] != nil) {
			t.Errorf("logged %v", line)
		}
	}
	if answers != 3 { // the last is the stream
		t.Errorf("%d messages are logged", answers)
	}
	listed := string(s.get(t, "/v1/models").body)
	if !strings.Contains(listed, `"id":"vllm","max_model_len":4096,"object":"model","owned_by":"lab"`) || strings.Contains(listed, `"id":"vllm_lora_sheep"`) != inProcess() {
		t.Errorf("listed: %s", listed)
	}
}

func merge(body map[string]any, key string, value any) map[string]any {
	body[key] = value
	return body
}
