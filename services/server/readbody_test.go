package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/wirecode"
)

// TestReadBody checks the bytes of a body, and the error of each body that can't be read.
func TestReadBody(t *testing.T) {
	full := &inference.Error{Code: inference.CodeOverloaded, Message: "full"}
	failing := func(err error) io.Reader { return io.MultiReader(strings.NewReader("{"), iotest.ErrReader(err)) }
	tests := []struct {
		name, encoding string
		body           io.Reader
		want           string // the body, or the status and the code of the error
	}{
		{"whole", "", strings.NewReader(`{"a":1}`), `{"a":1}`},
		{"identity", "identity", strings.NewReader("x"), "x"},
		{"compressed", "gzip", strings.NewReader("x"), "415 unsupported_content_encoding"},
		{"cut", "", failing(io.ErrUnexpectedEOF), "400 incomplete_body"},
		{"late", "", failing(os.ErrDeadlineExceeded), "408 request_timeout"},
		{"too large", "", failing(&http.MaxBytesError{Limit: 1}), "http: request body too large"},
		{"no room", "", failing(full), "full"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", test.body)
			r.Header.Set("Content-Encoding", test.encoding)
			body, err := ReadBody(r)
			got := string(body)
			if e, ok := errors.AsType[*inference.Error](err); ok && e != full {
				status, _ := wirecode.OpenAI(e.Code, e.Reason)
				got = fmt.Sprint(status, " ", e.Reason)
			} else if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
