package rest

import (
	"net/http"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/tensorjson"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/wirecode"
)

// fail answers a REST request with an error as tritonserver does:
// {"error": "text"}, under the status of Triton's code.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	server.RecordOf(r.Context()).Error = err
	e := inference.AsError(err)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", wirecode.RetryAfter(e.RetryAfter))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(wirecode.KServeHTTP(e))
	_, _ = w.Write(appendError(nil, e)) //nolint:gosec // JSON; and a client that has left needs none
}

// appendError adds the JSON of an error.
func appendError(to []byte, e *inference.Error) []byte {
	return append(tensorjson.AppendQuoted(append(to, `{"error":`...), wirecode.KServeText(e)), '}')
}
