package triton

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/services/inference"
)

// errStopped is the answer before Start and after Stop.
var errStopped = &inference.Error{
	Code:    inference.CodeUnavailable,
	Reason:  inference.ReasonShuttingDown,
	Message: "the connection to the inference server is closed",
}

// errTimeout ends a call that took longer than the configured limit.
var errTimeout = &inference.Error{
	Code:    inference.CodeUnavailable,
	Reason:  inference.ReasonEngineGone,
	Message: "the inference server didn't answer in time",
}

// inactive ends a stream that was silent for too long.
func inactive(limit time.Duration) *inference.Error {
	return &inference.Error{
		Code:    inference.CodeUnavailable,
		Reason:  inference.ReasonInactive,
		Message: fmt.Sprintf("the model sent nothing for %s", limit),
	}
}

// unreachable is a server that can't be reached, or was lost.
func unreachable(cause error) *inference.Error {
	return &inference.Error{
		Code:       inference.CodeUnavailable,
		Reason:     inference.ReasonEngineGone,
		Message:    "the inference server can't be reached",
		RetryAfter: time.Second,
		Err:        cause,
	}
}

// failure is why a call ended. The end of the caller's context wins over what
// the wire says of it; what grpc-go itself says may hold addresses and stays in
// the log.
func (e *Engine) failure(ctx context.Context, err error) *inference.Error {
	if ctx.Err() != nil {
		return ended(ctx, err)
	}
	if e.conn.Load() == nil {
		return withCause(errStopped, err)
	}
	answer := status.Convert(err)
	message := clean(answer.Message())
	code, reason := fromStatus(answer.Code())
	if known, ok := recognise(message); ok {
		return &inference.Error{Code: known.code, Reason: known.reason, Message: message, Err: err}
	}
	switch {
	case code == inference.CodeDeadlineExceeded:
		// The server sees the deadline too, and may be the first.
		return inference.AsError(fmt.Errorf("%w: %w", context.DeadlineExceeded, err))
	case code == inference.CodeUnavailable:
		return unreachable(err)
	case local(message):
		return &inference.Error{Code: inference.CodeInternal, Message: "the inference server's answer couldn't be read", Err: err}
	case answer.Code() == codes.Unauthenticated || answer.Code() == codes.PermissionDenied:
		return &inference.Error{Code: inference.CodeInternal, Message: "the inference server refused the call", Err: err}
	}
	return &inference.Error{Code: code, Reason: reason, Message: message, Err: err}
}

// ended is the error of a context that has ended: its cause when that is an
// error for clients, or else a deadline or a cancellation.
func ended(ctx context.Context, err error) *inference.Error {
	cause := context.Cause(ctx)
	var known *inference.Error
	switch {
	case errors.As(cause, &known):
		return withCause(known, err)
	case errors.Is(cause, ctx.Err()):
		return inference.AsError(cause)
	}
	return inference.AsError(fmt.Errorf("%w: %w", ctx.Err(), cause))
}

// withCause gives a copy of the error its cause for the log, if it has none.
func withCause(e *inference.Error, cause error) *inference.Error {
	if e.Err != nil {
		return e
	}
	c := *e
	c.Err = cause
	return &c
}

// refused is the error of a message with an error text, which is all that
// tritonserver sends in a stream: the text tells the kind of the error.
func refused(text string) *inference.Error {
	known, _ := recognise(text)
	return &inference.Error{Code: known.code, Reason: known.reason, Message: clean(text), Err: errors.New(text)}
}

// fromStatus is tritonserver's mapping from its error codes to gRPC's, backwards.
func fromStatus(code codes.Code) (inference.Code, string) {
	switch code {
	case codes.InvalidArgument, codes.AlreadyExists, codes.OutOfRange, codes.FailedPrecondition:
		return inference.CodeInvalid, ""
	case codes.NotFound:
		return inference.CodeNotFound, inference.ReasonModelNotFound
	case codes.Unimplemented:
		return inference.CodeUnsupported, inference.ReasonNotImplemented
	case codes.ResourceExhausted:
		return inference.CodeOverloaded, inference.ReasonRateLimit
	case codes.DeadlineExceeded:
		return inference.CodeDeadlineExceeded, inference.ReasonTimeout
	case codes.Unavailable, codes.Aborted, codes.Canceled:
		// Canceled while the caller's context lives: the server gave up.
		return inference.CodeUnavailable, inference.ReasonEngineGone
	default:
		return inference.CodeInternal, ""
	}
}

type kind struct {
	code   inference.Code
	reason string
}

// recognise finds the kind of an error by tritonserver's own texts. They matter
// where the code is missing (in a stream) or says less than the text.
func recognise(text string) (kind, bool) {
	texts := [...]struct {
		part string
		kind kind
	}{
		{"has no available versions", kind{inference.CodeUnavailable, inference.ReasonModelNotReady}},
		{"Request for unknown model", kind{inference.CodeNotFound, inference.ReasonModelNotFound}},
		{"requested model '", kind{inference.CodeNotFound, inference.ReasonModelNotFound}},
		{"failed to get model version from", kind{code: inference.CodeInvalid}},
		{"unexpected inference input", kind{code: inference.CodeInvalid}},
		{"unexpected inference output", kind{code: inference.CodeInvalid}},
		{"unexpected shape for input", kind{code: inference.CodeInvalid}},
		{"inference input '", kind{code: inference.CodeInvalid}},
		{"unable to find data for input tensor", kind{code: inference.CodeInvalid}},
		{"inference request batch-size must be", kind{code: inference.CodeInvalid}},
		{". Got input(s) [", kind{code: inference.CodeInvalid}},
		{"Exceeds maximum queue size", kind{inference.CodeOverloaded, inference.ReasonRateLimit}},
		{"Request timeout expired", kind{inference.CodeDeadlineExceeded, inference.ReasonTimeout}},
		{"Server exiting", kind{inference.CodeUnavailable, inference.ReasonShuttingDown}},
		{"Server is stopping", kind{inference.CodeUnavailable, inference.ReasonShuttingDown}},
		{"is not healthy", kind{inference.CodeUnavailable, inference.ReasonModelNotReady}},
		{"explicit model load / unload is not allowed", kind{inference.CodeUnsupported, inference.ReasonNotImplemented}},
	}
	for _, t := range texts {
		if strings.Contains(text, t.part) {
			return t.kind, true
		}
	}
	return kind{}, false
}

// local tells the texts of grpc-go from those of the server.
func local(text string) bool {
	for _, prefix := range [...]string{
		"grpc: ", "transport: ", "rpc error: ", "stream terminated by RST_STREAM", "server closed the stream",
		"unexpected HTTP status", "malformed header", "malformed grpc-", "error reading from server", "unknown service",
	} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

var (
	requestID    = regexp.MustCompile(`^\[request id: [^]]*\] `)
	absolutePath = regexp.MustCompile(`(^|[\s'"(=:,])(?:/[\w.+@%-]+){2,}/?`)
)

// clean takes out of tritonserver's text what clients mustn't see: the Python
// stack behind a model's message, and paths; and the request's id, which they
// know.
func clean(text string) string {
	text, _, _ = strings.Cut(text, "\n\nAt:\n")
	text = requestID.ReplaceAllString(text, "")
	text = absolutePath.ReplaceAllString(text, "${1}(path)")
	return strings.TrimSpace(text)
}
