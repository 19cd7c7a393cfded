package encoders

import (
	"net/http"
	"sync"

	"github.com/trident-inference/trident/openapi"
)

// documentPattern is the route of the OpenAPI document.
const documentPattern = "GET /v1/rerank/openapi.json"

// serveDocument returns a handler that serves openapi/encoders.yaml as JSON. The first request generates
// the JSON.
func serveDocument() http.HandlerFunc {
	document := sync.OnceValues(func() ([]byte, error) { return openapi.JSON(openapi.Encoders()) })
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := document()
		if err != nil {
			writeError(w, r, err)
			return
		}
		writeBody(w, body)
	}
}
