package kserve_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// TestBodiesInFlight: what gRPC's port takes counts, too, until a request has ended; the
// refusal says when to come again.
func TestBodiesInFlight(t *testing.T) {
	began, end := make(chan struct{}, 2), make(chan struct{})
	engine := speaking(func(ctx context.Context, _ *api.ModelInferRequest, _ sender) error {
		began <- struct{}{}
		select {
		case <-end:
		case <-ctx.Done():
		}
		return nil
	})
	engine.Configure("m", func(c *api.ModelConfig) { c.ModelTransactionPolicy = nil })
	config := open()
	service, core := newService(t, config, engine)
	if err := core.SetBounds(inference.Bounds{BodyBytes: 100 << 10}); err != nil {
		t.Fatal(err)
	}
	client := api.NewGRPCInferenceServiceClient(dial(t, serveNativeService(t, nil, nil, config, service)))
	first := make(chan error, 1)
	go func() {
		_, err := client.ModelInfer(t.Context(), sized(t, 80<<10))
		first <- err
	}()
	<-began
	_, err := client.ModelInfer(t.Context(), sized(t, 30<<10))
	answer := status.Convert(err)
	if answer.Code() != codes.Unavailable || len(answer.Details()) != 1 {
		t.Fatalf("got %v with %v", err, answer.Details())
	}
	if retry, ok := answer.Details()[0].(*errdetails.RetryInfo); !ok || retry.GetRetryDelay().AsDuration() != time.Second {
		t.Errorf("detail %v", answer.Details()[0])
	}
	stream, err := client.ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(sized(t, 30<<10)); err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Recv(); err != nil || m.GetErrorMessage() == "" {
		t.Errorf("in a stream: %v, %v", m, err)
	}
	_ = stream.CloseSend()
	close(end)
	<-first
	if _, err := client.ModelInfer(t.Context(), sized(t, 30<<10)); status.Code(err) == codes.Unavailable {
		t.Errorf("after the first has ended: %v", err)
	}
}
