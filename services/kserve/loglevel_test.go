package kserve_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve"
)

// TestCallLevels checks that the log lines of failed calls have a level by the cause, as those of REST, and that
// only the stack of a panic isn't cut.
func TestCallLevels(t *testing.T) {
	for name, test := range map[string]struct {
		code codes.Code
		err  error
		want slog.Level
	}{
		"served":                {codes.OK, nil, slog.LevelDebug},
		"invalid":               {codes.InvalidArgument, &inference.Error{Code: inference.CodeInvalid}, slog.LevelInfo},
		"no key":                {codes.Unauthenticated, &inference.Error{Code: inference.CodeUnauthenticated}, slog.LevelInfo},
		"too many failures":     {codes.ResourceExhausted, &inference.Error{Code: inference.CodeLimited, Reason: inference.ReasonAuthFailures}, slog.LevelDebug},
		"the client's limits":   {codes.ResourceExhausted, &inference.Error{Code: inference.CodeLimited}, slog.LevelInfo},
		"overloaded":            {codes.Unavailable, &inference.Error{Code: inference.CodeOverloaded}, slog.LevelWarn},
		"stopping":              {codes.Unavailable, &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonShuttingDown}, slog.LevelWarn},
		"the model isn't ready": {codes.Unavailable, &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady}, slog.LevelWarn},
		"Triton is gone":        {codes.Unavailable, &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone}, slog.LevelError},
		"a defect":              {codes.Internal, errors.New("oops"), slog.LevelError},
	} {
		if got := kserve.LevelOf(test.code, test.err); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	long := errors.New(strings.Repeat("x", 2000))
	if got := kserve.ErrorText(long, false); len(got) > 520 || !strings.HasSuffix(got, "…") {
		t.Errorf("a long error has %d bytes in the log", len(got))
	}
	if got := kserve.ErrorText(long, true); len(got) != 2000 {
		t.Errorf("the stack of a panic has %d bytes in the log", len(got))
	}
}
