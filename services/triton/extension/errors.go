package extension

import (
	"fmt"

	"github.com/trident-inference/trident/services/inference"
)

func invalid(format string, args ...any) error {
	return failed(inference.CodeInvalid, format, args...)
}

func failed(code inference.Code, format string, args ...any) error {
	return &inference.Error{Code: code, Triton: tritonCode(code), Message: fmt.Sprintf(format, args...)}
}

// tritonCode returns the code that tritonserver's frontends use for an error of
// the core's code.
func tritonCode(code inference.Code) inference.TritonCode {
	switch code {
	case inference.CodeInvalid:
		return inference.TritonInvalidArg
	case inference.CodeNotFound:
		return inference.TritonNotFound
	case inference.CodeUnsupported:
		return inference.TritonUnsupported
	case inference.CodeUnavailable, inference.CodeOverloaded:
		return inference.TritonUnavailable
	case inference.CodeInternal, inference.CodeLimited, inference.CodeDeadlineExceeded, inference.CodeCanceled,
		inference.CodeUnauthenticated, inference.CodeForbidden:
	}
	return inference.TritonInternal
}

func unsupported(message string) error {
	return &inference.Error{
		Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Triton: inference.TritonUnsupported, Message: message,
	}
}
