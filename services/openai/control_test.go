package openai

import (
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

func TestModelControl(t *testing.T) {
	tests := []struct {
		name     string
		path     string // path below /v1/models/
		body     string
		explicit bool
		status   int
		want     string // part of the response
	}{
		{"load", "chat/load", "", true, http.StatusOK, `{"created":`},
		{"load with slashes", "org/name/load", "", true, http.StatusOK, `"id":"org/name","object":"model","owned_by":"triton"}`},
		{"load with an escaped slash", "org%2Fname/load", "", true, http.StatusOK, `"id":"org/name"`},
		{"load with an empty object", "chat/load", "{}", true, http.StatusOK, `"id":"chat"`},
		{"load with another field", "chat/load", `{"x":1}`, true, http.StatusOK, `"id":"chat"`},
		{"load with nonsense", "chat/load", `nonsense`, true, http.StatusBadRequest, `the request body must be a JSON object`},
		{"load again", "embedding/load", "", true, http.StatusBadRequest, "{\"error\":{\"message\":\"the model `embedding` is already loaded\",\"type\":\"invalid_request_error\",\"param\":\"model\",\"code\":\"model_already_loaded\"}}"},
		{"load an unknown one", "nobody/load", "", true, http.StatusBadRequest, `{"error":{"message":"failed to load 'nobody', failed to poll from model repository","type":"invalid_request_error","param":"model","code":"model_not_found"}}`},
		{"load a path", "..%2F..%2Fetc/load", "", true, http.StatusBadRequest, `failed to load '../../etc', failed to poll from model repository`},
		{"load a broken one", "broken/load", "", true, http.StatusInternalServerError, `"message":"load failed for model 'broken'"`},
		{"load where it isn't allowed", "chat/load", "", false, http.StatusBadRequest, `{"error":{"message":"explicit model load / unload is not allowed if polling is enabled","type":"invalid_request_error","param":null,"code":"not_implemented"}}`},
		{"unload", "embedding/unload", "", true, http.StatusOK, `{"model":"embedding","status":"success"}`},
		{"unload again", "chat/unload", "", true, http.StatusBadRequest, "unknown model `chat`: it does not exist or is not loaded"},
		{"unload where it isn't allowed", "embedding/unload", "", false, http.StatusBadRequest, `explicit model load / unload is not allowed if polling is enabled`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, engine := serve(t, Config{}, inferencetest.StreamText("x"))
			engine.AddModel("broken", nil, nil)
			for _, name := range []string{"chat", "org/name", "broken"} {
				engine.SetState(name, inference.ModelUnavailable, "unloaded")
			}
			if tt.explicit {
				engine.Control(func(model string) error {
					if model == "broken" {
						return &inference.Error{Code: inference.CodeInternal, Message: "load failed for model 'broken'"}
					}
					return nil
				})
			}
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+"/v1/models/"+tt.path, tt.body)
			if resp.StatusCode != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
			if ignored := resp.Header.Get("X-Trident-Ignored-Fields"); (ignored == "x") != strings.Contains(tt.body, "x") {
				t.Errorf("ignored fields %q", ignored)
			}
		})
	}
}

// TestModelControlTakesEffect tests that the next request after a load or an unload of a model
// already sees the model's new state.
func TestModelControlTakesEffect(t *testing.T) {
	server, engine := serve(t, Config{}, inferencetest.StreamText("x"))
	engine.Control(nil)
	for range 3 {
		for _, step := range []struct {
			action string
			chat   int
			listed bool
		}{{"unload", http.StatusNotFound, false}, {"load", http.StatusOK, true}} {
			if resp, body := openaitest.Do(t, http.MethodPost, server.URL+"/v1/models/chat/"+step.action, ""); resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d %s", step.action, resp.StatusCode, body)
			}
			if resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask("")); resp.StatusCode != step.chat {
				t.Errorf("chat after the %s: %d %s", step.action, resp.StatusCode, body)
			}
			if _, body := openaitest.Do(t, http.MethodGet, server.URL+"/v1/models", ""); strings.Contains(body, `"chat"`) != step.listed {
				t.Errorf("models after the %s: %s", step.action, body)
			}
		}
	}
}
