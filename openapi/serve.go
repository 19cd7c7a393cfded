package openapi

import (
	"net/http"
	"sync"
)

// Serve returns a handler that serves a document of this package as [JSON]. The first request generates the JSON.
// If that fails, the handler calls fail, which responds with the error.
func Serve(document func() []byte, fail func(http.ResponseWriter, *http.Request, error)) http.HandlerFunc {
	text := sync.OnceValues(func() ([]byte, error) { return JSON(document()) })
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := text()
		if err != nil {
			fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // the client may have disconnected
	}
}
