package triton

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/services/inference"
)

var (
	// errStopped is returned before Start and after Stop.
	errStopped = kind{inference.CodeUnavailable, inference.ReasonShuttingDown}.because("the connection to the inference server is closed", nil)
	// errTimeout is the cause of a call that took longer than the configured
	// limit.
	errTimeout = kind{inference.CodeUnavailable, inference.ReasonEngineGone}.because("the inference server didn't answer in time", nil)
	// errHealthCheckFailed ends a request that waits for its first response if the server fails
	// a health check too.
	errHealthCheckFailed = kind{inference.CodeUnavailable, inference.ReasonEngineGone}.because("the inference server doesn't answer health checks", nil)
	// errMixed ends a request whose stream received another request's response.
	errMixed = kind{inference.CodeUnavailable, inference.ReasonEngineGone}.because("the inference server sent another request's response", nil)
	// errNotReady is returned when the server responds that it isn't ready.
	errNotReady = kind{inference.CodeUnavailable, inference.ReasonModelNotReady}.because("the inference server isn't ready yet", nil)
)

// Inactive returns the error of a stream that got no response for too long.
func Inactive(limit time.Duration) *inference.Error {
	return kind{inference.CodeUnavailable, inference.ReasonInactive}.because(fmt.Sprintf("the model sent nothing for %s", limit), nil)
}

// isInactive reports whether the error is from [Inactive].
func isInactive(err error) bool {
	known, ok := errors.AsType[*inference.Error](err)
	return ok && known.Reason == inference.ReasonInactive
}

// unreachable returns the error for a server that can't be reached, or whose
// connection broke.
func unreachable(cause error) *inference.Error {
	if strings.Contains(cause.Error(), "produced zero addresses") { // grpc-go drops the resolver's own error
		cause = fmt.Errorf("the host isn't known in DNS: %w", cause)
	}
	return kind{inference.CodeUnavailable, inference.ReasonEngineGone}.because("the inference server can't be reached", cause)
}

type kind struct {
	code   inference.Code
	reason inference.Reason
}

// retryAfter is the time after which clients may retry a request that failed
// because of overload or unavailability.
const retryAfter = time.Second

// because returns an error with the code and the reason of k. The message is for clients, the
// cause for the log only.
func (k kind) because(message string, cause error) *inference.Error {
	e := &inference.Error{Code: k.code, Reason: k.reason, Message: message, Err: cause}
	if e.Message == "" {
		e.Message = "the inference server returned an error without a message"
	}
	if k.code == inference.CodeOverloaded || k.code == inference.CodeUnavailable {
		e.RetryAfter = retryAfter
	}
	return e
}

// failure returns the error of a call that ended. If the caller's context has
// ended, its error takes precedence over the connection's. grpc-go's own
// messages may contain addresses and appear in the log only.
func (e *Engine) failure(ctx context.Context, err error) *inference.Error {
	if ctx.Err() != nil {
		return Ended(ctx, err)
	}
	if e.conn.Load() == nil {
		return withCause(errStopped, err)
	}
	answer := status.Convert(err)
	if unsent := unsendable(answer.Message(), err); unsent != nil {
		return unsent
	}
	message := clean(answer.Message())
	if known, ok := recognise(message); ok {
		return withTritonError(known.because(advised(message), err), answer)
	}
	found := fromStatus(answer.Code())
	switch {
	case found.code == inference.CodeDeadlineExceeded:
		// The server knows the deadline too, and may detect it first.
		return inference.AsError(fmt.Errorf("%w: %w", context.DeadlineExceeded, err))
	case found.code == inference.CodeUnavailable && (local(answer.Message()) || ofConnection(answer.Message())):
		return unreachable(err)
	case found.code == inference.CodeUnavailable:
		return withTritonError(unreachable(err), answer)
	case local(answer.Message()):
		return kind{}.because("the inference server's answer couldn't be read", err)
	case answer.Code() == codes.Unauthenticated || answer.Code() == codes.PermissionDenied:
		return kind{}.because("the inference server refused the call", err)
	}
	return withTritonError(found.because(message, err), answer)
}

// notExplicit is tritonserver's message if its control mode doesn't allow loads and unloads.
const notExplicit = "explicit model load / unload is not allowed if polling is enabled"

// advised adds the operator's remedy to the message that it fits.
func advised(message string) string {
	if message == notExplicit {
		return message + ": start the inference server with " + explicitMode
	}
	return message
}

// withTritonError adds tritonserver's own code and message, for tritonserver's own
// clients.
func withTritonError(e *inference.Error, answer *status.Status) *inference.Error {
	e.Triton, e.Text = tritonCode(answer.Code()), forTritonsClients(answer.Message())
	return e
}

// ofConnection reports whether an error is about a connection that can't be
// established or broke.
func ofConnection(text string) bool {
	return strings.Contains(text, "connection") || strings.Contains(text, "transport") || strings.Contains(text, "resolver")
}

// unsendable returns the error of a request that wasn't sent, and nil for any
// other failure. grpc-go identifies these failures only by their messages.
func unsendable(text string, err error) *inference.Error {
	encoding := strings.HasPrefix(text, "grpc: error while marshaling")
	wrong := kind{inference.CodeInvalid, inference.ReasonInvalidValue}
	switch {
	case encoding && strings.Contains(text, "invalid UTF-8"):
		return wrong.because("a name, an id or another text of the request isn't valid UTF-8", err)
	case encoding:
		return kind{}.because("the request couldn't be encoded for the inference server", err)
	case strings.HasPrefix(text, "trying to send message larger than max"), strings.HasPrefix(text, "grpc: message too large"):
		return wrong.because("the request is too large: the inference server takes at most 2 GiB", err)
	}
	return nil
}

// Ended returns the error of a context that has ended. This is the context's
// cause if that is an error for clients, or else a deadline or a cancellation.
// err is for the log.
func Ended(ctx context.Context, err error) *inference.Error {
	return ended(ctx.Err(), context.Cause(ctx), err)
}

// EndedBy returns the error of work that was cancelled with a cause, as [Ended]
// does.
func EndedBy(cause error) *inference.Error {
	return ended(context.Canceled, cause, context.Canceled)
}

func ended(how, cause, err error) *inference.Error {
	var known *inference.Error
	switch {
	case errors.As(cause, &known):
		return withCause(known, err)
	case errors.Is(cause, how):
		return inference.AsError(cause)
	}
	return inference.AsError(fmt.Errorf("%w: %w", how, cause))
}

// withCause returns a copy of the error with a cause for the log, or e itself
// if it has a cause.
func withCause(e *inference.Error, cause error) *inference.Error {
	if e.Err != nil {
		return e
	}
	c := *e
	c.Err = cause
	return &c
}

// Failure returns the error for an error message of Triton. Known messages
// determine the kind of the error. For others the code applies.
func Failure(code inference.Code, text string) *inference.Error {
	message := clean(text)
	known, ok := recognise(message)
	if isEngineDeath(text) {
		known, ok, message = kind{inference.CodeUnavailable, inference.ReasonModelNotReady}, true, deadText
	}
	if !ok {
		known.code = code
	}
	e := known.because(message, errors.New(text))
	e.Text = forTritonsClients(text)
	return e
}

// FailureOf returns the error for Triton's message and its code.
func FailureOf(code inference.TritonCode, text string) *inference.Error {
	e := Failure(meaning(code), text)
	e.Triton = code
	return e
}

// meaning maps an error code of Triton to Trident's.
func meaning(code inference.TritonCode) inference.Code {
	switch code {
	case inference.TritonNotFound:
		return inference.CodeNotFound
	case inference.TritonInvalidArg, inference.TritonAlreadyExists:
		return inference.CodeInvalid
	case inference.TritonUnavailable, inference.TritonCancelled: // the request was cancelled while the caller's context lives: the model gave up
		return inference.CodeUnavailable
	case inference.TritonUnsupported:
		return inference.CodeUnsupported
	case inference.TritonNone, inference.TritonUnknown, inference.TritonInternal:
	}
	return inference.CodeInternal
}

// tritonCode returns Triton's code for a gRPC status of tritonserver.
func tritonCode(code codes.Code) inference.TritonCode {
	switch code {
	case codes.Unknown:
		return inference.TritonUnknown
	case codes.Internal:
		return inference.TritonInternal
	case codes.NotFound:
		return inference.TritonNotFound
	case codes.InvalidArgument:
		return inference.TritonInvalidArg
	case codes.Unavailable:
		return inference.TritonUnavailable
	case codes.Unimplemented:
		return inference.TritonUnsupported
	case codes.AlreadyExists:
		return inference.TritonAlreadyExists
	case codes.Canceled:
		return inference.TritonCancelled
	default: // a status that tritonserver doesn't send
		return inference.TritonNone
	}
}

// fromStatus reverses tritonserver's mapping from its error codes to gRPC's.
func fromStatus(code codes.Code) kind {
	switch code {
	case codes.InvalidArgument, codes.AlreadyExists, codes.OutOfRange, codes.FailedPrecondition:
		return kind{code: inference.CodeInvalid}
	case codes.NotFound:
		return kind{inference.CodeNotFound, inference.ReasonModelNotFound}
	case codes.Unimplemented:
		return kind{inference.CodeUnsupported, inference.ReasonNotImplemented}
	case codes.ResourceExhausted:
		return kind{inference.CodeOverloaded, inference.ReasonOverloaded}
	case codes.DeadlineExceeded:
		return kind{inference.CodeDeadlineExceeded, inference.ReasonTimeout}
	case codes.Unavailable, codes.Aborted, codes.Canceled:
		// Canceled while the caller's context lives: the server gave up.
		return kind{inference.CodeUnavailable, inference.ReasonEngineGone}
	default:
		return kind{code: inference.CodeInternal}
	}
}

// recognise finds the kind of an error by tritonserver's messages. The message
// is needed in streams, where the code is missing, and where it is more
// specific than the code.
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
		{"input byte size mismatch for input", kind{code: inference.CodeInvalid}},
		{"inference input '", kind{code: inference.CodeInvalid}},
		{"unable to find data for input tensor", kind{code: inference.CodeInvalid}},
		{"inference request batch-size must be", kind{code: inference.CodeInvalid}},
		{"already exists in request", kind{code: inference.CodeInvalid}},   // of outputs since 2.69
		{"sequence batching control '", kind{code: inference.CodeInvalid}}, // since 2.54
		{". Got input(s) [", kind{code: inference.CodeInvalid}},
		{"Unable to find shared memory region", kind{code: inference.CodeNotFound}},
		{"Unable to find system shared memory region", kind{code: inference.CodeNotFound}},
		{"Unable to find cuda shared memory region", kind{code: inference.CodeNotFound}},
		{"The region named '", kind{code: inference.CodeNotFound}},
		{"for shared memory region: '", kind{code: inference.CodeInvalid}},
		{"'shared_memory_", kind{code: inference.CodeInvalid}},
		{"'classification' parameter", kind{code: inference.CodeInvalid}},
		{"class result not available for output", kind{code: inference.CodeInvalid}},
		{"unexpected 'content' provided", kind{code: inference.CodeInvalid}},
		{"Exceeds maximum queue size", kind{inference.CodeOverloaded, inference.ReasonOverloaded}},
		{"Request timeout expired", kind{inference.CodeDeadlineExceeded, inference.ReasonTimeout}},
		{"Server exiting", kind{inference.CodeUnavailable, inference.ReasonShuttingDown}},
		{"Server is stopping", kind{inference.CodeUnavailable, inference.ReasonShuttingDown}},
		{"GRPC server is shutting down", kind{inference.CodeUnavailable, inference.ReasonShuttingDown}}, // while it drains, since 2.58
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

// local reports whether the message is from grpc-go, not from the server.
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
