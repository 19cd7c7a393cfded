package triton

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// running returns a started engine whose server doesn't exist.
func running(t *testing.T) *Engine {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///nowhere", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	e := &Engine{config: Default()}
	e.conn.Store(&link{ClientConn: conn})
	return e
}

func TestFailure(t *testing.T) {
	const (
		away       = "the inference server can't be reached"
		unreadable = "the inference server's answer couldn't be read"
		tooLarge   = "the request is too large: the inference server takes at most 2 GiB"
	)
	tests := []struct {
		name    string
		err     error
		code    inference.Code
		reason  inference.Reason
		message string
	}{
		{"invalid", status.Error(codes.InvalidArgument, "too long"), inference.CodeInvalid, inference.ReasonNone, "too long"},
		{"exists", status.Error(codes.AlreadyExists, "twice"), inference.CodeInvalid, inference.ReasonNone, "twice"},
		{"not found", status.Error(codes.NotFound, "no such thing"), inference.CodeNotFound, inference.ReasonModelNotFound, "no such thing"},
		{"unsupported", status.Error(codes.Unimplemented, "not here"), inference.CodeUnsupported, inference.ReasonNotImplemented, "not here"},
		{"internal", status.Error(codes.Internal, "failed to load 'x', at /opt/models/x/1/model.py"), inference.CodeInternal, inference.ReasonNone, "failed to load 'x', at (path)"},
		{"unknown", status.Error(codes.Unknown, "oh"), inference.CodeInternal, inference.ReasonNone, "oh"},
		{"deadline of the server", status.Error(codes.DeadlineExceeded, "stream terminated by RST_STREAM with error code: CANCEL"), inference.CodeDeadlineExceeded, inference.ReasonTimeout, "the request exceeded its time limit"},
		{"cancelled by the server", status.Error(codes.Canceled, "CANCELLED"), inference.CodeUnavailable, inference.ReasonEngineGone, away},
		{"restricted", status.Error(codes.Unauthenticated, "key"), inference.CodeInternal, inference.ReasonNone, "the inference server refused the call"},
		{"statistics of an unknown model", status.Error(codes.InvalidArgument, "requested model 'x' is not available"), inference.CodeNotFound, inference.ReasonModelNotFound, "requested model 'x' is not available"},
		{
			"draining", status.Error(codes.Unavailable, "GRPC server is shutting down and has stopped accepting new requests."), inference.CodeUnavailable, inference.ReasonShuttingDown,
			"GRPC server is shutting down and has stopped accepting new requests.",
		},
		{"client shared memory is off", status.Error(codes.Unimplemented, "Client shared memory is disabled."), inference.CodeUnsupported, inference.ReasonNotImplemented, "Client shared memory is disabled."},
		{"exiting", status.Error(codes.Unavailable, "Server exiting"), inference.CodeUnavailable, inference.ReasonShuttingDown, "Server exiting"},
		{"queue full", status.Error(codes.Unavailable, "[request id: 7] Exceeds maximum queue size"), inference.CodeOverloaded, inference.ReasonOverloaded, "Exceeds maximum queue size"},
		{"no control", status.Error(codes.Unavailable, notExplicit), inference.CodeUnsupported, inference.ReasonNotImplemented, notExplicit + ": start the inference server with --model-control-mode=explicit"},
		{"refused", status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.7:8001: connect: connection refused"`), inference.CodeUnavailable, inference.ReasonEngineGone, away},
		{"reset", status.Error(codes.Unavailable, "error reading from server: read tcp 10.0.0.7:8001: connection reset by peer"), inference.CodeUnavailable, inference.ReasonEngineGone, away},
		{"reset stream", status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: PROTOCOL_ERROR"), inference.CodeInternal, inference.ReasonNone, unreadable},
		{"not gRPC", status.Error(codes.Unknown, "unexpected HTTP status code received from server: 200 (OK)"), inference.CodeInternal, inference.ReasonNone, unreadable},
		{"too large", status.Error(codes.ResourceExhausted, "grpc: received message larger than max (9 vs. 4)"), inference.CodeInternal, inference.ReasonNone, unreadable},
		{"request larger than gRPC's limit", status.Error(codes.ResourceExhausted, "trying to send message larger than max (2147483648 vs. 2147483647)"), inference.CodeInvalid, inference.ReasonInvalidValue, tooLarge},
		{"request larger than a frame", status.Error(codes.ResourceExhausted, "grpc: message too large (4294967296 bytes)"), inference.CodeInvalid, inference.ReasonInvalidValue, tooLarge},
		{"request not encoded", status.Error(codes.Internal, "grpc: error while marshaling: proto: failed"), inference.CodeInternal, inference.ReasonNone, "the request couldn't be encoded for the inference server"},
		{"too much", status.Error(codes.ResourceExhausted, "slower"), inference.CodeOverloaded, inference.ReasonOverloaded, "slower"},
		{"without a text", status.Error(codes.Internal, ""), inference.CodeInternal, inference.ReasonNone, "the inference server returned an error without a message"},
		{"malformed", status.Error(codes.Internal, "grpc: failed to unmarshal the received message: EOF"), inference.CodeInternal, inference.ReasonNone, unreadable},
	}
	e := running(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := e.failure(t.Context(), test.err)
			if got.Code != test.code || got.Reason != test.reason || got.Message != test.message || !errors.Is(got, test.err) {
				t.Errorf("got %s (%q) %q", got.Code, got.Reason, got.Message)
			}
			checkRetry(t, got)
		})
	}
}

// checkRetry checks that an error that invites a retry has a retry time, and
// that no other error has one.
func checkRetry(t *testing.T, e *inference.Error) {
	t.Helper()
	want := time.Duration(0)
	if e.Code == inference.CodeOverloaded || e.Code == inference.CodeUnavailable {
		want = time.Second
	}
	if e.RetryAfter != want {
		t.Errorf("%s: retry after %s, want %s", e.Message, e.RetryAfter, want)
	}
}

func TestRetry(t *testing.T) {
	for _, e := range []*inference.Error{errStopped, errTimeout, errMixed, errNotReady, Inactive(time.Minute), unreachable(errCut)} {
		checkRetry(t, e)
		if e.RetryAfter == 0 {
			t.Errorf("%q suggests nothing", e.Message)
		}
	}
}

// TestUnencodable checks that the engine refuses a request with a string that isn't valid UTF-8 as
// the client's error. Protobuf strings must be UTF-8.
func TestUnencodable(t *testing.T) {
	engine := serve(t, unchanged, func(grpc.ServerStream) error { return errors.New("the request came") })
	failed := make(map[string]error)
	for _, err := range engine.Stream(t.Context(), &kserve.ModelInferRequest{Id: "id\xff"}) {
		failed["stream"] = err
	}
	_, failed["call"] = engine.ModelConfig(t.Context(), &kserve.ModelConfigRequest{Name: "name\xff"})
	for name, err := range failed {
		e := inference.AsError(err)
		if e.Code != inference.CodeInvalid || e.Reason != inference.ReasonInvalidValue ||
			e.Message != "a name, an id or another text of the request isn't valid UTF-8" {
			t.Errorf("%s: got %s (%s) %v", name, e.Code, e.Reason, e)
		}
	}
}

func TestFailureOfEndedContext(t *testing.T) {
	wire := status.Error(codes.Canceled, "context canceled")
	tests := []struct {
		name  string
		cause error
		code  inference.Code
	}{
		{"cancelled", nil, inference.CodeCanceled},
		{"our own cause", Inactive(1), inference.CodeUnavailable},
		{"our own cause, wrapped", fmt.Errorf("pool: %w", &inference.Error{Code: inference.CodeOverloaded}), inference.CodeOverloaded},
		{"another cause", errors.New("socket closed"), inference.CodeCanceled},
		{"deadline", context.DeadlineExceeded, inference.CodeDeadlineExceeded},
	}
	e := running(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(test.cause)
			if got := e.failure(ctx, wire); got.Code != test.code || got.Err == nil {
				t.Errorf("got %s %q, cause %v", got.Code, got.Message, got.Err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	tests := []struct {
		text    string
		code    inference.Code
		reason  inference.Reason
		message string
	}{
		{"anything at all", inference.CodeInternal, inference.ReasonNone, "anything at all"},
		{"Request for unknown model: 'm' is not found", inference.CodeNotFound, inference.ReasonModelNotFound, "Request for unknown model: 'm' is not found"},
		{"Request for unknown model: 'm' has no available versions", inference.CodeUnavailable, inference.ReasonModelNotReady, "Request for unknown model: 'm' has no available versions"},
		{"[request id: a-1] inference request batch-size must be <= 8 for 'm'", inference.CodeInvalid, inference.ReasonNone, "inference request batch-size must be <= 8 for 'm'"},
		{
			"[request id: 1] expected 2 inputs but got 1 inputs for model 'm'. Got input(s) ['A'], but missing required input(s) ['B'].", inference.CodeInvalid, inference.ReasonNone,
			"expected 2 inputs but got 1 inputs for model 'm'. Got input(s) ['A'], but missing required input(s) ['B'].",
		},
		{"Stub process 'm_0_0' is not healthy.", inference.CodeUnavailable, inference.ReasonModelNotReady, "Stub process 'm_0_0' is not healthy."},
		{"Request timeout expired", inference.CodeDeadlineExceeded, inference.ReasonTimeout, "Request timeout expired"},
		{
			"Failed to process the request(s) for model 'm_0_0', message: ValueError: no\n\nAt:\n  /models/m/1/model.py(8): execute\n", inference.CodeInternal, inference.ReasonNone,
			"Failed to process the request(s) for model 'm_0_0', message: ValueError: no",
		},
		{"[request id: Server exiting] no", inference.CodeInternal, inference.ReasonNone, "no"},
		{"Exceeds maximum queue size", inference.CodeOverloaded, inference.ReasonOverloaded, "Exceeds maximum queue size"},
		{
			"GRPC server is shutting down and has stopped accepting new requests.", inference.CodeUnavailable, inference.ReasonShuttingDown,
			"GRPC server is shutting down and has stopped accepting new requests.",
		},
		{"[request id: 1] output 'OUT' already exists in request", inference.CodeInvalid, inference.ReasonNone, "output 'OUT' already exists in request"},
		{
			"[request id: 1] sequence batching control 'CORRID' data-type is 'UINT64', but model 'm' expects 'BYTES'", inference.CodeInvalid, inference.ReasonNone,
			"sequence batching control 'CORRID' data-type is 'UINT64', but model 'm' expects 'BYTES'",
		},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			got := Failure(inference.CodeInternal, test.text)
			if got.Code != test.code || got.Reason != test.reason || got.Message != test.message {
				t.Errorf("got %s (%q) %q", got.Code, got.Reason, got.Message)
			}
			checkRetry(t, got)
		})
	}
}

func TestNotRunning(t *testing.T) {
	config := Default()
	config.Endpoint = "localhost"
	e, err := New(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		if got := inference.AsError(e.Ready(t.Context())); got.Code != inference.CodeUnavailable || got.Reason != inference.ReasonShuttingDown {
			t.Errorf("%s: got %v", when, got)
		}
	}
	check("before the start")
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err == nil {
		t.Error("it started twice")
	}
	for range 2 {
		if err := e.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		check("after the stop")
	}
}
