package server

import (
	"errors"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/wirecode"
)

// errorWriter writes errors in the protocol of an RPC.
var errorWriter = connect.NewErrorWriter() //nolint:gochecknoglobals // a constant

// assetsPath is the path of the playground's files.
const assetsPath = "/assets/"

// deny responds to a request that the gate or the core has refused, in the error form of
// the route's API.
func deny(w http.ResponseWriter, r *http.Request, route *auth.Record, err error) {
	RecordOf(r.Context()).Error = err
	e := inference.AsError(err)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", wirecode.RetryAfter(e.RetryAfter))
	}
	if e.Reason == inference.ReasonInvalidKey {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	switch {
	case (route.API == auth.Procedure || isCall(r.URL.Path)) && errorWriter.IsSupported(r):
		_ = errorWriter.Write(w, r, connect.NewError(wirecode.Connect(e.Code), errors.New(e.Message))) // the client may have disconnected
	case route.API == auth.REST:
		status, _ := wirecode.OpenAI(e.Code, e.Reason)
		answerJSON(w, status, `{"error":"`+e.Message+`"}`)
	default:
		refuse(w, RecordOf(r.Context()), e)
	}
}

// isCall reports whether a path is that of a procedure: /package.Service/Method.
func isCall(path string) bool {
	service, method, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return ok && method != "" && strings.Contains(service, ".")
}
