package openai

import (
	"net/http"
	"sync"
)

// serveDocument answers with openapi/openai.yaml as JSON, which is made for the
// first who asks.
func serveDocument() http.HandlerFunc {
	document := sync.OnceValues(func() ([]byte, error) {
		doc, err := loadDocument()
		if err != nil {
			return nil, err
		}
		return doc.MarshalJSON()
	})
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := document()
		if err != nil {
			writeError(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // a client that left needs no answer
	}
}
