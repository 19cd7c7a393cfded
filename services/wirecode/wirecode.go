// Package wirecode maps the errors of the core to the codes of each wire: gRPC, Connect
// and HTTP. [GRPC] is the only place that maps a code of the core; HTTP's status follows
// from gRPC's code. The functions of the surfaces have the exceptions: [OpenAI] suits its
// SDKs, [KServe] and [KServeHTTP] return the codes that Triton itself returned. Error
// messages belong to the packages that return them.
//
// Each surface determines how its errors look: the JSON, the details, and which parts are
// shown. The core and the engines determine which error a failure is.
package wirecode

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"

	"github.com/trident-inference/trident/services/inference"
)

// StatusClientClosed is the status that proxies log for a client that disconnected. No
// client reads it.
const StatusClientClosed = 499

// GRPC returns the gRPC code of a code of the core.
func GRPC(code inference.Code) codes.Code {
	switch code {
	case inference.CodeInvalid:
		return codes.InvalidArgument
	case inference.CodeNotFound:
		return codes.NotFound
	case inference.CodeUnsupported:
		return codes.Unimplemented
	case inference.CodeLimited:
		return codes.ResourceExhausted
	case inference.CodeOverloaded, inference.CodeUnavailable: // Triton's full queue is UNAVAILABLE, too
		return codes.Unavailable
	case inference.CodeDeadlineExceeded:
		return codes.DeadlineExceeded
	case inference.CodeCanceled:
		return codes.Canceled
	case inference.CodeUnauthenticated:
		return codes.Unauthenticated
	case inference.CodeForbidden:
		return codes.PermissionDenied
	case inference.CodeInternal:
	}
	return codes.Internal
}

// Connect returns the Connect code of a code of the core. Connect's codes are gRPC's.
func Connect(code inference.Code) connect.Code { return connect.Code(GRPC(code)) }

// HTTP returns the HTTP status of a code of the core.
func HTTP(code inference.Code) int { return status(GRPC(code)) }

// status returns the HTTP status of a gRPC code.
func status(code codes.Code) int {
	switch code { //nolint:exhaustive // the others are failures of this server
	case codes.InvalidArgument:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Canceled:
		return StatusClientClosed
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

// The types of error objects. OpenAI's API and Anthropic's share the first three. TypeServer is
// OpenAI's, and the others are Anthropic's.
const (
	TypeInvalid        = "invalid_request_error"
	TypeAuthentication = "authentication_error"
	TypeRateLimit      = "rate_limit_error"
	TypeServer         = "server_error"

	TypePermission = "permission_error"
	TypeNotFound   = "not_found_error"
	TypeTooLarge   = "request_too_large"
	TypeTimeout    = "timeout_error"
	TypeOverloaded = "overloaded_error"
	TypeInternal   = "api_error"
)

// OpenAI returns the HTTP status of an error on OpenAI's surface, and the type of its error object.
// OpenAI's SDKs retry a request that got 501, so that an unsupported feature is a bad request there.
func OpenAI(code inference.Code, reason inference.Reason) (httpStatus int, kind string) {
	httpStatus = ownStatus(reason)
	switch {
	case httpStatus != 0:
	case code == inference.CodeUnsupported:
		httpStatus = http.StatusBadRequest
	default:
		httpStatus = HTTP(code)
	}
	switch {
	case reason == inference.ReasonInvalidAuth: // as Triton's frontend
		return httpStatus, TypeAuthentication
	case httpStatus == http.StatusTooManyRequests:
		return httpStatus, TypeRateLimit
	case httpStatus == StatusClientClosed, httpStatus >= http.StatusInternalServerError:
		return httpStatus, TypeServer
	}
	return httpStatus, TypeInvalid
}

// Response returns the code of the error in a response object of OpenAI's Responses API. The API
// has fewer codes than the error object.
func Response(code inference.Code) string {
	switch code { //nolint:exhaustive // the others are failures of this server
	case inference.CodeInvalid, inference.CodeUnsupported, inference.CodeNotFound:
		return "invalid_prompt"
	case inference.CodeLimited:
		return inference.ReasonRateLimit.String()
	}
	return TypeServer
}

// StatusOverloaded is the status of Anthropic's API for a server that is overloaded or not ready.
const StatusOverloaded = 529

// Anthropic returns the HTTP status of an error in Anthropic's API, and the type of its error object.
func Anthropic(code inference.Code, reason inference.Reason) (httpStatus int, kind string) {
	switch own := ownStatus(reason); own {
	case 0:
	case http.StatusRequestEntityTooLarge:
		return own, TypeTooLarge
	default:
		return own, TypeInvalid
	}
	switch code {
	case inference.CodeInvalid, inference.CodeUnsupported:
		return http.StatusBadRequest, TypeInvalid
	case inference.CodeUnauthenticated:
		return http.StatusUnauthorized, TypeAuthentication
	case inference.CodeForbidden:
		return http.StatusForbidden, TypePermission
	case inference.CodeNotFound:
		return http.StatusNotFound, TypeNotFound
	case inference.CodeLimited:
		return http.StatusTooManyRequests, TypeRateLimit
	case inference.CodeOverloaded, inference.CodeUnavailable:
		return StatusOverloaded, TypeOverloaded
	case inference.CodeDeadlineExceeded:
		return http.StatusGatewayTimeout, TypeTimeout
	case inference.CodeCanceled:
		return StatusClientClosed, TypeInternal
	case inference.CodeInternal:
	}
	return http.StatusInternalServerError, TypeInternal
}

// The types of errors of text-embeddings-inference.
const (
	TEIBackend    = "Backend"
	TEIOverloaded = "Overloaded"
	TEIUnhealthy  = "Unhealthy"
	TEIValidation = "Validation"
)

// TEI returns the HTTP status of an error in the API of text-embeddings-inference, and its type.
func TEI(code inference.Code, reason inference.Reason) (httpStatus int, kind string) {
	httpStatus, _ = OpenAI(code, reason)
	switch code {
	case inference.CodeInvalid, inference.CodeUnsupported:
		if httpStatus == http.StatusBadRequest {
			httpStatus = http.StatusUnprocessableEntity
		}
		if reason == inference.ReasonContextLength {
			httpStatus = http.StatusRequestEntityTooLarge
		}
	case inference.CodeOverloaded, inference.CodeLimited:
		if ownStatus(reason) == 0 {
			return http.StatusTooManyRequests, TEIOverloaded
		}
	case inference.CodeUnavailable:
		return httpStatus, TEIUnhealthy
	case inference.CodeInternal, inference.CodeDeadlineExceeded:
		return http.StatusFailedDependency, TEIBackend
	case inference.CodeNotFound, inference.CodeCanceled, inference.CodeUnauthenticated, inference.CodeForbidden:
	}
	return httpStatus, TEIValidation
}

// KServe returns the gRPC code of an error in KServe's API. For an error of Triton it is the code
// that tritonserver returns, even if the core has a more specific one.
func KServe(e *inference.Error) codes.Code {
	switch e.Triton {
	case inference.TritonUnknown:
		return codes.Unknown
	case inference.TritonInternal:
		return codes.Internal
	case inference.TritonNotFound:
		return codes.NotFound
	case inference.TritonInvalidArg:
		return codes.InvalidArgument
	case inference.TritonUnavailable:
		return codes.Unavailable
	case inference.TritonUnsupported:
		return codes.Unimplemented
	case inference.TritonAlreadyExists:
		return codes.AlreadyExists
	case inference.TritonCancelled:
		return codes.Canceled
	case inference.TritonNone:
	}
	return GRPC(e.Code)
}

// KServeHTTP returns the HTTP status of an error in KServe's API: 400 for a canceled request and
// for Triton's codes UNKNOWN and ALREADY_EXISTS, as tritonserver's HTTP endpoint answers.
func KServeHTTP(e *inference.Error) int {
	switch code := KServe(e); code {
	case codes.Canceled, codes.Unknown, codes.AlreadyExists:
		return http.StatusBadRequest
	default:
		return status(code)
	}
}

// KServeText returns the message of an error in KServe's API: Triton's own message if there is one.
func KServeText(e *inference.Error) string { return cmp.Or(e.Text, e.Message) }

// ClientFault returns the core's code of an error that connect-go itself made. It reports
// whether the client caused the error, by disconnecting or by its request.
func ClientFault(code connect.Code) (inference.Code, bool) {
	switch code {
	case connect.CodeCanceled:
		return inference.CodeCanceled, true
	case connect.CodeInvalidArgument, connect.CodeResourceExhausted, connect.CodeUnimplemented:
		return inference.CodeInvalid, true
	default:
		return 0, false
	}
}

// RetryAfter returns a value of the HTTP header Retry-After: whole seconds, rounded up.
func RetryAfter(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }
