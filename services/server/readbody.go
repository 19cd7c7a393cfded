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

// BodyError is the error of a body that can't be read, for frontends to show in their form.
type BodyError struct {
	Status  int    // HTTP status of the response
	Code    string // error code in OpenAI's form
	Message string
}

func (e *BodyError) Error() string { return e.Message }

// ReadBody reads the body of a request whose size and time the server limits. Errors are a [*BodyError],
// a [*TooLargeError], or an [*inference.Error] if the server has no room for the body.
func ReadBody(r *http.Request) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, &BodyError{http.StatusUnsupportedMediaType, "unsupported_content_encoding", "compressed request bodies are not supported: send the body without Content-Encoding"}
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
		return nil, &BodyError{http.StatusRequestTimeout, "request_timeout", "the request body timed out: the client stopped sending it"}
	}
	return nil, &BodyError{http.StatusBadRequest, "incomplete_body", "the request body is incomplete: the connection ended before its end"}
}
