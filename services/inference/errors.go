package inference

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trident-inference/trident/services/budget"
)

// Code classifies an [Error]. Frontends map it to the status of their protocol.
type Code uint8

// The codes of an [Error]. Each code implies the party that can act on the error.
const (
	CodeInternal         Code = iota // a defect in Trident or Triton
	CodeInvalid                      // the request is invalid: the client must change it
	CodeNotFound                     // the model or version doesn't exist
	CodeUnsupported                  // the model or engine doesn't support the request
	CodeOverloaded                   // the server is overloaded: retry later
	CodeLimited                      // the client exceeded its limit: retry later
	CodeUnavailable                  // the engine or model isn't serving: retry later
	CodeDeadlineExceeded             // the request exceeded its time limit
	CodeCanceled                     // the client canceled the request or disconnected
	CodeUnauthenticated              // the client isn't authenticated: send a key
	CodeForbidden                    // the client isn't allowed to send this request
)

// String returns the code's name for logs.
func (c Code) String() string {
	names := [...]string{
		"internal", "invalid", "not_found", "unsupported",
		"overloaded", "limited", "unavailable", "deadline_exceeded", "canceled",
		"unauthenticated", "forbidden",
	}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("code(%d)", uint8(c))
}

// Error is a failure that may be shown to the client. Message never contains an address, a path
// or a stack trace. Err has the details, for the log only.
type Error struct {
	Code    Code
	Reason  Reason // ReasonNone if the error has none
	Param   string // the request field at fault, or empty
	Message string // a sentence for the client
	// RetryAfter is the suggested delay before a retry. 0 means no suggestion.
	RetryAfter time.Duration
	// Triton is the error code that Triton returned, or TritonNone if the failure isn't Triton's.
	Triton TritonCode
	// Text is the message for Triton's own clients if it differs from Message: it contains the
	// request's id, as Triton's errors do.
	Text string
	// Err is the internal cause of the failure. It is logged and never sent to the client.
	Err error
}

// Error returns the message and the cause. It is for logs, not for clients.
func (e *Error) Error() string {
	if e.Err == nil || e.Err.Error() == e.Message {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Invalid returns a CodeInvalid error about one request field.
func Invalid(param, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Reason: ReasonInvalidValue, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Unsupported returns a CodeInvalid error about a field that the model can't honour.
func Unsupported(param, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Reason: ReasonUnsupported, Param: param, Message: fmt.Sprintf(format, args...)}
}

// NoTask returns the error for a model that doesn't support the task of a request.
func NoTask(model string, task Task) *Error {
	return Unsupported("model", "the model `%s` doesn't support %s", model, task.what())
}

// AsError returns the [Error] in err. An expired deadline and a cancellation get their own codes.
// Any other error becomes an internal error, whose cause is for the log only.
func AsError(err error) *Error {
	var e *Error
	var over *budget.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &over):
		return Invalid(over.Field, "%s", over.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeDeadlineExceeded, Reason: ReasonTimeout, Message: "the request exceeded its time limit", Err: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: CodeCanceled, Message: "the client canceled the request or disconnected", Err: err}
	}
	return &Error{Code: CodeInternal, Message: "internal error; the server's log has the details", Err: err}
}

// Cause returns the error of a request whose context may have ended. A cancellation by the
// client, a deadline or the shutdown takes precedence over the errors that it caused.
func Cause(ctx context.Context, err error) *Error {
	if ctx.Err() != nil {
		var stopping *Error
		if c := context.Cause(ctx); errors.As(c, &stopping) {
			return stopping
		} else if c != nil {
			return AsError(c)
		}
	}
	return AsError(err)
}

// TritonCode is an error code of Triton's own API. Frontends that implement Triton's protocol use
// it.
type TritonCode uint8

// The codes of TRITONSERVER_Error_Code. TritonNone is for an error that isn't from Triton, or
// whose code was lost.
const (
	TritonNone TritonCode = iota
	TritonUnknown
	TritonInternal
	TritonNotFound
	TritonInvalidArg
	TritonUnavailable
	TritonUnsupported
	TritonAlreadyExists
	TritonCancelled
)
