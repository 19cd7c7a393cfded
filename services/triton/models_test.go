package triton

import (
	"context"
	"reflect"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

func TestFromIndex(t *testing.T) {
	rows := []*indexRow{
		{Name: "b", Version: "9", State: "READY"},
		{Name: "b", Version: "10", State: "READY"},
		{Name: "b", Version: "11", State: "UNAVAILABLE", Reason: "broken"},
		{Name: "c", Version: "2", State: "UNAVAILABLE", Reason: "unloaded"},
		{Name: "c", Version: "3", State: "LOADING"},
		{Name: "a"},
		{Name: "d", Version: "1", State: "UNAVAILABLE", Reason: "Internal: can't find /models/d/1/model.py"},
	}
	want := []inference.Model{
		{Name: "a"},
		{Name: "b", Version: "10", Versions: []string{"10", "9", "11"}, State: inference.ModelReady},
		{Name: "c", Version: "3", Versions: []string{"3", "2"}, State: inference.ModelLoading},
		{Name: "d", Version: "1", Versions: []string{"1"}, State: inference.ModelUnavailable, Reason: "Internal: can't find (path)"},
	}
	if got := FromIndex(rows); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// partialServer is a server with the models a, b and c. The call for b's configuration
// fails.
type partialServer struct {
	kserve.UnimplementedGRPCInferenceServiceServer
	failure error
}

func (partialServer) RepositoryIndex(context.Context, *kserve.RepositoryIndexRequest) (*kserve.RepositoryIndexResponse, error) {
	return &kserve.RepositoryIndexResponse{Models: []*indexRow{
		{Name: "a", Version: "1", State: "READY"},
		{Name: "b", Version: "1", State: "READY"},
		{Name: "c", Version: "1", State: "READY"},
	}}, nil
}

func (s partialServer) ModelConfig(_ context.Context, req *kserve.ModelConfigRequest) (*kserve.ModelConfigResponse, error) {
	if req.GetName() == "b" {
		return nil, s.failure
	}
	return &kserve.ModelConfigResponse{Config: &kserve.ModelConfig{Name: req.GetName()}}, nil
}

// TestModelWithoutConfig checks that Engine.Models lists all models if tritonserver can't return
// the configuration of one. A failure of the whole server is returned as an error.
func TestModelWithoutConfig(t *testing.T) {
	tests := []struct {
		name    string
		failure error
		reason  string // reason in the model's state; empty for none
		code    inference.Code
		engine  inference.Reason // reason of Models' error
	}{
		{name: "internal", failure: status.Error(codes.Internal, "can't read /models/b/config.pbtxt"), reason: "can't read (path)"},
		{name: "invalid", failure: status.Error(codes.InvalidArgument, "no version"), reason: "no version"},
		{name: "unloaded", failure: status.Error(codes.NotFound, "Request for unknown model: 'b' has no available versions"), reason: "Request for unknown model: 'b' has no available versions"},
		{name: "too large", failure: status.Error(codes.ResourceExhausted, "grpc: received message larger than max (9 vs. 4)"), reason: "the inference server's answer couldn't be read"},
		{name: "restricted", failure: status.Error(codes.Unauthenticated, "key"), reason: "the inference server refused the call"},
		{name: "connection lost", failure: status.Error(codes.Unavailable, "reset"), code: inference.CodeUnavailable, engine: inference.ReasonEngineGone},
		{name: "server exiting", failure: status.Error(codes.Unavailable, "Server exiting"), code: inference.CodeUnavailable, engine: inference.ReasonShuttingDown},
		{name: "too busy", failure: status.Error(codes.ResourceExhausted, "slower"), code: inference.CodeOverloaded, engine: inference.ReasonOverloaded},
		{name: "too slow", failure: status.Error(codes.DeadlineExceeded, "late"), code: inference.CodeDeadlineExceeded, engine: inference.ReasonTimeout},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) })
			server := grpc.NewServer(grpc.WaitForHandlers(true))
			kserve.RegisterGRPCInferenceServiceServer(server, partialServer{failure: test.failure})
			models, err := connect(t, server, unchanged).Models(t.Context())
			if test.engine != inference.ReasonNone {
				if e := inference.AsError(err); err == nil || e.Code != test.code || e.Reason != test.engine {
					t.Errorf("got %+v, %v", models, err)
				}
				return
			}
			if err != nil || len(models) != 3 {
				t.Fatalf("got %+v, %v", models, err)
			}
			if b := models[1]; b.State != inference.ModelUnavailable || b.Reason != test.reason || b.Config != nil {
				t.Errorf("b is %s (%s)", b.State, b.Reason)
			}
			for _, m := range []inference.Model{models[0], models[2]} {
				if m.State != inference.ModelReady || m.Config.GetName() != m.Name {
					t.Errorf("%s is %s (%s)", m.Name, m.State, m.Reason)
				}
			}
		})
	}
}

func (s partialServer) ModelReady(context.Context, *kserve.ModelReadyRequest) (*kserve.ModelReadyResponse, error) {
	return nil, s.failure
}

// TestModelReadyFails checks that a model is not ready if tritonserver returns an error because it
// doesn't serve the model, as 2.71 does. Other errors are returned.
func TestModelReadyFails(t *testing.T) {
	for name, test := range map[string]struct {
		failure error
		refused bool
	}{
		"unknown":  {status.Error(codes.NotFound, "Request for unknown model: 'b' is not found"), false},
		"unloaded": {status.Error(codes.NotFound, "Request for unknown model: 'b' has no available versions"), false},
		"internal": {status.Error(codes.Internal, "out of memory"), true},
		"version":  {status.Error(codes.InvalidArgument, "failed to get model version from specified version string 'x'"), true},
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) })
			server := grpc.NewServer(grpc.WaitForHandlers(true))
			kserve.RegisterGRPCInferenceServiceServer(server, partialServer{failure: test.failure})
			ready, err := connect(t, server, unchanged).ModelReady(t.Context(), &kserve.ModelReadyRequest{Name: "b"})
			if (err != nil) != test.refused || ready.GetReady() {
				t.Errorf("got %v, %v", ready, err)
			}
		})
	}
}
