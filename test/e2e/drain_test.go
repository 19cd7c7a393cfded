package e2e

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// testDrainDelay checks that trident isn't ready from SIGTERM on, on all ports, and serves requests
// until the drain delay is over. SIGINT stops it without the delay, and so does a second signal.
func testDrainDelay(t *testing.T, models engine) {
	t.Helper()
	const delay = 2 * time.Second
	begin := func(t *testing.T, delay time.Duration) *kserveTrident {
		t.Helper()
		s, err := models.launch(t, "", append(kservePorts(), "--drain-delay="+delay.String())...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.kill() })
		pod, err := s.kserve(client)
		if err != nil {
			t.Fatal(err)
		}
		return pod
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
