package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestDocument checks that clients can read the document.
func TestDocument(t *testing.T) {
	f := serve(t, Config{}, nil, abilities())
	answer := f.send(t, http.MethodGet, "/v1/messages/openapi.json", "")
	var served struct {
		Paths map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &served); err != nil || answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%v: %d %.200s", err, answer.Code, answer.Body)
	}
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	if len(served.Paths) != doc.Paths.Len() || !strings.Contains(answer.Body.String(), `"enum":["auto","standard_only",null],"nullable":true`) {
		t.Errorf("%.2000s", answer.Body)
	}
	if answer := f.post(t, "/v1/messages/openapi.json", ""); answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != "GET" {
		t.Errorf("POST: %d %v %s", answer.Code, answer.Header(), answer.Body)
	}
}
