package e2e

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// TestHostCheck sends requests to a server on the loopback interface without keys under the name of
// another host, as a page does in a DNS rebinding attack. All ports refuse them. Local clients are
// served, except for the registration of shared memory, which needs a flag.
func TestHostCheck(t *testing.T) {
	s := &kserveTrident{trident: start(t, append([]string{"--triton-endpoint=127.0.0.1:1"}, kservePorts()...)...)}
	for what, address := range map[string]*string{"listening for KServe v2 by gRPC": &s.native, "listening for KServe v2 by REST": &s.rest} {
		line, ok := s.log.await(startLimit, s.exited, func(l logLine) bool { return l["msg"] == what })
		if !ok {
			t.Fatalf("no port is opened:\n%s", s.log)
		}
		*address = line.text("address")
	}
	for _, test := range []struct{ address, path string }{
		{s.shared(), "/v1/models"}, {s.shared(), "/health/live"}, {s.shared(), "/v2"}, {s.rest, "/v2/health/live"}, {s.rest, "/v2/models/chat"},
	} {
		for _, host := range []string{"evil.example", "evil.example:9000", "127.0.0.1.evil.example"} {
			r := s.request(t, http.MethodGet, test.path, nil)
			r.URL.Host, r.Host = test.address, host
			if a := exchange(t, client, r); a.status != http.StatusMisdirectedRequest || !strings.Contains(string(a.body), "--allowed-host") {
				t.Errorf("%s%s as %s: %d %s", test.address, test.path, host, a.status, a.body)
			}
		}
		r := s.request(t, http.MethodGet, test.path, nil)
		r.URL.Host, r.Host = test.address, "localhost:1234"
		if a := exchange(t, client, r); a.status == http.StatusMisdirectedRequest {
			t.Errorf("%s%s as localhost: %s", test.address, test.path, a.body)
		}
	}
	for host, want := range map[string]struct {
		code codes.Code
		flag string
	}{"evil.example:8001": {codes.PermissionDenied, "--allowed-host"}, "localhost": {codes.Unimplemented, "--allow-shared-memory"}} {
		conn, err := grpc.NewClient(s.native, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(host))
		if err != nil {
			t.Fatal(err)
		}
		_, err = kserve.NewGRPCInferenceServiceClient(conn).SystemSharedMemoryRegister(t.Context(), &kserve.SystemSharedMemoryRegisterRequest{Name: "r", Key: "/r", ByteSize: 4})
		if status.Code(err) != want.code || !strings.Contains(err.Error(), want.flag) {
			t.Errorf("gRPC as %s: %v", host, err)
		}
		_ = conn.Close()
	}
}

// TestEmptyKey checks that an empty variable for an API key ends the start.
func TestEmptyKey(t *testing.T) {
	command := exec.Command(tridentBinary(t), "--host=127.0.0.1", "--openai-port=0", "--triton-endpoint=127.0.0.1:1")
	command.Env = environment(raceOptions, "TRIDENT_API_KEY=")
	output, err := command.CombinedOutput()
	if err == nil || command.ProcessState.ExitCode() != 1 || !strings.Contains(string(output), "--api-key: the API key is empty") || !strings.Contains(string(output), "(TRIDENT_API_KEY)") {
		t.Errorf("%v: %s", err, output)
	}
}
