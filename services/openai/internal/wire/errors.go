// Package wire writes what the answers of several operations of OpenAI's API share: the
// error object, server-sent events, JSON strings, usage and log probabilities. What one
// operation alone writes stands beside that operation.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/wirecode"
)

// Error is OpenAI's error object. SDKs choose their exception class by the
// status and show message, param and code; all four keys are always there.
type Error struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// StatusError is an error of the HTTP layer itself, such as an unknown path.
type StatusError struct {
	Status  int
	Code    string
	Message string
}

func (e *StatusError) Error() string { return e.Message }

// Describe turns any error into its status and its object. What isn't known is
// an internal error whose text stays in the log.
func Describe(err error) (status int, object Error, retryAfter time.Duration) {
	var tooLarge *http.MaxBytesError
	var plain *StatusError
	var query *api.InvalidParamFormatError
	switch {
	case errors.As(err, &query):
		return http.StatusBadRequest, Error{
			Message: query.ParamName + " has a value of a wrong type", Type: "invalid_request_error",
			Param: &query.ParamName, Code: new(inference.ReasonInvalidValue),
		}, 0
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, Error{
			Message: fmt.Sprintf("the request body is larger than %d bytes, the most that this server takes (--http-max-input-size)", tooLarge.Limit),
			Type:    "invalid_request_error", Code: new("content_too_large"),
		}, 0
	case errors.As(err, &plain):
		return plain.Status, Error{Message: plain.Message, Type: "invalid_request_error", Code: new(plain.Code)}, 0
	}
	e := inference.AsError(err)
	status, kind := wirecode.OpenAI(e.Code)
	return status, Error{Message: e.Message, Type: kind, Param: Optional(e.Param), Code: Optional(e.Reason)}, e.RetryAfter
}

// WriteError answers a request that has had no answer yet.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	server.RecordOf(r.Context()).Error = err
	status, object, retryAfter := Describe(err)
	h := w.Header()
	if retryAfter > 0 {
		h.Set("Retry-After", wirecode.RetryAfter(retryAfter))
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(ErrorBody(object)) // a client that disconnected needs no answer
}

// Cut shortens what is the client's own text.
func (e Error) Cut() Error {
	e.Message = budget.Cut(e.Message, budget.MessageBytes)
	if e.Param != nil {
		e.Param = new(budget.Cut(*e.Param, budget.NameBytes))
	}
	return e
}

// ErrorBody is the body of an answer that failed, or the data of such an event.
func ErrorBody(object Error) []byte {
	body, err := json.Marshal(struct {
		Error Error `json:"error"`
	}{object.Cut()})
	if err != nil { // strings and nothing else: can't fail
		return []byte(`{"error":{"message":"internal error","type":"server_error","param":null,"code":null}}`)
	}
	return body
}

// Optional is nil for the empty string.
func Optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
