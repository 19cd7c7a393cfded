package triton

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/cputime"
)

// bytesCodec lets a test's server send arbitrary bytes.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// streamClientVariable has the gRPC client of the tests' engines. Without it, it is the default.
const streamClientVariable = "TRIDENT_TEST_STREAM_CLIENT"

// serve runs a server that reads the request of each stream and then calls
// answer. It returns an engine that is connected to the server.
func serve(tb testing.TB, change func(*Config), answer func(stream grpc.ServerStream) error) *Engine {
	tb.Helper()
	before := goleak.IgnoreCurrent()
	tb.Cleanup(func() { goleak.VerifyNone(tb, before) })
	server := grpc.NewServer(grpc.ForceServerCodecV2(bytesCodec{}), grpc.WaitForHandlers(true),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			return answer(stream)
		}))
	return connect(tb, server, change)
}

// connect runs the server and returns an engine that is connected to it.
func connect(tb testing.TB, server *grpc.Server, change func(*Config)) *Engine {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	config := Default()
	config.Endpoint = listener.Addr().String()
	if client := os.Getenv(streamClientVariable); client != "" {
		config.StreamClient = client
	}
	change(&config)
	engine, err := New(config, slog.New(slog.NewTextHandler(tb.Output(), nil)))
	if err != nil {
		tb.Fatal(err)
	}
	if err := engine.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = engine.Stop(context.Background())
		server.Stop()
		<-served
	})
	return engine
}

func unchanged(*Config) {}

// messages returns a handler that sends the given messages and then the status.
func messages(end error, all ...*kserve.ModelStreamInferResponse) func(t *testing.T) func(grpc.ServerStream) error {
	return func(t *testing.T) func(grpc.ServerStream) error {
		t.Helper()
		encoded := make([][]byte, len(all))
		for i, m := range all {
			encoded[i] = marshal(t, m)
		}
		return func(stream grpc.ServerStream) error {
			for _, m := range encoded {
				if err := stream.SendMsg(m); err != nil {
					return err
				}
			}
			return end
		}
	}
}

// message returns a response to "request" with a version that identifies it. The
// parameters may be nil.
func message(version string, parameters map[string]*kserve.InferParameter) *kserve.ModelStreamInferResponse {
	return &kserve.ModelStreamInferResponse{InferResponse: &kserve.ModelInferResponse{Id: "request", ModelVersion: version, Parameters: parameters}}
}

func TestStreamEnds(t *testing.T) {
	tests := []struct {
		name   string
		answer func(*testing.T) func(grpc.ServerStream) error
		want   []string // versions, with an exclamation mark after the final response's
		code   inference.Code
		reason inference.Reason
		text   string
	}{
		{
			name:   "with the final response",
			answer: messages(nil, message("a", final(false)), message("b", final(true))),
			want:   []string{"a", "b!"},
		},
		{
			name:   "and is complete without flags",
			answer: messages(nil, message("a", nil), message("b", nil)),
			want:   []string{"a", "b", "!"},
		},
		{
			name:   "before any response",
			answer: messages(nil),
			code:   inference.CodeUnavailable, reason: inference.ReasonEngineGone, text: "the inference server can't be reached",
		},
		{
			name:   "before the final response",
			answer: messages(nil, message("a", final(false))),
			want:   []string{"a"}, code: inference.CodeUnavailable, reason: inference.ReasonEngineGone,
			text: "the inference server can't be reached",
		},
		{
			name:   "with an error text and goes on",
			answer: messages(nil, message("a", final(false)), &kserve.ModelStreamInferResponse{ErrorMessage: "no more"}, message("b", final(false))),
			want:   []string{"a"}, code: inference.CodeInternal, text: "no more",
		},
		{
			name:   "with a status",
			answer: messages(status.Error(codes.InvalidArgument, "too long"), message("a", final(false))),
			want:   []string{"a"}, code: inference.CodeInvalid, text: "too long",
		},
		{
			name:   "with the server's cancellation",
			answer: messages(status.Error(codes.Canceled, "gone")),
			code:   inference.CodeUnavailable, reason: inference.ReasonEngineGone, text: "the inference server can't be reached",
		},
		{
			name: "with another request's response",
			answer: messages(nil, message("a", final(false)), &kserve.ModelStreamInferResponse{
				InferResponse: &kserve.ModelInferResponse{Id: "another", ModelVersion: "b", Parameters: final(false)},
			}),
			want: []string{"a"}, code: inference.CodeUnavailable, reason: inference.ReasonEngineGone,
			text: "the inference server sent another request's response",
		},
		{
			name: "with a malformed message",
			answer: func(*testing.T) func(grpc.ServerStream) error {
				return func(stream grpc.ServerStream) error { return stream.SendMsg([]byte{0x12, 0x05, 0x00}) }
			},
			code: inference.CodeInternal, text: "the inference server's answer couldn't be read",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			engine := serve(t, unchanged, test.answer(t))
			var got []string
			var failed error
			for response, err := range engine.Stream(t.Context(), &kserve.ModelInferRequest{Id: "request"}) {
				if failed = err; err != nil {
					continue
				}
				version := response.Version
				if response.Final {
					version += "!"
				}
				got = append(got, version)
				if response.ID != "request" {
					t.Errorf("a response of %q", response.ID)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			switch e := (*inference.Error)(nil); {
			case test.text == "":
				if failed != nil {
					t.Errorf("failed: %v", failed)
				}
			case !errors.As(failed, &e) || e.Code != test.code || e.Reason != test.reason || e.Message != test.text:
				t.Errorf("failed: %v", failed)
			}
		})
	}
}

// TestMixed checks that Engine.Stream counts a response with the id of another request, and logs
// both ids, shortened if they are long. It compares nothing if the request or the response has no
// id.
func TestMixed(t *testing.T) {
	long := strings.Repeat("n", maxLoggedID+1)
	for _, test := range []struct {
		name, own, other string
		mixed            uint64
		log              string
	}{
		{"another's", "mine", long, 1, `"id":"mine","response_id":"` + long[1:] + `"`},
		{"its own", "mine", "mine", 0, ""},
		{"without an id", "mine", "", 0, ""},
		{"to a request without an id", "", "another", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			engine := serve(t, unchanged, messages(nil, &kserve.ModelStreamInferResponse{
				InferResponse: &kserve.ModelInferResponse{Id: test.other, Parameters: final(true)},
			})(t))
			var log bytes.Buffer
			engine.log = slog.New(slog.NewJSONHandler(&log, nil))
			for _, err := range engine.Stream(t.Context(), &kserve.ModelInferRequest{Id: test.own}) {
				if errors.Is(err, errMixed) != (test.mixed > 0) {
					t.Errorf("it gave %v", err)
				}
			}
			if engine.Mixed() != test.mixed || (log.Len() > 0) != (test.mixed > 0) || !strings.Contains(log.String(), test.log) {
				t.Errorf("%d mixed, and the log says %q", engine.Mixed(), log.String())
			}
		})
	}
}

func TestMaxMessage(t *testing.T) {
	engine := serve(t, func(c *Config) { c.MaxMessage = 100 }, func(stream grpc.ServerStream) error {
		return stream.SendMsg(make([]byte, 101))
	})
	for _, err := range engine.Stream(t.Context(), &kserve.ModelInferRequest{}) {
		if e := inference.AsError(err); e.Code != inference.CodeInternal || e.Message != "the inference server's answer couldn't be read" {
			t.Errorf("got %v", err)
		}
	}
}

// TestCompleteStreamIsNotCancelled checks that Engine.Stream gives tritonserver time to end a
// stream after its final response. It cancels the stream only if the server doesn't end it.
// Cancelling a stream that has just ended has crashed tritonservers.
func TestCompleteStreamIsNotCancelled(t *testing.T) {
	last := marshal(t, message("a", final(true)))
	tests := []struct {
		name   string
		answer func(context.Context) error // what the server does after the final response
		leave  bool
		want   error
	}{
		{"the server ends it", func(ctx context.Context) error { return ctx.Err() }, false, nil},
		{"the server ends it a little later", func(ctx context.Context) error { return wait(ctx, drainTime/4) }, false, nil},
		{"the consumer leaves at the final response", func(ctx context.Context) error { return wait(ctx, drainTime/4) }, true, nil},
		{"the server doesn't end it", func(ctx context.Context) error { return wait(ctx, time.Minute) }, false, context.Canceled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ended := make(chan error, 1)
			engine := serve(t, unchanged, func(stream grpc.ServerStream) error {
				if err := stream.SendMsg(last); err != nil {
					return err
				}
				ended <- test.answer(stream.Context())
				return nil
			})
			for response, err := range engine.Stream(t.Context(), &kserve.ModelInferRequest{}) {
				if err != nil || !response.Final {
					t.Errorf("got %v, %v", response, err)
				}
				if test.leave {
					break
				}
			}
			if err := <-ended; !errors.Is(err, test.want) {
				t.Errorf("the server saw %v, want %v", err, test.want)
			}
		})
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestHalfCloseIsSentWithTheRequest(t *testing.T) {
	second := make(chan error, 1)
	last := marshal(t, message("id", final(true)))
	engine := serve(t, unchanged, func(stream grpc.ServerStream) error {
		var more []byte
		second <- stream.RecvMsg(&more)
		return stream.SendMsg(last)
	})
	for _, err := range engine.Stream(t.Context(), &kserve.ModelInferRequest{}) {
		if err != nil {
			t.Error(err)
		}
	}
	if err := <-second; !errors.Is(err, io.EOF) {
		t.Errorf("after the request came %v, want the end", err)
	}
}

func TestRingIsBounded(t *testing.T) {
	done := make(chan struct{})
	close(done) // reserve returns nil instead of waiting
	tests := []struct {
		name  string
		size  int
		holds int
	}{
		{"small frames", 100, ringFrames},
		{"middling frames", ringBytes/4 + 1, 4},
		{"large frames", 10 * ringBytes, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRing()
			fill := func() int {
				for n := 0; ; n++ {
					f := r.reserve(done)
					if f == nil {
						return n
					}
					f.buffer = mem.SliceBuffer(make([]byte, test.size))
					r.commit(f)
				}
			}
			if n := fill(); n != test.holds {
				t.Errorf("it holds %d frames, want %d", n, test.holds)
			}
			if f, more, err := r.take(); f == nil || more != (test.holds > 1) || err != nil {
				t.Errorf("took %v, %t, %v", f, more, err)
			}
			if n := fill(); n != 0 {
				t.Errorf("it takes %d frames beside the one in use", n)
			}
			r.take()
			if n := fill(); n != 1 {
				t.Errorf("it takes %d frames for the one given back", n)
			}
			r.end(io.EOF)
			for n := 1; ; n++ {
				if f, _, err := r.take(); f == nil {
					if !errors.Is(err, io.EOF) || n != test.holds && test.holds > 1 {
						t.Errorf("it ended with %v after %d frames", err, n)
					}
					break
				}
			}
		})
	}
}

// TestIdleTimers checks at which ticks of the clock idle responses and health checks are due, and at
// which tick a stream fails as inactive. Each response restarts the wait.
func TestIdleTimers(t *testing.T) {
	tests := []struct {
		name                         string
		keepAlive, first, inactivity time.Duration
		idle                         []int // ticks
		firstTooLong, tooLong        int
		looks                        []int
	}{
		{"keep-alive is shortest", 80 * time.Millisecond, 400 * time.Millisecond, 160 * time.Millisecond, []int{9, 17, 25, 33}, 41, 17, []int{17, 33}},
		{"inactivity is shortest", 240 * time.Millisecond, 240 * time.Millisecond, 80 * time.Millisecond, nil, 25, 9, []int{9, 17}},
		{"the first response is limited most", 200 * time.Millisecond, 80 * time.Millisecond, 160 * time.Millisecond, nil, 9, 17, nil},
		{"all are the same", time.Second, time.Second, time.Second, nil, 9, 9, nil},
		{"shorter than a tick", time.Microsecond, time.Microsecond, time.Microsecond, nil, 2, 2, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := NewIdleTimers(test.keepAlive, test.first, test.inactivity)
				for n := range 4 {
					if n%2 == 0 {
						testIdleTimer(t, all, false, test.idle, test.firstTooLong, test.looks)
					} else {
						testIdleTimer(t, all, true, test.idle, test.tooLong, nil)
					}
					<-time.After(2 * all.tick) // the clock stops, because no stream is left
					all.mu.Lock()
					if all.running || len(all.streams) != 0 {
						t.Errorf("the clock runs for %d streams", len(all.streams))
					}
					all.mu.Unlock()
				}
			})
		})
	}
}

// testIdleTimer lets a stream wait for its first response until the limit. With answered,
// the stream first gets one response, then another one just before the limit, and then
// waits for a third.
func testIdleTimer(t *testing.T, all *IdleTimers, answered bool, idle []int, tooLong int, looks []int) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var s IdleTimer
	wake := make(chan struct{}, 1)
	var looked atomic.Int32
	all.Watch(&s, wake, cancel, func() { looked.Add(1) })
	defer s.Stop()
	<-time.After(all.tick / 2) // between two ticks
	rounds, allowed := 1, all.first
	if answered {
		rounds, allowed = 2, all.inactivity
		s.End()
	}
	idle = slices.DeleteFunc(slices.Clone(idle), func(tick int) bool { return tick >= tooLong })
	for round := range rounds {
		<-time.After(3 * all.tick) // the consumer processes the response
		s.Begin()
		var got, gotLooks []int
		last := round == rounds-1
		for tick := 1; tick <= tooLong && (last || tick < tooLong); tick++ {
			s.Begin() // doesn't restart the wait
			before := looked.Load()
			<-time.After(all.tick)
			synctest.Wait()
			if looked.Load() != before {
				gotLooks = append(gotLooks, tick)
			}
			select {
			case <-wake:
			default:
			}
			if ctx.Err() == nil && s.Idle() {
				got = append(got, tick)
			}
			if ctx.Err() == nil && s.Idle() {
				t.Errorf("tick %d: idle twice", tick)
			}
			if (ctx.Err() != nil) != (tick == tooLong) {
				t.Errorf("tick %d: %v", tick, context.Cause(ctx))
			}
		}
		if !slices.Equal(got, idle) || !slices.Equal(gotLooks, looks) {
			t.Errorf("idle at %v, want %v; checked the health at %v, want %v", got, idle, gotLooks, looks)
		}
		s.End()
		if s.Idle() {
			t.Error("idle after a response")
		}
	}
	if e := new(inference.Error); !errors.As(context.Cause(ctx), &e) || e.Reason != inference.ReasonInactive || !strings.HasSuffix(e.Message, " "+allowed.String()) {
		t.Errorf("the cause is %v", context.Cause(ctx))
	}
}

// BenchmarkStream measures the cost of a token's response from the socket to the
// consumer. Compare lean (this engine) with proto (the generated client) on the same
// server. Both results include the server's cost, so the difference is the saving of the
// codec. cpu-ns/op includes all threads.
func BenchmarkStream(b *testing.B) {
	token := marshal(b, tokenMessage())
	last := marshal(b, message("id", final(true)))
	count := make(chan int, 1)
	engine := serve(b, func(c *Config) { c.FirstResponse, c.Inactivity = math.MaxInt64/2, math.MaxInt64/2 }, func(stream grpc.ServerStream) error {
		for range <-count {
			if err := stream.SendMsg(token); err != nil {
				return err
			}
		}
		return stream.SendMsg(last)
	})
	b.Run("lean", func(b *testing.B) {
		defer reportCPU(b)()
		count <- b.N
		for _, err := range engine.Stream(b.Context(), &kserve.ModelInferRequest{Id: "request"}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("proto", func(b *testing.B) {
		defer reportCPU(b)()
		count <- b.N
		stream, err := kserve.NewGRPCInferenceServiceClient(engine.conn.Load()).ModelStreamInfer(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(stream.Send(&kserve.ModelInferRequest{Id: "request"}), stream.CloseSend()); err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = stream.Recv()
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	})
}

// BenchmarkRequest measures the cost of an Engine.Stream call with one response.
func BenchmarkRequest(b *testing.B) {
	last := marshal(b, message("id", final(true)))
	engine := serve(b, unchanged, func(stream grpc.ServerStream) error { return stream.SendMsg(last) })
	defer reportCPU(b)()
	for b.Loop() {
		for _, err := range engine.Stream(b.Context(), &kserve.ModelInferRequest{Id: "request"}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func reportCPU(b *testing.B) func() {
	b.Helper()
	b.ReportAllocs()
	start := cputime.Process(b)
	return func() { b.ReportMetric(float64(cputime.Process(b)-start)/float64(b.N), "cpu-ns/op") }
}
