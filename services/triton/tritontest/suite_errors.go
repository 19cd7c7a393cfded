//nolint:thelper // these are the tests themselves, not their helpers
package tritontest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

func testRefused(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	tests := []struct {
		name    string
		request *kserve.ModelInferRequest
		code    inference.Code
		reason  inference.Reason
		message string
	}{
		{
			"unknown model", request(t, "nobody"), inference.CodeNotFound, inference.ReasonModelNotFound,
			"Request for unknown model: 'nobody' is not found",
		},
		{
			"unknown version", version("7", request(t, "echo", texts("TEXT", "x"))), inference.CodeNotFound, inference.ReasonModelNotFound,
			"Request for unknown model: 'echo' version 7 is not found",
		},
		{
			"undeclared input", request(t, "echo", texts("TEXT", "x"), texts("MORE", "y")), inference.CodeInvalid, inference.ReasonNone,
			"unexpected inference input 'MORE' for model 'echo'",
		},
		{
			"missing input", request(t, "echo"), inference.CodeInvalid, inference.ReasonNone,
			"missing required input(s) ['TEXT']",
		},
		{
			"wrong datatype", request(t, "echo", int32s("TEXT", 1)), inference.CodeInvalid, inference.ReasonNone,
			"inference input 'TEXT' data-type is 'INT32', but model 'echo' expects 'BYTES'",
		},
		{
			"wrong shape", request(t, "stream", int32s("COUNT", 1, 2)), inference.CodeInvalid, inference.ReasonNone,
			"unexpected shape for input 'COUNT' for model 'stream'. Expected [1], got [2].",
		},
		{
			"wrong rank", request(t, "echo", tensor{"TEXT", "BYTES", []int64{1, 1}, texts("", "x").raw}), inference.CodeInvalid, inference.ReasonNone,
			"unexpected shape for input 'TEXT' for model 'echo'. Expected [-1], got [1,1].",
		},
		{
			"contents too short", request(t, "echo", tensor{"TEXT", "BYTES", []int64{2}, texts("", "x").raw}), inference.CodeInvalid, inference.ReasonNone,
			"expected 2 string elements for inference input 'TEXT' for model 'echo', got 1",
		},
		{
			"no contents", &kserve.ModelInferRequest{ModelName: "stream", Inputs: numbered(t, 1).GetInputs()}, inference.CodeInvalid, inference.ReasonNone,
			"unable to find data for input tensor 'COUNT' for model 'stream' in request.",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			all, err := collect(t.Context(), engine, test.request)
			wantError(t, err, test.code, test.reason)
			e := asError(t, err)
			if !strings.HasSuffix(strings.TrimSuffix(e.Message, ". Please provide all required input(s)."), test.message) {
				t.Errorf("the message is %q, want %q", e.Message, test.message)
			}
			if strings.Contains(e.Message, "request id") || len(all) != 0 {
				t.Errorf("the message is %q, after %d responses", e.Message, len(all))
			}
		})
	}
	if err := checkNumbered(mustCollect(t, engine, numbered(t, 2)), 2, 0); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func version(version string, req *kserve.ModelInferRequest) *kserve.ModelInferRequest {
	req.ModelVersion = version
	return req
}

// testModelFails checks the message of a model's error. It doesn't check the
// code, because not every protocol of tritonserver transmits it.
func testModelFails(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	for _, code := range []string{"INTERNAL", "INVALID_ARG", "UNAVAILABLE"} {
		all, err := collect(t.Context(), engine, request(t, "echo", texts("TEXT", "x"), texts("FAIL", code+": too much to ask")))
		var e *inference.Error
		if !errors.As(err, &e) || e.Message != "too much to ask" || len(all) != 0 {
			t.Errorf("%s: got %v after %d responses", code, err, len(all))
		}
	}
}

func testFailsInside(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	for range 50 { // repeated, because a server may crash only sometimes
		all, err := collect(t.Context(), engine, numbered(t, 5, int32s("FAIL_AT", 2)))
		wantError(t, err, inference.CodeInternal, inference.ReasonNone)
		if e := asError(t, err); e.Message != "response 2 failed, as asked" {
			t.Fatalf("the message is %q", e.Message)
		}
		if len(all) != 2 {
			t.Fatalf("got %d responses before the error, want 2", len(all))
		}
	}
	if err := checkNumbered(mustCollect(t, engine, numbered(t, 2)), 2, 0); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// pace is the time between a request's responses, in milliseconds, in tests that
// cancel the request. tritonserver 2.51 may crash if a cancellation meets a
// response.
const pace = 50

// endless returns a request for more responses than any test waits for.
func endless(tb testing.TB, delay int32) *kserve.ModelInferRequest {
	return numbered(tb, 1_000_000, int32s("DELAY", delay), texts("KEY", tb.Name()))
}

func testCancel(t *testing.T, s Subject) {
	tests := []struct {
		name  string
		delay int32
		after int // number of responses before the cancellation
	}{
		{"while responses come", pace, 3},
		{"while the stream is silent", 60_000, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			engine := open(t, s, longLimits())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var watch sync.WaitGroup
			defer watch.Wait()
			if test.after == 0 {
				watch.Go(func() {
					awaitState(t, engine, t.Name(), "running", 5*time.Second)
					cancel()
				})
			}
			got := 0
			var failed error
			for _, failed = range engine.Stream(ctx, endless(t, test.delay)) {
				got++
				if got == test.after {
					cancel()
				}
			}
			wantError(t, failed, inference.CodeCanceled, inference.ReasonNone)
			awaitState(t, engine, t.Name(), "cancelled", cancelTime)
			if got != test.after+1 {
				t.Errorf("got %d responses after the cancellation", got-test.after-1)
			}
		})
	}
}

func testCause(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	want := &inference.Error{Code: inference.CodeOverloaded, Reason: inference.ReasonRateLimit, Message: "too many of them"}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var failed error
	for _, failed = range engine.Stream(ctx, endless(t, pace)) {
		cancel(want)
	}
	wantError(t, failed, want.Code, want.Reason)
	if e := asError(t, failed); e.Message != want.Message {
		t.Errorf("the message is %q, want %q", e.Message, want.Message)
	}
	awaitState(t, engine, t.Name(), "cancelled", cancelTime)
}

func testDeadline(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := collect(ctx, engine, endless(t, pace))
	wantError(t, err, inference.CodeDeadlineExceeded, inference.ReasonTimeout)
	awaitState(t, engine, t.Name(), "cancelled", cancelTime)
}

func testEnded(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	all, err := collect(ctx, engine, endless(t, pace))
	wantError(t, err, inference.CodeCanceled, inference.ReasonNone)
	if len(all) != 0 {
		t.Errorf("got %d responses", len(all))
	}
}

func testLeave(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	for response, err := range engine.Stream(t.Context(), endless(t, pace)) {
		if err != nil {
			t.Fatal(err)
		}
		if err := checkNumber(copyOf(response), 0, 0); err != nil {
			t.Error(err)
		}
		break
	}
	awaitState(t, engine, t.Name(), "cancelled", cancelTime)
}

func testStop(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	const streams = 8
	running := make(chan struct{}, streams)
	ended := make(chan error, streams)
	for range streams {
		go func() {
			var failed error
			first := true
			for _, failed = range engine.Stream(t.Context(), endless(t, pace)) {
				if first {
					running <- struct{}{}
					first = false
				}
			}
			ended <- failed
		}()
	}
	for range streams {
		<-running
	}
	if err := engine.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
	for range streams {
		wantError(t, <-ended, inference.CodeUnavailable, inference.ReasonShuttingDown)
	}
	_, err := collect(t.Context(), engine, numbered(t, 1))
	wantError(t, err, inference.CodeUnavailable, inference.ReasonShuttingDown)
}

func testServerDies(t *testing.T, s Subject) {
	if s.Server == nil {
		t.Skip("there is no server to kill")
	}
	engine := open(t, s, longLimits())
	var failed error
	got := 0
	for _, failed = range engine.Stream(t.Context(), endless(t, pace)) {
		got++
		if got == 3 {
			s.Server.Kill()
		}
	}
	wantError(t, failed, inference.CodeUnavailable, inference.ReasonEngineGone)
	if e := asError(t, failed); e.RetryAfter <= 0 || e.Err == nil {
		t.Errorf("retry after %s, cause %v", e.RetryAfter, e.Err)
	}
	for range 2 {
		start := time.Now()
		ready := make(chan error, 1)
		go func() { ready <- engine.Ready(t.Context()) }()
		_, err := collect(t.Context(), engine, numbered(t, 1))
		wantError(t, err, inference.CodeUnavailable, inference.ReasonEngineGone)
		wantError(t, <-ready, inference.CodeUnavailable, inference.ReasonEngineGone)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("without a server a request and a health check failed after %s", took)
		}
	}
	if err := s.Server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := checkNumbered(mustCollect(t, engine, numbered(t, 3)), 3, 0); err != nil {
		t.Errorf("after the restart: %v", err)
	}
	if err := engine.Ready(t.Context()); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

func testServerHangs(t *testing.T, s Subject) {
	if s.Server == nil {
		t.Skip("there is no server to pause")
	}
	limits := longLimits()
	limits.Inactivity, limits.Call = 300*time.Millisecond, time.Second
	engine := open(t, s, limits)
	if err := engine.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The python backend of tritonserver 2.51 releases a request after its last response. If it is
	// frozen in between, it crashes afterwards or never answers the next request.
	<-time.After(settleTime)
	s.Server.Pause()
	defer s.Server.Resume()
	start := time.Now()
	_, err := collect(t.Context(), engine, numbered(t, 1))
	wantError(t, err, inference.CodeUnavailable, inference.ReasonEngineGone)
	if e := asError(t, err); e.Message != "the inference server doesn't answer health checks" && (!s.Several || e.Message != "the inference server can't be reached") {
		t.Errorf("the message is %q", e.Message)
	}
	if took := time.Since(start); took < limits.Inactivity || took > limits.Inactivity+limits.Call+5*time.Second { // beside other work
		t.Errorf("failed after %s, want %s and up to %s", took, limits.Inactivity, limits.Call)
	}
	s.Server.Resume()
	if err := checkNumbered(mustCollect(t, engine, numbered(t, 3)), 3, 0); err != nil {
		t.Errorf("after the pause: %v", err)
	}
}
