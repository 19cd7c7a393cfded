package e2e

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/test/tier"
)

// testDrainDelay checks that trident isn't ready from SIGTERM on, on all ports, and serves requests
// until the drain delay is over. SIGINT stops it without the delay, and so does a second signal.
func testDrainDelay(t *testing.T, models engine) {
	t.Helper()
	const delay = 2 * time.Second
	begin := func(t *testing.T, delay time.Duration) *kserveTrident {
		t.Helper()
		return models.launchKServe(t, "--drain-delay="+delay.String())
	}
	t.Run("serves until it is over", func(t *testing.T) {
		s := begin(t, delay)
		signalStop(t, s.trident, syscall.SIGTERM)
		began := time.Now()
		line, ok := s.log.await(startLimit, s.exited, func(l logLine) bool { return strings.HasPrefix(l.text("msg"), "not ready any more") })
		if !ok || line.text("signal") != "terminated" {
			t.Fatalf("the log has no such line:\n%s", s.log)
		}
		if e := s.get(t, "/health/ready").want(t, http.StatusServiceUnavailable).failure(t); text(e.Code) != "shutting_down" {
			t.Errorf("the reason is %s", text(e.Code))
		}
		rest := &trident{url: "http://" + s.rest}
		if a := rest.get(t, "/v2/health/ready"); a.status == http.StatusOK {
			t.Error("KServe's REST port is ready")
		}
		rest.get(t, "/v2/health/live").want(t, http.StatusOK)
		if ready, err := s.calls(t).ServerReady(t.Context(), &kserve.ServerReadyRequest{}); err != nil || ready.GetReady() {
			t.Errorf("KServe's gRPC port says %v, %v", ready, err)
		}
		if c := s.chat(t, ask("Say hello.", "max_tokens", 8)); len(c.Choices) != 1 {
			t.Errorf("the answer is %v", c)
		}
		if took := time.Since(began); took >= delay {
			t.Fatalf("the checks took %s, longer than the delay", took)
		}
		checkExit(t, s.trident, delay+stopLimit)
		if took := time.Since(began); took < delay {
			t.Errorf("trident ended after %s", took)
		}
	})
	t.Run("SIGINT", func(t *testing.T) {
		s := begin(t, time.Hour)
		signalStop(t, s.trident, syscall.SIGINT)
		checkExit(t, s.trident, stopLimit)
	})
	t.Run("second signal", func(t *testing.T) {
		s := begin(t, time.Hour)
		signalStop(t, s.trident, syscall.SIGTERM)
		<-time.After(betweenSignals) // the pause makes it the second signal
		signalStop(t, s.trident, syscall.SIGTERM)
		if err := s.awaitExit(secondLimit); err != nil {
			t.Fatal(err)
		}
		if code := s.cmd.ProcessState.ExitCode(); code != 143 {
			t.Errorf("exit code %d", code)
		}
	})
}

// calls returns a client of KServe's own gRPC port.
func (s *kserveTrident) calls(t *testing.T) kserve.GRPCInferenceServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(s.native, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return kserve.NewGRPCInferenceServiceClient(conn)
}

// TestConnectionAge checks that clients of KServe's gRPC port connect again after
// --grpc-max-connection-age without a failed call, and that a call ends after the grace, as with
// tritonserver.
func TestConnectionAge(t *testing.T) {
	t.Parallel()
	flags := []string{"--grpc-max-connection-age=1000", "--grpc-max-connection-age-grace=1000"}
	models := kserveModels(t, "models")
	t.Run("trident", func(t *testing.T) {
		e := disposableEngine(t, models)
		aged, err := e.start(t, append(kservePorts(), flags...)...).kserve(client)
		if err != nil {
			t.Fatal(err)
		}
		checkConnectionAge(t, aged.native)
	})
	t.Run("tritonserver", func(t *testing.T) {
		needsServer(t)
		tier.OnlySlow(t)
		models.Args = flags
		checkConnectionAge(t, disposableEngine(t, models).server.GRPC())
	})
}

// checkConnectionAge checks a server whose connections have an age and a grace of a second each.
func checkConnectionAge(t *testing.T, address string) {
	t.Helper()
	var opened connectionCounter
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(&opened))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	calls := kserve.NewGRPCInferenceServiceClient(conn)
	began := time.Now()
	stream, err := calls.ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := stream.Recv(); ended <- err }()
	for n := 0; opened.Load() < 3; n++ {
		if live, err := calls.ServerLive(t.Context(), &kserve.ServerLiveRequest{}); err != nil || !live.GetLive() {
			t.Fatalf("call %d after %s: %v, %v", n, time.Since(began), live, err)
		}
		if time.Since(began) > startLimit {
			t.Fatalf("%d connections after %s", opened.Load(), time.Since(began))
		}
		<-time.After(10 * time.Millisecond)
	}
	if took := time.Since(began); took < 1500*time.Millisecond {
		t.Errorf("3 connections after %s", took)
	}
	if err := <-ended; status.Code(err) != codes.Unavailable {
		t.Errorf("the stream ended with %v", err)
	}
	if took := time.Since(began); took < 1500*time.Millisecond {
		t.Errorf("the stream ended after %s", took)
	}
}

// connectionCounter counts the connections that a client opens.
type connectionCounter struct{ atomic.Int64 }

// HandleConn implements [stats.Handler].
func (c *connectionCounter) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, begins := s.(*stats.ConnBegin); begins {
		c.Add(1)
	}
}

// TagConn implements [stats.Handler].
func (*connectionCounter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

// TagRPC implements [stats.Handler].
func (*connectionCounter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return ctx
}

// HandleRPC implements [stats.Handler].
func (*connectionCounter) HandleRPC(context.Context, stats.RPCStats) {}
