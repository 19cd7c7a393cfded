package server

import (
	"bytes"
	"errors"
	"net/http"
	"os"

	"github.com/trident-inference/trident/services/inference"
)

// maxPrealloc is the maximum buffer, in bytes, that is allocated for a Content-Length.
const maxPrealloc = 1 << 20

// ReadBody reads the body of a request whose size and time the server limits. Errors are a
// [*TooLargeError] or an [*inference.Error].
func ReadBody(r *http.Request) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, unread(inference.ReasonBodyEncoding, "compressed request bodies are not supported: send the body without Content-Encoding")
	}
	var body bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= maxPrealloc {
		body.Grow(int(n) + bytes.MinRead)
	}
	_, err := body.ReadFrom(r.Body)
	var tooLarge *http.MaxBytesError
	_, refused := errors.AsType[*inference.Error](err)
	switch {
	case err == nil:
		return body.Bytes(), nil
	case refused || errors.As(err, &tooLarge):
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, unread(inference.ReasonBodyTimeout, "the request body timed out: the client stopped sending it")
	}
	return nil, unread(inference.ReasonBodyIncomplete, "the request body is incomplete: the connection ended before its end")
}

// unread returns the error of a body that can't be read.
func unread(reason inference.Reason, message string) error {
	return &inference.Error{Code: inference.CodeInvalid, Reason: reason, Message: message}
}
