package wirecode_test

import (
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/wirecode"
)

// TestCodes checks that GRPC, Connect, HTTP, OpenAI, KServe and KServeHTTP map each inference.Code
// to the documented code, status and error type.
func TestCodes(t *testing.T) {
	tests := []struct {
		code                     inference.Code
		grpc                     codes.Code
		http, openai, kserveHTTP int
		kind                     string
	}{
		{inference.CodeInternal, codes.Internal, 500, 500, 500, "server_error"},
		{inference.CodeInvalid, codes.InvalidArgument, 400, 400, 400, "invalid_request_error"},
		{inference.CodeNotFound, codes.NotFound, 404, 404, 404, "invalid_request_error"},
		{inference.CodeUnsupported, codes.Unimplemented, 501, 400, 501, "invalid_request_error"},
		{inference.CodeOverloaded, codes.Unavailable, 503, 503, 503, "server_error"},
		{inference.CodeLimited, codes.ResourceExhausted, 429, 429, 429, "rate_limit_error"},
		{inference.CodeUnavailable, codes.Unavailable, 503, 503, 503, "server_error"},
		{inference.CodeDeadlineExceeded, codes.DeadlineExceeded, 504, 504, 504, "server_error"},
		{inference.CodeCanceled, codes.Canceled, 499, 499, 400, "server_error"},
		{inference.CodeUnauthenticated, codes.Unauthenticated, 401, 401, 401, "invalid_request_error"},
		{inference.CodeForbidden, codes.PermissionDenied, 403, 403, 403, "invalid_request_error"},
		{inference.CodeForbidden + 1, codes.Internal, 500, 500, 500, "server_error"},
	}
	for i, test := range tests {
		if int(test.code) != i {
			t.Errorf("row %d has code %v: a code has no row", i, test.code)
		}
		e := &inference.Error{Code: test.code}
		status, kind := wirecode.OpenAI(test.code)
		if got := wirecode.GRPC(test.code); got != test.grpc || wirecode.Connect(test.code) != connect.Code(test.grpc) || wirecode.KServe(e) != test.grpc {
			t.Errorf("%v: gRPC %v, Connect %v, KServe %v, want %v", test.code, got, wirecode.Connect(test.code), wirecode.KServe(e), test.grpc)
		}
		if got := wirecode.HTTP(test.code); got != test.http || status != test.openai || wirecode.KServeHTTP(e) != test.kserveHTTP {
			t.Errorf("%v: HTTP %d, OpenAI %d, KServe %d, want %d, %d, %d", test.code, got, status, wirecode.KServeHTTP(e), test.http, test.openai, test.kserveHTTP)
		}
		if kind != test.kind {
			t.Errorf("%v: the type is %s, want %s", test.code, kind, test.kind)
		}
	}
}

// TestAnthropic checks the statuses and the types of errors in Anthropic's API.
func TestAnthropic(t *testing.T) {
	for code, want := range map[inference.Code]string{
		inference.CodeInternal:         "500 api_error",
		inference.CodeInvalid:          "400 invalid_request_error",
		inference.CodeNotFound:         "404 not_found_error",
		inference.CodeUnsupported:      "400 invalid_request_error",
		inference.CodeOverloaded:       "529 overloaded_error",
		inference.CodeLimited:          "429 rate_limit_error",
		inference.CodeUnavailable:      "529 overloaded_error",
		inference.CodeDeadlineExceeded: "504 timeout_error",
		inference.CodeCanceled:         "499 api_error",
		inference.CodeUnauthenticated:  "401 authentication_error",
		inference.CodeForbidden:        "403 permission_error",
		inference.CodeForbidden + 1:    "500 api_error",
	} {
		status, kind := wirecode.Anthropic(code)
		if got := fmt.Sprint(status, " ", kind); got != want {
			t.Errorf("%v: got %s, want %s", code, got, want)
		}
	}
}

// TestTritonCodes checks that KServe and KServeHTTP choose the gRPC code and the HTTP status of an
// error with a TritonCode by that code. The inference.Code of the error has no effect.
func TestTritonCodes(t *testing.T) {
	tests := []struct {
		triton inference.TritonCode
		grpc   codes.Code
		http   int
	}{
		{inference.TritonUnknown, codes.Unknown, 400},
		{inference.TritonInternal, codes.Internal, 500},
		{inference.TritonNotFound, codes.NotFound, 404},
		{inference.TritonInvalidArg, codes.InvalidArgument, 400},
		{inference.TritonUnavailable, codes.Unavailable, 503},
		{inference.TritonUnsupported, codes.Unimplemented, 501},
		{inference.TritonAlreadyExists, codes.AlreadyExists, 400},
		{inference.TritonCancelled, codes.Canceled, 400},
	}
	for _, test := range tests {
		e := &inference.Error{Code: inference.CodeForbidden, Triton: test.triton, Message: "ours"}
		if grpc, http := wirecode.KServe(e), wirecode.KServeHTTP(e); grpc != test.grpc || http != test.http {
			t.Errorf("Triton's code %d: %v and %d, want %v and %d", test.triton, grpc, http, test.grpc, test.http)
		}
	}
	if got := wirecode.KServeText(&inference.Error{Message: "ours"}) + wirecode.KServeText(&inference.Error{Message: "ours", Text: " and Triton's"}); got != "ours and Triton's" {
		t.Error(got)
	}
}

func TestRetryAfter(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Second: "1", time.Millisecond: "1", 1001 * time.Millisecond: "2", time.Minute: "60"} {
		if got := wirecode.RetryAfter(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
