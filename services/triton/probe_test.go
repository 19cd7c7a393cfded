package triton

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// TestProbe checks what a probe returns of a server that answers, and that such an answer keeps the
// connection.
func TestProbe(t *testing.T) {
	yes, no := []byte{8, 1}, []byte{}
	for name, test := range map[string]struct {
		answer  []byte
		failure error
		ready   bool
		code    inference.Code
		message string
	}{
		"ready":     {answer: yes, ready: true},
		"not ready": {answer: no},
		"failing":   {failure: status.Error(codes.Internal, "no space left"), code: inference.CodeInternal, message: "no space left"},
	} {
		t.Run(name, func(t *testing.T) {
			engine := serve(t, unchanged, func(stream grpc.ServerStream) error {
				if method, _ := grpc.MethodFromServerStream(stream); method != kserve.GRPCInferenceService_ServerReady_FullMethodName {
					return errors.New("another method: " + method)
				}
				if test.failure != nil {
					return test.failure
				}
				return stream.SendMsg(test.answer)
			})
			before := engine.conn.Load()
			ready, err := engine.Probe(t.Context(), time.Minute)
			if ready != test.ready {
				t.Errorf("ready: %t", ready)
			}
			if test.message == "" && err != nil {
				t.Error(err)
			}
			if test.message != "" {
				if e := inference.AsError(err); e.Code != test.code || e.Message != test.message {
					t.Errorf("got %v (%s)", err, e.Code)
				}
			}
			if engine.conn.Load() != before {
				t.Error("a server that answers got a new connection")
			}
		})
	}
}

// TestProbeReplacesConnection checks that a probe without an answer makes later requests use a new
// connection, that a stream on the old one continues, and that the old one is closed after it.
func TestProbeReplacesConnection(t *testing.T) {
	const limit = 100 * time.Millisecond
	begun, proceed := make(chan struct{}, 1), make(chan struct{})
	var r *router
	answer := marshal(t, message("1", final(true)))
	engine := serve(t, func(c *Config) {
		r = route(t, c.Endpoint)
		c.Endpoint = r.Addr().String()
	}, func(stream grpc.ServerStream) error {
		if method, _ := grpc.MethodFromServerStream(stream); method == kserve.GRPCInferenceService_ServerReady_FullMethodName {
			return stream.SendMsg([]byte{8, 1})
		}
		begun <- struct{}{}
		<-proceed
		return stream.SendMsg(answer)
	})
	release := sync.OnceFunc(func() { close(proceed) })
	t.Cleanup(release)
	streamed := make(chan error, 1)
	go func() { streamed <- one(t, engine) }()
	<-begun
	old := engine.conn.Load()
	r.delay.Lock()
	start := time.Now()
	ready, err := engine.Probe(t.Context(), limit)
	r.delay.Unlock()
	if e := inference.AsError(err); ready || e.Code != errTimeout.Code || e.Message != errTimeout.Message {
		t.Errorf("without an answer: ready %t, %v", ready, err)
	}
	if took := time.Since(start); took < limit {
		t.Errorf("the probe waited %s, not %s", took, limit)
	}
	if engine.conn.Load() == old {
		t.Fatal("the connection wasn't replaced")
	}
	if ready, err := engine.Probe(t.Context(), time.Minute); !ready || err != nil || r.accepted.Load() != connections(engine, 2, 1) {
		t.Errorf("after it: ready %t, %v, by connection %d", ready, err, r.accepted.Load())
	}
	retired := func() (known bool, count int) {
		engine.links.mu.Lock()
		defer engine.links.mu.Unlock()
		_, known = engine.links.retired[old]
		return known, len(engine.links.retired)
	}
	if known, n := retired(); !known || n != 1 {
		t.Errorf("the connection with a stream isn't kept: %t, %d", known, n)
	}
	release()
	if err := <-streamed; err != nil {
		t.Errorf("the stream on the old connection: %v", err)
	}
	until(t, "the end of the old connection", func() bool { _, n := retired(); return n == 0 })

	replaced := engine.conn.Load()
	engine.links.mu.Lock()
	engine.replace(old) // a late report about a connection that isn't used any more
	engine.links.mu.Unlock()
	if engine.conn.Load() != replaced {
		t.Error("a report about an old connection replaced the new one")
	}
}

// TestProbeWithoutServer checks the error of a probe if no server listens, or if the engine has been
// stopped.
func TestProbeWithoutServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	engine := serve(t, func(c *Config) { c.Endpoint = listener.Addr().String() }, func(grpc.ServerStream) error { return nil })
	if got := engine.Address(); got != listener.Addr().String() {
		t.Errorf("the address is %q", got)
	}
	if ready, err := engine.Probe(t.Context(), time.Minute); ready || inference.AsError(err).Reason != inference.ReasonEngineGone {
		t.Errorf("ready %t, %v", ready, err)
	}
	if err := engine.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ready, err := engine.Probe(t.Context(), time.Minute); ready || !errors.Is(err, errStopped) {
		t.Errorf("after the end: ready %t, %v", ready, err)
	}
}

// TestAddress checks the host and the port of endpoints in each notation.
func TestAddress(t *testing.T) {
	for _, test := range []struct {
		endpoint, address string
		secure, invalid   bool
	}{
		{endpoint: "server:8001", address: "server:8001"},
		{endpoint: "http://server:8001", address: "server:8001"},
		{endpoint: "https://server:8001", address: "server:8001", secure: true},
		{endpoint: "[::1]:8001", address: "[::1]:8001"},
		{endpoint: "server", address: "server:8001"},
		{endpoint: "ftp://server", invalid: true},
	} {
		address, secure, err := Config{Endpoint: test.endpoint}.Address()
		if address != test.address || secure != test.secure || (err != nil) != test.invalid {
			t.Errorf("%q: got %q, %t, %v", test.endpoint, address, secure, err)
		}
	}
}

// TestFailureOf checks the error of each of Triton's codes, which clients of KServe v2 get unchanged.
func TestFailureOf(t *testing.T) {
	for triton, want := range map[inference.TritonCode]inference.Code{
		inference.TritonNotFound:      inference.CodeNotFound,
		inference.TritonInvalidArg:    inference.CodeInvalid,
		inference.TritonAlreadyExists: inference.CodeInvalid,
		inference.TritonUnavailable:   inference.CodeUnavailable,
		inference.TritonCancelled:     inference.CodeUnavailable,
		inference.TritonUnsupported:   inference.CodeUnsupported,
		inference.TritonUnknown:       inference.CodeInternal,
		inference.TritonInternal:      inference.CodeInternal,
	} {
		if e := FailureOf(triton, "oh"); e.Code != want || e.Triton != triton || e.Message != "oh" {
			t.Errorf("%v: got %+v", triton, e)
		}
	}
	if e := FailureOf(inference.TritonUnavailable, "Exceeds maximum queue size"); e.Code != inference.CodeOverloaded || e.Triton != inference.TritonUnavailable {
		t.Errorf("a full queue: %+v", e)
	}
}
