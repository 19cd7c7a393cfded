package inference

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trident-inference/trident/services/budget"
)

// Code classifies an [Error]. Frontends map it to their wire's status.
type Code uint8

// The codes. Each names the party that can do something about it.
const (
	CodeInternal         Code = iota // a defect here or in Triton
	CodeInvalid                      // the request is wrong: change it
	CodeNotFound                     // no such model or version
	CodeUnsupported                  // the model or engine can't do that
	CodeOverloaded                   // too much at once, whoever asks: retry later
	CodeLimited                      // this client asks for too much: retry later
	CodeUnavailable                  // the engine or model isn't serving: retry later
	CodeDeadlineExceeded             // took longer than allowed
	CodeCanceled                     // the client left
	CodeUnauthenticated              // who asks isn't known: show a key
	CodeForbidden                    // who asks may not do that
)

// String gives the code's name for logs.
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

// Reasons are the machine-readable words that OpenAI clients find in an error's
// code. The empty reason leaves it null.
const (
	ReasonModelNotFound  = "model_not_found"
	ReasonContextLength  = "context_length_exceeded"
	ReasonUnsupported    = "unsupported_parameter"
	ReasonInvalidValue   = "invalid_value"
	ReasonModelNotReady  = "model_not_ready"
	ReasonModelLoaded    = "model_already_loaded"
	ReasonRateLimit      = "rate_limit_exceeded"
	ReasonOverloaded     = "server_is_overloaded"
	ReasonTimeout        = "timeout"
	ReasonShuttingDown   = "shutting_down"
	ReasonEngineGone     = "engine_unavailable"
	ReasonInactive       = "engine_inactive"
	ReasonNotImplemented = "not_implemented"
	ReasonInvalidKey     = "invalid_api_key"
	ReasonInvalidAuth    = "invalid_auth"
	ReasonForbidden      = "forbidden"
)

// Error is a failure that may be shown to the client. Message never holds an
// address, a path or a stack; what only the log may see is in Err.
type Error struct {
	Code    Code
	Reason  string // one of the Reason constants, or empty
	Param   string // the request field at fault, or empty
	Message string // a sentence for the client
	// RetryAfter suggests when to try again; 0 says nothing.
	RetryAfter time.Duration
	// Triton is the code of an error of Triton's.
	Triton TritonCode
	// Text is what Triton's own clients read of an error of Triton's, where it isn't
	// the Message: it names the request's id, as Triton does.
	Text string
	// Err is the cause, for the log.
	Err error
}

// Error gives the message and the cause: for logs, not for clients.
func (e *Error) Error() string {
	if e.Err == nil || e.Err.Error() == e.Message {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Invalid is a CodeInvalid error about one request field.
func Invalid(param, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Reason: ReasonInvalidValue, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Unsupported is a CodeInvalid error about a field that the model can't honour.
func Unsupported(param, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Reason: ReasonUnsupported, Param: param, Message: fmt.Sprintf(format, args...)}
}

// NoTask is the error about a model that doesn't do what it is asked for.
func NoTask(req *Request) *Error {
	what := "chat completions"
	if req.Task == TaskEmbed {
		what = "embeddings"
	}
	return Unsupported("model", "the model `%s` has no %s", req.Model, what)
}

// AsError finds the [Error] in err. What is none becomes a deadline, a
// cancellation, or an internal error whose text stays in the log.
func AsError(err error) *Error {
	var e *Error
	var over *budget.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &over):
		return Invalid(over.Field, "%s", over.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeDeadlineExceeded, Reason: ReasonTimeout, Message: "the request took longer than allowed", Err: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: CodeCanceled, Message: "the client closed the request", Err: err}
	}
	return &Error{Code: CodeInternal, Message: "internal error; the server's log has the details", Err: err}
}

// Cause returns the error of a request whose context may have ended: the cancellation by the
// client, the deadline and the shutdown win over what they broke.
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

// TritonCode is the code of an error in Triton's own API, for the frontends that
// speak Triton's protocol.
type TritonCode uint8

// The codes of TRITONSERVER_Error_Code. TritonNone stands for an error that isn't
// Triton's, or whose code got lost.
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
