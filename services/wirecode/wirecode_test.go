package wirecode_test

import (
	"fmt"
	"slices"
	"strings"
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
		status, kind := wirecode.OpenAI(test.code, inference.ReasonNone)
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
		status, kind := wirecode.Anthropic(code, inference.ReasonNone)
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

// TestReasons checks the statuses and the types of errors whose reason determines them.
func TestReasons(t *testing.T) {
	for reason, want := range map[inference.Reason]string{
		inference.ReasonMethod:         "405 invalid_request_error, 405 invalid_request_error, 405 Validation",
		inference.ReasonBodyTimeout:    "408 invalid_request_error, 408 invalid_request_error, 408 Validation",
		inference.ReasonBodyTooLarge:   "413 invalid_request_error, 413 request_too_large, 413 Validation",
		inference.ReasonBodyEncoding:   "415 invalid_request_error, 415 invalid_request_error, 415 Validation",
		inference.ReasonHost:           "421 invalid_request_error, 421 invalid_request_error, 421 Validation",
		inference.ReasonHeaders:        "431 invalid_request_error, 431 invalid_request_error, 431 Validation",
		inference.ReasonInvalidAuth:    "401 authentication_error, 401 authentication_error, 401 Validation",
		inference.ReasonInvalidKey:     "401 invalid_request_error, 401 authentication_error, 401 Validation",
		inference.ReasonContextLength:  "400 invalid_request_error, 400 invalid_request_error, 413 Validation",
		inference.ReasonUnsupported:    "400 invalid_request_error, 400 invalid_request_error, 422 Validation",
		inference.ReasonNotImplemented: "400 invalid_request_error, 400 invalid_request_error, 422 Validation",
		inference.ReasonOverloaded:     "503 server_error, 529 overloaded_error, 429 Overloaded",
		inference.ReasonRateLimit:      "429 rate_limit_error, 429 rate_limit_error, 429 Overloaded",
		inference.ReasonEngineGone:     "503 server_error, 529 overloaded_error, 503 Unhealthy",
		inference.ReasonTimeout:        "504 server_error, 504 timeout_error, 424 Backend",
		inference.ReasonForbidden:      "403 invalid_request_error, 403 permission_error, 403 Validation",
		inference.ReasonUnknownPath:    "404 invalid_request_error, 404 not_found_error, 404 Validation",
	} {
		i := slices.IndexFunc(wirecode.Table(), func(row wirecode.Row) bool { return row.Reason == reason })
		if i < 0 {
			t.Errorf("%s isn't in the table", reason)
			continue
		}
		code := wirecode.Table()[i].Code
		status, kind := wirecode.OpenAI(code, reason)
		status2, kind2 := wirecode.Anthropic(code, reason)
		status3, kind3 := wirecode.TEI(code, reason)
		if got := fmt.Sprint(status, " ", kind, ", ", status2, " ", kind2, ", ", status3, " ", kind3); got != want {
			t.Errorf("%s: got %s, want %s", reason, got, want)
		}
	}
}

// TestResponseCodes checks the codes of errors in response objects.
func TestResponseCodes(t *testing.T) {
	for code, want := range map[inference.Code]string{
		inference.CodeInvalid: "invalid_prompt", inference.CodeNotFound: "invalid_prompt", inference.CodeUnsupported: "invalid_prompt",
		inference.CodeLimited: "rate_limit_exceeded", inference.CodeOverloaded: "server_error", inference.CodeInternal: "server_error",
	} {
		if got := wirecode.Response(code); got != want {
			t.Errorf("%v: got %s, want %s", code, got, want)
		}
	}
}

// TestTable checks that the table has each reason, in the order of the statuses, and no row twice.
func TestTable(t *testing.T) {
	rows, reasons, last := map[[2]uint8]bool{}, map[inference.Reason]bool{}, 0
	for _, row := range wirecode.Table() {
		status, _ := wirecode.OpenAI(row.Code, row.Reason)
		key := [2]uint8{uint8(row.Reason), uint8(row.Code)}
		if status < last || rows[key] || !strings.HasSuffix(row.When, ".") || row.Remedy == "" {
			t.Errorf("%d %s, after %d: %+v", status, row.Reason, last, row)
		}
		rows[key], reasons[row.Reason], last = true, true, status
	}
	for reason := inference.ReasonNone + 1; reason.String() != ""; reason++ {
		if !reasons[reason] {
			t.Errorf("the table lacks %s", reason)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Second: "1", time.Millisecond: "1", 1001 * time.Millisecond: "2", time.Minute: "60"} {
		if got := wirecode.RetryAfter(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
