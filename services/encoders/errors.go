package encoders

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	api "github.com/trident-inference/trident/gen/go/encoders"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/wirecode"
)

// failure is an error as the forms of the APIs need it.
type failure struct {
	status     int
	code       inference.Code
	reason     inference.Reason
	object     api.ErrorObject // in OpenAI's form
	retryAfter time.Duration
}

// describe returns the failure of any error. An unknown error becomes an internal error, whose message appears only
// in the log.
func describe(err error) failure {
	e := inference.AsError(err)
	if tooLarge, ok := errors.AsType[*server.TooLargeError](err); ok {
		e = tooLarge.Refusal()
	}
	status, kind := wirecode.OpenAI(e.Code, e.Reason)
	f := failure{
		status: status, code: e.Code, reason: e.Reason, retryAfter: e.RetryAfter,
		object: api.ErrorObject{Message: budget.Cut(e.Message, budget.MessageBytes), Type: kind},
	}
	if e.Param != "" {
		f.object.Param = new(budget.Cut(e.Param, budget.NameBytes))
	}
	if e.Reason != inference.ReasonNone {
		f.object.Code = new(e.Reason.String())
	}
	return f
}

// message returns the message with the field at fault, for forms without a member for the field.
func (f *failure) message() string {
	if param := f.object.Param; param != nil && !strings.Contains(f.object.Message, *param) {
		return *param + ": " + f.object.Message
	}
	return f.object.Message
}

// writeError responds with an error, in the form of the path's API, to a request without a response so far.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	rec := server.RecordOf(r.Context())
	rec.Error = err
	f := describe(err)
	header := w.Header()
	if f.retryAfter > 0 {
		header.Set("Retry-After", wirecode.RetryAfter(f.retryAfter))
	}
	if f.status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	header.Set("Content-Type", "application/json")
	var body any = api.ErrorResponse{Error: f.object}
	switch {
	case isTEI(r.URL.Path):
		var tei api.TEIErrorResponse
		f.status, tei = f.tei()
		body = tei
	case r.URL.Path == "/v2/rerank":
		body = api.CohereErrorResponse{ID: rec.RequestID, Message: f.message()}
	}
	text, err := json.Marshal(body)
	if err != nil { // strings always encode
		text = []byte(`{"error":{"message":"internal error","type":"` + wirecode.TypeServer + `","param":null,"code":null}}`)
	}
	w.WriteHeader(f.status)
	_, _ = w.Write(text) // the client may have disconnected
}

// isTEI reports whether a path is one of TEI's.
func isTEI(path string) bool {
	return strings.HasPrefix(path, teiPrefix) || slices.Contains(teiRoots(), path)
}

// tei returns the status and the body of TEI's form.
func (f *failure) tei() (status int, body api.TEIErrorResponse) {
	status, kind := wirecode.TEI(f.code, f.reason)
	return status, api.TEIErrorResponse{Error: f.message(), ErrorType: api.TEIErrorResponseErrorType(kind)}
}
