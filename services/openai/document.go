package openai

import (
	"net/http"
	"sync"

	"github.com/trident-inference/trident/openapi"
	"github.com/trident-inference/trident/services/openai/internal/wire"
)

// serveDocument returns a handler that serves openapi/openai.yaml as JSON. The
// first request generates the JSON.
func serveDocument() http.HandlerFunc {
	document := sync.OnceValues(func() ([]byte, error) { return openapi.JSON(openapi.OpenAI()) })
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
