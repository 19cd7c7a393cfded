package extension

import (
	"fmt"

	"github.com/trident-inference/trident/services/inference"
)

func invalid(format string, args ...any) error {
	return failed(inference.CodeInvalid, format, args...)
}

func failed(code inference.Code, format string, args ...any) error {
	return &inference.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func unsupported(message string) error {
	return &inference.Error{Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Message: message}
}
