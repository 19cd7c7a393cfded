package kserve_test

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/health/grpc_health_v1"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
)

// announce starts a gRPC call, announces a message without sending it, and returns the status
// with which the call ends.
func announce(t *testing.T, address, method string, length uint32) string {
	t.Helper()
	by := h2c()
	defer by.CloseIdleConnections()
	body, client := io.Pipe()
	defer client.Close()
	go func() { _, _ = client.Write(binary.BigEndian.AppendUint32([]byte{0}, length)) }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+method, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	resp, err := by.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // the trailers follow the body
	for _, h := range []http.Header{resp.Header, resp.Trailer} {
		if h.Get("Grpc-Status") != "" {
			return h.Get("Grpc-Status") + " " + h.Get("Grpc-Message")
		}
	}
	return "no status"
}

// TestAnnouncedMessages tests that a message on gRPC's own port is counted before it is read,
// and that the message of a call that needs no key must be small.
func TestAnnouncedMessages(t *testing.T) {
	config := kservetest.Open()
	began, end := make(chan struct{}), make(chan struct{})
	engine := kservetest.TextEngine(func(ctx context.Context, _ *api.ModelInferRequest, _ kservetest.SendFunc) error {
		close(began)
		select {
		case <-end:
		case <-ctx.Done():
		}
		return nil
	})
	engine.Configure("m", func(c *api.ModelConfig) { c.ModelTransactionPolicy = nil })
	service, core := kservetest.NewService(t, config, engine)
	if err := core.Admission().SetBounds(admission.Bounds{BodyBytes: 100 << 10}); err != nil {
		t.Fatal(err)
	}
	address := serveNativeService(t, nil, nil, config, service)
	client := api.NewGRPCInferenceServiceClient(dial(t, address))
	held := make(chan error, 1)
	go func() {
		_, err := client.ModelInfer(t.Context(), sized(t, 80<<10))
		held <- err
	}()
	<-began
	const infer, stream = "/inference.GRPCInferenceService/ModelInfer", "/inference.GRPCInferenceService/ModelStreamInfer"
	for _, test := range []struct {
		method string
		length uint32
		want   string
	}{
		{infer, 30 << 10, "14 the bodies of the requests in flight use all memory that this server reserves for bodies: try again later"},
		{stream, 5 << 20, "14 the bodies of the requests in flight use all memory that this server reserves for bodies: try again later"},
		{"/inference.GRPCInferenceService/RepositoryIndex", 30 << 10, "14 the bodies of the requests in flight"},
		{"/inference.GRPCInferenceService/ServerLive", server.MaxOpenBody + 1, "8 grpc: received message larger than max (8193 vs. 8192)"},
		{"/grpc.health.v1.Health/Check", 1 << 30, "8 grpc: received message larger than max (1073741824 vs. 8192)"},
	} {
		if got := announce(t, address, test.method, test.length); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s with %d bytes: %s", test.method, test.length, got)
		}
	}
	if _, err := grpc_health_v1.NewHealthClient(dial(t, address)).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: strings.Repeat("s", 8000)}); err != nil {
		t.Errorf("a probe while bodies take all there is: %v", err)
	}
	if _, all := core.Admission().Holdings(); all.Bytes < 80<<10 || all.Bytes > 81<<10 || all.Reading != 0 {
		t.Errorf("a single request in flight holds %+v", all)
	}
	close(end)
	<-held
}

// TestStreamsReleaseWhatTheyRead tests the accounting of a message that was counted before it
// was read. Once the message is read, the bytes belong to the message's request, and the end
// of the request releases the bytes.
func TestStreamsReleaseWhatTheyRead(t *testing.T) {
	holds := make(chan int64, 1)
	var core *serving.Service
	engine := kservetest.TextEngine(func(_ context.Context, _ *api.ModelInferRequest, send kservetest.SendFunc) error {
		_, all := core.Admission().Holdings()
		holds <- all.Bytes
		send(&inference.Response{Final: true})
		return nil
	})
	engine.Configure("m", func(c *api.ModelConfig) { c.ModelTransactionPolicy = nil })
	config := kservetest.Open()
	service, known := kservetest.NewService(t, config, engine)
	core = known
	client := api.NewGRPCInferenceServiceClient(dial(t, serveNativeService(t, nil, nil, config, service)))
	stream, err := client.ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const size = 6 << 20
	for range 2 {
		if err := stream.Send(sized(t, size)); err != nil {
			t.Fatal(err)
		}
		if m, err := stream.Recv(); err != nil || m.GetErrorMessage() != "" {
			t.Fatalf("%v, %v", m, err)
		}
		if n := <-holds; n != size {
			t.Errorf("while the model has the request %d bytes are counted, want %d", n, size)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != io.EOF { //nolint:errorlint // the stream returns it unwrapped
		t.Errorf("the stream ended with %v", err)
	}
	if _, all := core.Admission().Holdings(); all.Bytes != 0 || all.Reading != 0 {
		t.Errorf("an ended stream holds %+v", all)
	}
}
