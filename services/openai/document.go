package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/trident-inference/trident/services/openai/internal/wire"
)

// serveDocument returns a handler that serves openapi/openai.yaml as JSON. The
// first request generates the JSON.
func serveDocument() http.HandlerFunc {
	document := sync.OnceValues(documentJSON)
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := document()
		if err != nil {
			wire.WriteError(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // the client may have disconnected
	}
}

func documentJSON() ([]byte, error) {
	doc, err := loadDocument()
	if err != nil {
		return nil, err
	}
	text, err := doc.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	listNull(tree)
	return json.Marshal(tree)
}

// listNull adds null to the enumerations of nullable values. OpenAPI 3.0.3
// requires that (proposal 2019-10-31, clarify semantics of nullable), but the
// generator and the validator would take it for another enum value.
func listNull(tree any) {
	switch node := tree.(type) {
	case []any:
		for _, item := range node {
			listNull(item)
		}
	case map[string]any:
		if words, ok := node["enum"].([]any); ok && node["nullable"] == true && !slices.Contains(words, nil) {
			node["enum"] = append(words, nil)
		}
		for _, item := range node {
			listNull(item)
		}
	}
}
