package grpcconn

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// UnprocessedError is the error of a call that the server surely hasn't worked on. It may be repeated
// on another connection.
type UnprocessedError struct{ status *status.Status }

// Error implements error.
func (u *UnprocessedError) Error() string { return u.status.Err().Error() }

// GRPCStatus is the status that callers see who don't repeat the call.
func (u *UnprocessedError) GRPCStatus() *status.Status { return u.status }

func unprocessed(text string) error {
	return &UnprocessedError{status.New(codes.Unavailable, "connection: "+text)}
}

// IsUnprocessed reports whether the server surely hasn't worked on a call that ended with err.
func IsUnprocessed(err error) bool {
	var u *UnprocessedError
	return errors.As(err, &u) || errors.Is(err, ErrClosed)
}

func internal(text string) error { return status.Error(codes.Internal, text) }

// broken returns the error of calls on a connection that ended.
func broken(reason error) error {
	return status.Error(codes.Unavailable, "connection: "+reason.Error())
}

// terminated returns the error of a call that the server ended by RST_STREAM (PROTOCOL-HTTP2.md,
// "Errors").
func terminated(code http2.ErrCode) error {
	to := codes.Internal
	switch code { //nolint:exhaustive // the others are errors of the protocol
	case http2.ErrCodeRefusedStream:
		return unprocessed("the server refused the stream")
	case http2.ErrCodeCancel:
		to = codes.Canceled
	case http2.ErrCodeEnhanceYourCalm:
		to = codes.ResourceExhausted
	case http2.ErrCodeInadequateSecurity:
		to = codes.PermissionDenied
	}
	return status.Errorf(to, "stream terminated by RST_STREAM with error code: %s", code)
}

// checkHeaders returns the error of a response that isn't gRPC's.
func checkHeaders(f *http2.MetaHeadersFrame) error {
	if code := f.PseudoValue("status"); code != "200" {
		return fromHTTP(code)
	}
	for _, h := range f.RegularFields() {
		switch {
		case h.Name == "content-type" && !isGRPC(h.Value):
			return status.Errorf(codes.Unknown, "unexpected HTTP status: the server's content type is %q instead of gRPC's", short(h.Value))
		case h.Name == "grpc-encoding" && h.Value != "identity":
			return internal("grpc: the server's answer is compressed with " + short(h.Value) + ", which no request allowed")
		}
	}
	return nil
}

// isGRPC reports whether a content type is that of gRPC with any encoding of messages.
func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(contentType), "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// outcome returns the status of the trailers: [io.EOF] for a successful call.
func outcome(f *http2.MetaHeadersFrame) error {
	var code, message string
	for _, h := range f.RegularFields() {
		switch h.Name {
		case "grpc-status":
			code = h.Value
		case "grpc-message":
			message = h.Value
		}
	}
	if code == "" {
		if status := f.PseudoValue("status"); status != "" && status != "200" {
			return fromHTTP(status)
		}
		return internal("server closed the stream without a status")
	}
	number, err := strconv.ParseUint(code, 10, 32)
	if err != nil {
		return internal(fmt.Sprintf("malformed grpc-status: %q", short(code)))
	}
	if number == uint64(codes.OK) {
		return io.EOF
	}
	return status.Error(codes.Code(number), unescape(message))
}

// fromHTTP returns the error of an HTTP status that isn't 200 (gRPC's http-grpc-status-mapping.md).
func fromHTTP(code string) error {
	to := codes.Unknown
	number, _ := strconv.Atoi(code)
	switch number {
	case http.StatusBadRequest:
		to = codes.Internal
	case http.StatusUnauthorized:
		to = codes.Unauthenticated
	case http.StatusForbidden:
		to = codes.PermissionDenied
	case http.StatusNotFound:
		to = codes.Unimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		to = codes.Unavailable
	}
	return status.Errorf(to, "unexpected HTTP status code received from server: %s (%s)", short(code), http.StatusText(number))
}

// unescape decodes the percent-encoding of a status message (PROTOCOL-HTTP2.md, "Responses").
// Wrong escapes stay as they are.
func unescape(message string) string {
	if !strings.Contains(message, "%") {
		return message
	}
	var b strings.Builder
	for i := 0; i < len(message); i++ {
		if message[i] == '%' && i+2 < len(message) {
			if value, err := strconv.ParseUint(message[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(value))
				i += 2
				continue
			}
		}
		b.WriteByte(message[i])
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// maxShown is the number of bytes of a server's header that errors show.
const maxShown = 128

func short(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxShown)], "") }
