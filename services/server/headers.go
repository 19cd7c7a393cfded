package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/wirecode"
)

// MaxHeaderLines is the maximum number of lines of a request's header. Clients behind
// several proxies send about 40.
const MaxHeaderLines = 100

// CheckHeader returns an error if the header of a request, or the metadata of a call, has
// too many lines.
func CheckHeader(header map[string][]string) error {
	lines := 0
	for _, values := range header {
		lines += len(values)
	}
	if lines <= MaxHeaderLines {
		return nil
	}
	return &inference.Error{
		Code: inference.CodeLimited, Reason: inference.ReasonHeaders,
		Message: fmt.Sprintf("the request has %d header lines, more than %d: send fewer", lines, MaxHeaderLines),
	}
}

// limitHeaders responds with 431 to requests with too many header lines (RFC 6585, 5).
func limitHeaders(telemetry *Telemetry, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := CheckHeader(r.Header); err != nil {
			telemetry.refused(refusedHeaders)
			refuseEarly(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuseEarly responds to a request before it is authenticated, in the error form of the
// route's API. Streaming protocols have status 200 and return the error in the trailers or
// the last message.
func refuseEarly(w http.ResponseWriter, r *http.Request, err error) {
	rec := RecordOf(r.Context())
	rec.Error = err
	e := inference.AsError(err)
	status, _ := wirecode.OpenAI(e.Code, e.Reason)
	code := wirecode.Connect(e.Code)
	kind := r.Header.Get("Content-Type")
	switch route := rec.match.record; {
	case route != nil && route.API == auth.Encoders && rec.match.refuse != nil:
		rec.match.refuse(w, r, e)
	case route == nil || route.API != auth.Procedure && route.API != auth.REST:
		refuse(w, rec, e)
	case route.API == auth.REST:
		answerJSON(w, status, `{"error":"`+e.Message+`"}`)
	case strings.HasPrefix(kind, "application/grpc"), strings.HasPrefix(kind, "application/connect+"):
		_ = errorWriter.Write(w, r, connect.NewError(code, errors.New(e.Message))) // the client may have disconnected
	default:
		answerJSON(w, status, `{"code":"`+code.String()+`","message":"`+e.Message+`"}`)
	}
}
