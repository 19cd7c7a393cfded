package kserve

import (
	"cmp"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/trident-inference/trident/services/inference"
)

// codeOf is the code of an error in gRPC and Connect. Triton's own errors have
// tritonserver's codes, also where Trident knows more of them.
func codeOf(e *inference.Error) codes.Code {
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
	switch e.Code {
	case inference.CodeInvalid:
		return codes.InvalidArgument
	case inference.CodeNotFound:
		return codes.NotFound
	case inference.CodeUnsupported:
		return codes.Unimplemented
	case inference.CodeLimited:
		return codes.ResourceExhausted
	case inference.CodeOverloaded, inference.CodeUnavailable: // a queue of Triton's that is full is UNAVAILABLE, too
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

// retryInfo tells gRPC's clients when to come again; nil says nothing, as Triton's own
// errors do.
func retryInfo(e *inference.Error) *errdetails.RetryInfo {
	if e.RetryAfter <= 0 || e.Triton != inference.TritonNone {
		return nil
	}
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)}
}

// textOf is what the client reads.
func textOf(e *inference.Error) string { return cmp.Or(e.Text, e.Message) }
