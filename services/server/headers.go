package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
)

// MaxHeaderLines is how many lines the header of a request may have. Clients behind several
// proxies send some 40.
const MaxHeaderLines = 100

const reasonHeaders = "too_many_headers"

// CheckHeader returns the error of a request whose header, or a call's metadata, has too
// many lines.
func CheckHeader(header map[string][]string) error {
	lines := 0
	for _, values := range header {
		lines += len(values)
	}
	if lines <= MaxHeaderLines {
		return nil
	}
	return &inference.Error{
		Code: inference.CodeLimited, Reason: reasonHeaders,
		Message: fmt.Sprintf("the header of the request has %d lines, more than %d: send fewer", lines, MaxHeaderLines),
	}
}

// limitHeaders answers requests with too many header lines with 431 (RFC 6585, 5).
func limitHeaders(telemetry *Telemetry, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := CheckHeader(r.Header); err != nil {
			telemetry.refused(refusedHeaders)
			refuseEarly(w, r, err, http.StatusRequestHeaderFieldsTooLarge, connect.CodeResourceExhausted)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuseEarly answers a request before anybody is asked whose it is, in the form of the API
// that was asked. The protocols of streams say it in what follows status 200.
func refuseEarly(w http.ResponseWriter, r *http.Request, err error, status int, code connect.Code) {
	rec := RecordOf(r.Context())
	rec.Error = err
	e := inference.AsError(err)
	kind := r.Header.Get("Content-Type")
	switch route := rec.match.record; {
	case route == nil || route.API != auth.Procedure && route.API != auth.REST:
		refuse(w, status, e.Message, "invalid_request_error", `"`+e.Reason+`"`)
	case route.API == auth.REST:
		answerJSON(w, status, `{"error":"`+e.Message+`"}`)
	case strings.HasPrefix(kind, "application/grpc"), strings.HasPrefix(kind, "application/connect+"):
		_ = errorWriter.Write(w, r, connect.NewError(code, errors.New(e.Message))) // a client that has left needs none
	default:
		answerJSON(w, status, `{"code":"`+code.String()+`","message":"`+e.Message+`"}`)
	}
}
