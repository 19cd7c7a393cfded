package probe_test

import (
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/trident-inference/trident/test/cost/probe"
)

// TestCalled checks that the CPU time of the first call of a model is recorded, and that of no
// other call.
func TestCalled(t *testing.T) {
	server := grpc.NewServer()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	call := func(method string) {
		if err := conn.Invoke(t.Context(), method, &emptypb.Empty{}, &emptypb.Empty{}); err == nil {
			t.Errorf("%s has an answer", method)
		}
	}
	probe.HandleCommand(probe.Watch)
	call("/inference.GRPCInferenceService/ServerLive")
	if called := probe.HandleCommand(probe.Called); called != 0 {
		t.Errorf("a call of no model: %d", called)
	}
	before := int64(probe.Used())
	call("/inference.GRPCInferenceService/ModelInfer")
	first := probe.HandleCommand(probe.Called)
	if first < before || first > int64(probe.Used()) {
		t.Errorf("called at %d, after %d", first, before)
	}
	call("/inference.GRPCInferenceService/ModelStreamInfer")
	if called := probe.HandleCommand(probe.Called); called != first {
		t.Errorf("the second call is noted: %d, the first was %d", called, first)
	}
	probe.HandleCommand(probe.Watch)
	if called := probe.HandleCommand(probe.Called); called != 0 {
		t.Errorf("%d is left", called)
	}
}
