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
	s := start(t, append(kserveModels(t), "--enable-kserve-frontends", "--kserve-grpc-port=0")...)
	line, ok := s.log.await(startLimit, s.exited, func(l logLine) bool { return l["msg"] == "listening for KServe v2 by gRPC" })
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
			client := exec.CommandContext(ctx, installed(t, "python"), filepath.Join(root(t), "test", "e2e", "kserve_client.py"), address, "shared")
			out, err := client.CombinedOutput()
			if want := "describe\ninfer\nstreams\ncancels\nshares\nasynchronous\n"; err != nil || string(out) != want {
				t.Errorf("%v; it printed:\n%s\nTrident's log:\n%s", err, out, s.log)
			}
		})
	}
}

// kserveModels are the flags by which trident serves the models of the extensions'
// tests. The test waits until they are ready.
func kserveModels(t *testing.T) []string {
	t.Helper()
	repositories := []string{filepath.Join(root(t), "test", "models"), filepath.Join(root(t), "test", "models-ext")}
	if inProcess() {
		return []string{"--model-repository=" + repositories[0], "--model-repository=" + repositories[1]}
	}
	server, err := tritonserver.Launch(t.Context(), tritonserver.Options{Repositories: repositories})
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
