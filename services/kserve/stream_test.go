package kserve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

func stream(ctx context.Context, t *testing.T, config kserve.Config, engines ...inference.Engine) grpc.BidiStreamingClient[api.ModelInferRequest, api.ModelStreamInferResponse] {
	t.Helper()
	return streamBy(ctx, t, serveNative, config, engines...)
}

// servers is the type of serveNative and of serveShared.
type servers = func(testing.TB, kserve.Config, ...inference.Engine) string

func streamBy(ctx context.Context, t *testing.T, serve servers, config kserve.Config, engines ...inference.Engine) grpc.BidiStreamingClient[api.ModelInferRequest, api.ModelStreamInferResponse] {
	t.Helper()
	conn := dial(t, serve(t, config, engines...))
	s, err := api.NewGRPCInferenceServiceClient(conn).ModelStreamInfer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustSend(t *testing.T, s grpc.BidiStreamingClient[api.ModelInferRequest, api.ModelStreamInferResponse], ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := s.Send(&api.ModelInferRequest{ModelName: "m", Id: id}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSlowReader tests an endless model with a client that reads nothing. Trident must stop
// reading responses once the connection and the client's window, which grows to 16 MiB, are
// full. Trident aborts the stream after the write timeout.
func TestSlowReader(t *testing.T) {
	t.Run("own port", func(t *testing.T) { testSlowReader(t, serveNative) })
	t.Run("shared port", func(t *testing.T) { testSlowReader(t, kservetest.ServeShared) })
}

func testSlowReader(t *testing.T, serve servers) {
	t.Helper()
	const size = 64 << 10
	var made atomic.Int64
	engine := kservetest.Decoupled(func(ctx context.Context, _ *api.ModelInferRequest, send kservetest.SendFunc) error {
		tensor := make([]byte, size)
		for ctx.Err() == nil {
			if !send(&inference.Response{Version: "1", Outputs: []inference.Output{{Name: "o", Type: "UINT8", Shape: []int64{size}, Raw: tensor}}}) {
				break
			}
			made.Add(1)
		}
		return ctx.Err()
	})
	config := kservetest.Open()
	config.WriteTimeout = 300 * time.Millisecond
	s := streamBy(t.Context(), t, serve, config, engine)
	mustSend(t, s, "1", "2", "3")
	kservetest.Await(t, "no request began", func() bool { return engine.Active() == 3 })
	kservetest.Await(t, "the stream wasn't ended", func() bool { return engine.Active() == 0 })
	if got := made.Load(); got < 1 || got > 1024 {
		t.Errorf("%d responses of %d KiB were taken from the model for a client that reads nothing", got, size>>10)
	}
	var err error
	for err == nil {
		_, err = s.Recv()
	}
	if code := status.Code(err); code == codes.OK || code == codes.Canceled {
		t.Errorf("the stream ended with %v", err)
	}
}

// TestReadsNoFurther tests that Trident reads a limited number of requests from a client that sends
// endlessly to a model that doesn't respond.
func TestReadsNoFurther(t *testing.T) {
	release := make(chan struct{})
	engine := kservetest.Decoupled(func(ctx context.Context, _ *api.ModelInferRequest, send kservetest.SendFunc) error {
		select {
		case <-release:
			send(&inference.Response{Version: "1", Final: true})
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	s := stream(t.Context(), t, kservetest.Open(), engine)
	const sent = 2000
	go func() {
		for i := range sent {
			if s.Send(&api.ModelInferRequest{ModelName: "m", Id: fmt.Sprint(i), Parameters: inferencetest.Params{"a": inferencetest.String(string(make([]byte, 4096)))}}) != nil {
				return
			}
		}
		_ = s.CloseSend()
	}()
	kservetest.Await(t, "fewer requests began", func() bool { return engine.Active() == 256 })
	before := goroutines()
	for range 20 {
		runtime.Gosched()
	}
	if got := engine.Active(); got != 256 || goroutines() > before+10 {
		t.Errorf("%d requests at once", got)
	}
	close(release)
	for got := 0; ; got++ {
		if _, err := s.Recv(); errors.Is(err, io.EOF) {
			if got != sent {
				t.Errorf("%d responses", got)
			}
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func goroutines() int { return runtime.NumGoroutine() }

// TestClientLeaves checks that ModelStreamInfer cancels the model's requests when a client cancels
// a stream with many requests in flight.
func TestClientLeaves(t *testing.T) {
	engine := kservetest.Decoupled(func(ctx context.Context, _ *api.ModelInferRequest, _ kservetest.SendFunc) error {
		<-ctx.Done()
		return ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	s := stream(ctx, t, kservetest.Open(), engine)
	mustSend(t, s, "1", "2", "3")
	kservetest.Await(t, "not all began", func() bool { return engine.Active() == 3 })
	cancel()
	kservetest.Await(t, "requests go on after their client", func() bool { return engine.Active() == 0 })
}

// TestIdleStreamAtStop checks that the stop of the gRPC server ends a ModelStreamInfer call without
// requests at once.
func TestIdleStreamAtStop(t *testing.T) {
	t.Run("own port", func(t *testing.T) { testIdleStreamAtStop(t, serveNative) })
	t.Run("shared port", func(t *testing.T) { testIdleStreamAtStop(t, kservetest.ServeShared) })
}

func testIdleStreamAtStop(t *testing.T, serve servers) {
	t.Helper()
	engine := kservetest.Decoupled(inferencetest.StreamText("x"))
	var s grpc.BidiStreamingClient[api.ModelInferRequest, api.ModelStreamInferResponse]
	var idle time.Time
	t.Run("serve", func(t *testing.T) {
		s = streamBy(context.WithoutCancel(t.Context()), t, serve, kservetest.Open(), engine)
		mustSend(t, s, "1")
		for final := false; !final; {
			m, err := s.Recv()
			if err != nil {
				t.Fatal(err)
			}
			final = m.GetInferResponse().GetParameters()["triton_final_response"].GetBoolParam()
		}
		idle = time.Now()
	}) // it stops the server
	if took := time.Since(idle); took > 10*time.Second {
		t.Errorf("the stop took %s", took)
	}
}

// TestSequenceOrder checks that the model receives the requests of a sequence one after the other, in
// the order in which they were sent. The client sends many requests of two sequences at once.
func TestSequenceOrder(t *testing.T) {
	const requests = 40
	var mu sync.Mutex
	active, order := map[int64]int{}, map[int64][]string{}
	engine := kservetest.Decoupled(func(_ context.Context, req *api.ModelInferRequest, _ kservetest.SendFunc) error {
		id := req.GetParameters()["sequence_id"].GetInt64Param()
		change := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			active[id] += by
			if active[id] > 1 {
				t.Errorf("%d requests of sequence %d run at once", active[id], id)
			}
			if by > 0 {
				order[id] = append(order[id], req.GetId())
			}
		}
		change(1)
		<-time.After(time.Millisecond) // requests that don't wait overlap in this time
		change(-1)
		return nil
	})
	s := stream(t.Context(), t, kservetest.Open(), engine)
	var want []string
	for i := range requests {
		want = append(want, strconv.Itoa(i))
		for sequence := range int64(2) {
			p := inferencetest.Params{"sequence_id": inferencetest.Int64(sequence + 1), "sequence_start": inferencetest.Bool(i == 0), "sequence_end": inferencetest.Bool(i == requests-1)}
			if err := s.Send(&api.ModelInferRequest{ModelName: "m", Id: want[i], Parameters: p}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if got := received(s); got.code != codes.OK {
		t.Fatalf("the stream ended with %s %s", got.code, got.text)
	}
	for sequence := range int64(2) {
		if !slices.Equal(order[sequence+1], want) {
			t.Errorf("the order of sequence %d is %v", sequence+1, order[sequence+1])
		}
	}
}

// TestErrorsInStream tests errors that can't be compared with tritonserver, which doesn't
// have them or crashes on them.
func TestErrorsInStream(t *testing.T) {
	failed := &inference.Error{Code: inference.CodeNotFound, Triton: inference.TritonInvalidArg, Message: "bad", Text: "[request id: 1] bad"}
	lost := &inference.Error{Code: inference.CodeUnavailable, Message: "the engine is gone", Err: errors.New("at 10.0.0.1")}
	play := func(responses ...any) *inferencetest.Engine {
		return kservetest.Decoupled(func(_ context.Context, _ *api.ModelInferRequest, send kservetest.SendFunc) error {
			for _, r := range responses {
				switch r := r.(type) {
				case *inference.Response:
					send(r)
				case error:
					return r
				}
			}
			return nil
		})
	}
	response := &inference.Response{Version: "1", Outputs: []inference.Output{{Name: "o", Type: "BOOL", Shape: []int64{1}, Raw: []byte{1}}}}
	tests := []struct {
		name     string
		engine   *inferencetest.Engine
		asStatus bool
		want     []string // error messages; "" for a response
		final    bool     // the final parameter of the last response
		code     codes.Code
	}{
		{"refused", play(failed), false, []string{"[request id: 1] bad"}, false, codes.OK},
		{"refused, errors as status", play(failed), true, []string{"[request id: 1] bad"}, false, codes.OK},
		{"model fails, and goes on", play(&inference.Response{Err: failed}, response), false, []string{"[request id: 1] bad", ""}, false, codes.OK},
		{"model fails, errors as status", play(response, &inference.Response{Err: failed}, response), true, []string{""}, false, codes.InvalidArgument},
		{"engine is lost", play(response, lost), false, []string{"", "the engine is gone"}, true, codes.OK},
		{"engine is away", play(lost), false, []string{"the engine is gone"}, true, codes.OK},
		{"engine is lost, errors as status", play(response, lost), true, []string{""}, false, codes.Unavailable},
		{"panic", kservetest.Decoupled(func(context.Context, *api.ModelInferRequest, kservetest.SendFunc) error { panic("at the model") }), false, nil, false, codes.Internal},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx := t.Context()
			if test.asStatus {
				ctx = metadata.AppendToOutgoingContext(ctx, "triton_grpc_error", "true")
			}
			s := stream(ctx, t, kservetest.Open(), test.engine)
			mustSend(t, s, "1")
			if err := s.CloseSend(); err != nil {
				t.Fatal(err)
			}
			got := received(s)
			var texts []string
			final := false
			for _, m := range got.messages {
				m := m.(*api.ModelStreamInferResponse)
				texts = append(texts, m.GetErrorMessage())
				if m.GetInferResponse().GetId() != "1" {
					t.Errorf("id of %v", m)
				}
				final = m.GetInferResponse().GetParameters()["triton_final_response"].GetBoolParam()
			}
			if !slices.Equal(texts, test.want) || got.code != test.code || final != test.final {
				t.Errorf("got %q, %s %q, final %t", texts, got.code, got.text, final)
			}
		})
	}
}
