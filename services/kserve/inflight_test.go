package kserve_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// TestBodiesInFlight tests that messages on gRPC's own port are counted until their request
// has ended. The refusal has a time to retry.
func TestBodiesInFlight(t *testing.T) {
	began, end := make(chan struct{}, 2), make(chan struct{})
	engine := kservetest.TextEngine(func(ctx context.Context, _ *api.ModelInferRequest, _ kservetest.SendFunc) error {
		began <- struct{}{}
		select {
		case <-end:
		case <-ctx.Done():
		}
		return nil
	})
	engine.Configure("m", func(c *api.ModelConfig) { c.ModelTransactionPolicy = nil })
	config := kservetest.Open()
	service, core := kservetest.NewService(t, config, engine)
	if err := core.Admission().SetBounds(admission.Bounds{BodyBytes: 100 << 10}); err != nil {
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

// TestStreamSpendsOnce tests that each request of a stream counts once against the rate, the
// first one when the call starts. A request beyond the rate is refused in its stream, and
// another stream is refused as a call.
func TestStreamSpendsOnce(t *testing.T) {
	engine := kservetest.TextEngine(func(_ context.Context, _ *api.ModelInferRequest, send kservetest.SendFunc) error {
		send(&inference.Response{Final: true})
		return nil
	})
	engine.Configure("m", func(c *api.ModelConfig) { c.ModelTransactionPolicy = nil })
	config := kservetest.Open()
	service, core := kservetest.NewService(t, config, engine)
	if err := core.Admission().SetBounds(admission.Bounds{Server: inference.Limits{Rate: 0.001, Burst: 3}, Decoding: 1}); err != nil {
		t.Fatal(err)
	}
	client := api.NewGRPCInferenceServiceClient(dial(t, serveNativeService(t, nil, nil, config, service)))
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := client.ModelStreamInfer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := stream.Send(sized(t, 1<<10)); err != nil {
			t.Fatal(err)
		}
		m, err := stream.Recv()
		if refused := strings.Contains(m.GetErrorMessage(), "too many requests: the rate limit is 0.001 requests per second"); err != nil || refused != (i == 3) {
			t.Fatalf("request %d: %v, %v", i, m, err)
		}
	}
	if _, all := core.Admission().Holdings(); all.Decoding != 0 || all.Reading != 0 {
		t.Errorf("an idle stream holds %+v", all)
	}
	if err := stream.Send(sized(t, 1<<10)); err != nil { // isn't read before Retry-After has passed
		t.Fatal(err)
	}
	other, err := client.ModelStreamInfer(t.Context())
	if err == nil {
		_, err = other.Recv()
	}
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("another stream: %v", err)
	}
	cancel()
	for err = nil; err == nil; {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Canceled {
		t.Errorf("the stream ended with %v", err)
	}
}
