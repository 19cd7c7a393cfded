package e2e

import "testing"

// TestKServeHTTPClient runs NVIDIA's REST client against both ports, synchronously and with
// asyncio. It makes all calls of the client and compares all returned values.
func TestKServeHTTPClient(t *testing.T) {
	t.Parallel()
	options := kserveModels(t, "models", "models-ext", "models-kserve")
	options.Args = []string{"--model-control-mode=explicit", "--load-model=*"}
	s, err := ownEngine(t, options).start(t, append(kservePorts(), "--allow-model-upload", "--allow-shared-memory")...).kserve(client)
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

// kservePorts returns the flags that open KServe's own ports, on free port numbers.
func kservePorts() []string {
	return []string{"--enable-kserve-frontends", "--kserve-grpc-port=0", "--kserve-http-port=0", "--metrics-port=0"}
}

// launchKServe starts a trident with KServe's own ports. The test may end it.
func (e engine) launchKServe(t *testing.T, flags ...string) *kserveTrident {
	t.Helper()
	s, err := e.launch(t, "", append(kservePorts(), flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.kill() })
	k, err := s.kserve(client)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
