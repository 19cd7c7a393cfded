//go:build cgo && linux

package local

/*
#include "shim.h"
*/
import "C"

import (
	"errors"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

// Errors of in-process Triton that don't depend on the request.
var (
	errStopped = &inference.Error{
		Code:    inference.CodeUnavailable,
		Reason:  inference.ReasonShuttingDown,
		Message: "the inference server is shutting down",
	}
	errLoading = &inference.Error{
		Code:    inference.CodeUnavailable,
		Reason:  inference.ReasonModelNotReady,
		Message: "the models are being loaded",
	}
	errLoadTimeout = &inference.Error{
		Code:    inference.CodeUnavailable,
		Reason:  inference.ReasonModelNotReady,
		Message: "the model wasn't loaded or unloaded in time",
	}
	errOverflow = &inference.Error{
		Code:    inference.CodeLimited,
		Reason:  inference.ReasonRateLimit,
		Message: "the stream was closed: the client read its responses too slowly",
	}
)

// failure converts an error of the shim and frees it.
func failure(e C.tr_error) error {
	if e.text == nil {
		return nil
	}
	return triton.FailureOf(codeOf(e.code), takeText(e.text))
}

// codeOf returns the code for a TRITONSERVER_Error_Code.
func codeOf(code C.int) inference.TritonCode {
	switch code {
	case 0:
		return inference.TritonUnknown
	case 2:
		return inference.TritonNotFound
	case 3:
		return inference.TritonInvalidArg
	case 4:
		return inference.TritonUnavailable
	case 5:
		return inference.TritonUnsupported
	case 6:
		return inference.TritonAlreadyExists
	case 7:
		return inference.TritonCancelled
	default:
		return inference.TritonInternal
	}
}

// logged returns Triton's own message, with its paths, for an error that
// clients see without them.
func logged(err error) error {
	var e *inference.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err
	}
	return err
}
