package e2e

import (
	"testing"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// TestKServeHTTPClient has NVIDIA's client of REST call both ports, plain and by
// asyncio: all that it can ask, and the values of all that it gets.
func TestKServeHTTPClient(t *testing.T) {
	s, err := start(t, append(controlledModels(t), append(kservePorts(), "--allow-model-upload", "--allow-shared-memory", "--host=127.0.0.1")...)...).kserve(client)
	if err != nil {
		t.Fatal(err)
	}
	const parts = "describe\ncounts\ncontrols\nsettings\ninfers\nextends\nsequences\nparallel\ncompresses\nshares\nerrors\nschedules\nbodies\nasynchronous\n"
	for name, address := range map[string]string{"own port": s.rest, "shared port": s.shared()} {
		t.Run(name, func(t *testing.T) {
			s.runClient(t, parts, installed(t, "python"), "kserve_http_client.py", address)
		})
	}
}

// kservePorts open KServe's own ports, free ones.
func kservePorts() []string {
	return []string{"--enable-kserve-frontends", "--kserve-grpc-port=0", "--kserve-http-port=0", "--metrics-port=0"}
}

// controlledModels are the flags by which trident serves the models of KServe's tests
// under explicit control.
func controlledModels(t *testing.T) []string {
	t.Helper()
	control := []string{"--model-control-mode=explicit", "--load-model=*"}
	if inProcess() {
		for _, repository := range kserveRepositories(t) {
			control = append(control, "--model-repository="+repository)
		}
		return control
	}
	server, err := tritonserver.Launch(t.Context(), tritonserver.Options{Repositories: kserveRepositories(t), Args: control})
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
