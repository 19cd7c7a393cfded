package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/server/servertest"
)

// asHost sends a request with a Host header. It returns the status and the body of the
// response.
func (d *deployment) asHost(t *testing.T, host, method, target, body string) (int, string) {
	t.Helper()
	status, answer, _ := d.send(t, method, target, body, "Host", host, "Content-Type", "application/json")
	return status, answer
}

// asAuthority calls the gRPC port with an authority and returns the error.
func (d *deployment) asAuthority(t *testing.T, host string) error {
	t.Helper()
	conn, err := grpc.NewClient(d.native, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(host))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = kserve.NewGRPCInferenceServiceClient(conn).SystemSharedMemoryRegister(t.Context(), &kserve.SystemSharedMemoryRegisterRequest{Name: "r", Key: "/k", ByteSize: 4})
	return err
}

// TestHostCheck checks the host names that a loopback server without keys accepts. No port
// serves a name that a web page can make resolve to this machine. All ports serve an
// allowed name.
func TestHostCheck(t *testing.T) {
	t.Setenv("AIP_PREDICT_ROUTE", "/predict")
	t.Setenv("AIP_HEALTH_ROUTE", "/healthy")
	sageMaker, vertex := freePort(t), freePort(t)
	engine := textModels()
	d := deploy(t, engine, "--allowed-host=models.example", "--sagemaker-port="+sageMaker, "--allow-vertex-ai", "--vertex-ai-port="+vertex)
	scrapes := regexp.MustCompile(`scrapes of metrics" url=http://(\S+)`).FindStringSubmatch(d.log.String())
	if scrapes == nil {
		t.Fatal(d.log)
	}
	const chat = `{"model":"chat","messages":[{"role":"user","content":"hi"}]}`
	for _, test := range []struct{ method, target, body string }{
		{http.MethodPost, d.openai + "/v1/chat/completions", chat},
		{http.MethodGet, d.openai + "/v1/models", ""},
		{http.MethodGet, d.openai + "/", ""},
		{http.MethodPost, d.rest + "/v2/repository/index", ""},
		{http.MethodPost, "127.0.0.1:" + sageMaker + "/invocations", chat},
		{http.MethodGet, "127.0.0.1:" + sageMaker + "/ping", ""},
		{http.MethodPost, "127.0.0.1:" + vertex + "/predict", chat},
		{http.MethodGet, "127.0.0.1:" + vertex + "/healthy", ""},
		{http.MethodGet, scrapes[1], ""},
	} {
		before := len(engine.Requests())
		if status, body := d.asHost(t, "evil.example:9000", test.method, test.target, test.body); status != http.StatusMisdirectedRequest || !strings.Contains(body, "--allowed-host") {
			t.Errorf("%s: %d %s", test.target, status, body)
		}
		if len(engine.Requests()) != before {
			t.Errorf("%s reached a model", test.target)
		}
		for _, host := range []string{"models.example", "localhost:9000", "127.0.0.1"} {
			if status, body := d.asHost(t, host, test.method, test.target, test.body); status != http.StatusOK {
				t.Errorf("%s as %s: %d %s", test.target, host, status, body)
			}
		}
	}
	if err := d.asAuthority(t, "evil.example:8001"); grpcstatus.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "--allowed-host") {
		t.Errorf("gRPC: %v", err)
	}
	if err := d.asAuthority(t, "models.example"); err == nil || strings.Contains(err.Error(), "--allowed-host") {
		t.Errorf("gRPC by an allowed name: %v", err)
	}
}

// TestHostCheckWithKeys checks that a server with keys accepts every host name, for
// clients with a key.
func TestHostCheckWithKeys(t *testing.T) {
	d := deploy(t, textModels(), "--api-keys-file="+servertest.Write(t, t.TempDir(), "keys", []byte("sk-one\n")))
	if status, body := d.asHost(t, "models.example", http.MethodGet, d.openai+"/v1/models", ""); status != http.StatusUnauthorized {
		t.Errorf("%d %s", status, body)
	}
	if err := d.asAuthority(t, "models.example"); grpcstatus.Code(err) != codes.Unauthenticated {
		t.Errorf("gRPC: %v", err)
	}
}

// TestSharedMemoryIsAllowed checks that no port registers shared memory without the flag,
// and that the error names the flag. Requests other than registrations work without it.
func TestSharedMemoryIsAllowed(t *testing.T) {
	refused, allowed := deploy(t, textModels()), deploy(t, textModels(), "--allow-shared-memory")
	for _, test := range []struct{ path, body string }{
		{"/v2/systemsharedmemory/region/r/register", `{"key":"/k","byte_size":4}`},
		{"/v2/cudasharedmemory/region/r/register", `{"raw_handle":{"b64":"` + strings.Repeat("A", 86) + `=="},"device_id":0,"byte_size":4}`},
		{"/inference.GRPCInferenceService/SystemSharedMemoryRegister", `{"name":"r","key":"/k","byteSize":"4"}`},
		{"/inference.GRPCInferenceService/CudaSharedMemoryRegister", `{"name":"r","byteSize":"4"}`},
	} {
		for _, address := range []string{refused.openai, refused.rest} {
			if status, body, _ := refused.send(t, http.MethodPost, address+test.path, test.body); strings.HasPrefix(test.path, "/inference.") && address == refused.rest {
				continue // RPCs aren't served on that port
			} else if status != http.StatusNotImplemented || !strings.Contains(body, "--allow-shared-memory") {
				t.Errorf("%s: %d %s", test.path, status, body)
			}
		}
		if status, body, _ := allowed.send(t, http.MethodPost, allowed.openai+test.path, test.body); strings.Contains(body, "--allow-shared-memory") {
			t.Errorf("%s: %d %s", test.path, status, body)
		}
	}
	if err := refused.asAuthority(t, "localhost"); grpcstatus.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "--allow-shared-memory") {
		t.Errorf("gRPC: %v", err)
	}
	for _, path := range []string{"GET /v2/systemsharedmemory/status", "POST /v2/systemsharedmemory/unregister"} {
		method, path, _ := strings.Cut(path, " ")
		if status, body, _ := refused.send(t, method, refused.rest+path, ""); strings.Contains(body, "--allow-shared-memory") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
