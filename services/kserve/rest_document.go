package kserve

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/openapi"
)

// documentPattern is where clients find what they may ask.
const documentPattern = "GET " + restPath + "/openapi.json"

// serveDocument answers with openapi/kserve.yaml as JSON, which is made for the first
// who asks.
func serveDocument() http.HandlerFunc {
	document := sync.OnceValues(func() (json.RawMessage, error) {
		doc, err := openapi3.NewLoader().LoadFromData(openapi.KServe())
		if err != nil {
			return nil, err
		}
		return doc.MarshalJSON()
	})
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := document()
		if err != nil {
			restFail(w, r, err)
			return
		}
		restWrite(w, http.StatusOK, body)
	}
}
