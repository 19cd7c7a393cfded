package e2e

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// kserveLimit is what NVIDIA's client may take for all of its calls.
const kserveLimit = 2 * time.Minute

// TestKServeClient has NVIDIA's own Python client call both ports: by callbacks, by
// asyncio, in streams of many requests, with shared memory, and leaving in between.
func TestKServeClient(t *testing.T) {
	s := start(t, append(kserveModels(t), kservePorts...)...)
	kserveClient(t, s, "listening for KServe v2 by gRPC", "kserve_client.py", "describe\ninfer\nstreams\ncancels\nshares\nasynchronous\n", "shared")
}

// TestKServeHTTPClient has NVIDIA's client of REST call both ports: everything but
// inferences, plain and by asyncio.
func TestKServeHTTPClient(t *testing.T) {
	s := start(t, append(append(kserveModels(t, "--model-control-mode=explicit", "--load-model=*"), kservePorts...), "--allow-model-upload", "--host=127.0.0.1")...)
	kserveClient(t, s, "listening for KServe v2 by REST", "kserve_http_client.py", "describe\ncounts\ncontrols\nsettings\nshares\nerrors\nasynchronous\n")
}

// kservePorts open KServe's own ports, free ones.
var kservePorts = []string{"--enable-kserve-frontends", "--kserve-grpc-port=0", "--kserve-http-port=0"}

// kserveClient runs a client on the port that the log tells of, and on the shared
// one, and expects what it prints.
func kserveClient(t *testing.T, s *trident, message, program, want string, args ...string) {
	t.Helper()
	line, ok := s.log.await(startLimit, s.exited, func(l logLine) bool { return l["msg"] == message })
	if !ok {
		t.Fatalf("no port is opened:\n%s", s.log)
	}
	if !poll(startLimit, func() bool { return s.get(t, "/health/ready").status == http.StatusOK }) {
		t.Fatalf("not ready:\n%s", s.log)
	}
	for name, address := range map[string]string{"own port": line.text("address"), "shared port": strings.TrimPrefix(s.url, "http://")} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), kserveLimit)
			defer cancel()
			client := exec.CommandContext(ctx, installed(t, "python"), append([]string{filepath.Join(root(t), "test", "e2e", program), address}, args...)...)
			out, err := client.CombinedOutput()
			if err != nil || string(out) != want {
				t.Errorf("%v; it printed:\n%s\nTrident's log:\n%s", err, out, s.log)
			}
		})
	}
}

// kserveModels are the flags by which trident serves the models of the extensions'
// tests by a Triton with those arguments. The test waits until they are ready.
func kserveModels(t *testing.T, args ...string) []string {
	t.Helper()
	repositories := []string{filepath.Join(root(t), "test", "models"), filepath.Join(root(t), "test", "models-ext")}
	if inProcess() {
		return append([]string{"--model-repository=" + repositories[0], "--model-repository=" + repositories[1]}, args...)
	}
	server, err := tritonserver.Launch(t.Context(), tritonserver.Options{Repositories: repositories, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return []string{"--triton-endpoint=" + server.GRPC()}
}
