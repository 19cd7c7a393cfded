package kserve

import (
	"math"
	"net/http"
	"strconv"

	"google.golang.org/grpc/codes"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/tensorjson"
	"github.com/trident-inference/trident/services/server"
)

// restFail answers a REST request with an error as tritonserver does:
// {"error": "text"}, under the status of Triton's code.
func restFail(w http.ResponseWriter, r *http.Request, err error) {
	server.RecordOf(r.Context()).Error = err
	e := inference.AsError(err)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(httpStatus(e))
	_, _ = w.Write(appendError(nil, e)) //nolint:gosec // JSON; and a client that has left needs none
}

// appendError adds the JSON of an error.
func appendError(to []byte, e *inference.Error) []byte {
	return append(tensorjson.AppendQuoted(append(to, `{"error":`...), textOf(e)), '}')
}

// httpStatus is the HTTP status of an error.
func httpStatus(e *inference.Error) int {
	switch codeOf(e) { //nolint:exhaustive // all others are the request's fault
	case codes.Internal:
		return http.StatusInternalServerError
	case codes.NotFound:
		return http.StatusNotFound
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	}
	return http.StatusBadRequest
}
