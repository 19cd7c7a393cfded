package openai

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

// wireError is OpenAI's error object. SDKs choose their exception class by the
// status and show message, param and code; all four keys are always there.
type wireError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// httpError is an error of the HTTP layer itself, such as an unknown path.
type httpError struct {
	status  int
	code    string
	message string
}

func (e *httpError) Error() string { return e.message }

// describe turns any error into its status and its object. What isn't known is
// an internal error whose text stays in the log.
func describe(err error) (status int, object wireError, retryAfter time.Duration) {
	var tooLarge *http.MaxBytesError
	var plain *httpError
	var query *api.InvalidParamFormatError
	switch {
	case errors.As(err, &query):
		return http.StatusBadRequest, wireError{
			Message: query.ParamName + " has a value of a wrong type", Type: "invalid_request_error",
			Param: &query.ParamName, Code: new(inference.ReasonInvalidValue),
		}, 0
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, wireError{
			Message: fmt.Sprintf("the request body is larger than %d bytes, the most that this server takes (--http-max-input-size)", tooLarge.Limit),
			Type:    "invalid_request_error", Code: new("content_too_large"),
		}, 0
	case errors.As(err, &plain):
		return plain.status, wireError{Message: plain.message, Type: "invalid_request_error", Code: new(plain.code)}, 0
	}
	e := inference.AsError(err)
	status, kind := wirecode.OpenAI(e.Code)
	return status, wireError{Message: e.Message, Type: kind, Param: optional(e.Param), Code: optional(e.Reason)}, e.RetryAfter
}

// writeError answers a request that has had no answer yet.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	server.RecordOf(r.Context()).Error = err
	status, object, retryAfter := describe(err)
	h := w.Header()
	if retryAfter > 0 {
		h.Set("Retry-After", wirecode.RetryAfter(retryAfter))
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(errorBody(object)) //nolint:gosec // JSON, and a client that left needs no answer
}

// cut shortens what is the client's own text.
func (e wireError) cut() wireError {
	e.Message = budget.Cut(e.Message, budget.MessageBytes)
	if e.Param != nil {
		e.Param = new(budget.Cut(*e.Param, budget.NameBytes))
	}
	return e
}

func errorBody(object wireError) []byte {
	body, err := json.Marshal(struct {
		Error wireError `json:"error"`
	}{object.cut()})
	if err != nil { // strings and nothing else: can't fail
		return []byte(`{"error":{"message":"internal error","type":"server_error","param":null,"code":null}}`)
	}
	return body
}

// optional is nil for the empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
