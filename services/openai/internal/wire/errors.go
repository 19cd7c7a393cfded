// Package wire writes the parts of responses that several operations of OpenAI's API
// share: the error object, server-sent events, JSON strings, usage and log
// probabilities. The package of an operation has the parts that only it writes.
// Events of one operation belong to the package of this operation.
package wire

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/wirecode"
)

// Error is OpenAI's error object. SDKs select their exception class by the status, and
// show message, param and code. All four keys are always present.
type Error struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// Describe returns the status and the object of any error. An unknown error becomes an
// internal error, whose message appears only in the log.
func Describe(err error) (status int, object Error, retryAfter time.Duration) {
	var tooLarge *server.TooLargeError
	var query *api.InvalidParamFormatError
	var e *inference.Error
	switch {
	case errors.As(err, &query):
		e = inference.Invalid(query.ParamName, "%s has a value of an invalid type", query.ParamName)
	case errors.As(err, &tooLarge):
		e = tooLarge.Refusal()
	default:
		e = inference.AsError(err)
	}
	status, kind := wirecode.OpenAI(e.Code, e.Reason)
	return status, Error{Message: e.Message, Type: kind, Param: Optional(e.Param), Code: Optional(e.Reason.String())}, e.RetryAfter
}

// WriteError responds with an error to a request without a response so far.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	server.RecordOf(r.Context()).Error = err
	status, object, retryAfter := Describe(err)
	h := w.Header()
	if retryAfter > 0 {
		h.Set("Retry-After", wirecode.RetryAfter(retryAfter))
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(ErrorBody(object)) // the client may have disconnected
}

// Cut shortens the fields that may contain strings of the client.
func (e Error) Cut() Error {
	e.Message = budget.Cut(e.Message, budget.MessageBytes)
	if e.Param != nil {
		e.Param = new(budget.Cut(*e.Param, budget.NameBytes))
	}
	return e
}

// ErrorBody returns the body of a failed response, or the data of an error event.
func ErrorBody(object Error) []byte {
	body, err := json.Marshal(struct {
		Error Error `json:"error"`
	}{object.Cut()})
	if err != nil { // strings always encode
		return []byte(`{"error":{"message":"internal error","type":"` + wirecode.TypeServer + `","param":null,"code":null}}`)
	}
	return body
}

// Optional returns nil for the empty string.
func Optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
