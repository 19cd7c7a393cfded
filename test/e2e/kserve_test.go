package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// kserveLimit is the time limit of all calls of a client.
const kserveLimit = 4 * time.Minute

// kserveTrident is a trident that also serves KServe v2 on its own ports.
type kserveTrident struct {
	*trident

	native, rest string // the addresses of that port and of the REST port
}

// shared returns the address of the port for all APIs.
func (s *kserveTrident) shared() string { return s.url[strings.LastIndex(s.url, "/")+1:] }

// ports returns both addresses by their names.
func (s *kserveTrident) ports() map[string]string {
	return map[string]string{"own port": s.native, "shared port": s.shared()}
}

// kserveServing is the trident, with the models of the extensions' tests, that KServe's tests
// share.
var kserveServing = shared(func(t *testing.T) (*kserveTrident, error) {
	t.Helper()
	models, err := sharedEngine(kserveModels(t, "models"))
	if err != nil {
		return nil, err
	}
	s, err := models.launch(t, "", append(kservePorts(), "--allow-model-upload", "--allow-shared-memory")...)
	if err != nil {
		return nil, err
	}
	undos.add(tridentsEnd, s.stop)
	return s.kserve(client)
})

// kserve waits until trident has opened KServe's ports and its models are ready.
func (s *trident) kserve(by *http.Client) (*kserveTrident, error) {
	line, ok := s.log.await(startLimit, s.exited, func(l logLine) bool { return l["msg"] == "listening for KServe v2 by gRPC" })
	if !ok {
		return nil, fmt.Errorf("no port is opened:\n%s", s.log)
	}
	rest, ok := s.log.await(startLimit, s.exited, func(l logLine) bool { return l["msg"] == "listening for KServe v2 by REST" })
	if !ok {
		return nil, fmt.Errorf("no port of REST is opened:\n%s", s.log)
	}
	if err := s.awaitReadyBy(by); err != nil {
		return nil, err
	}
	return &kserveTrident{s, line.text("address"), rest.text("address")}, nil
}

// awaitReadyBy waits until trident is ready, with the given HTTP client.
func (s *trident) awaitReadyBy(by *http.Client) error {
	ready := func() bool {
		answer, err := by.Get(s.url + "/health/ready")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	}
	if !poll(startLimit, ready) {
		return fmt.Errorf("not ready:\n%s", s.log)
	}
	return nil
}

// kserveModels returns Triton's options for the models in folders of test/.
func kserveModels(t *testing.T, folders ...string) tritonserver.Options {
	t.Helper()
	var options tritonserver.Options
	for _, name := range folders {
		options.Repositories = append(options.Repositories, filepath.Join(root(t), "test", name))
	}
	return options
}

// disposableEngine returns an engine of the test's own for clients that cancel streams whose requests are
// about to end. Such cancellations may crash or block tritonserver 2.51, at once or later, also
// without Trident (its issues 7368 and 8034). The engine is killed at the end.
func disposableEngine(t *testing.T, options tritonserver.Options) engine {
	t.Helper()
	e := ownEngine(t, options)
	if e.server != nil {
		t.Cleanup(e.server.Kill)
	}
	return e
}

// renew restarts a disposable engine when the test has ended, and waits until trident is connected to it.
func (e engine) renew(t *testing.T, s *trident, by *http.Client) {
	t.Helper()
	if e.server == nil {
		return
	}
	t.Cleanup(func() {
		e.server.Kill()
		if err := e.server.Restart(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := s.awaitReadyBy(by); err != nil {
			t.Fatal(err)
		}
	})
}

// runClient runs a program that calls trident, and compares its output with want.
func (s *trident) runClient(t *testing.T, want, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), kserveLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil || string(out) != want {
		t.Errorf("%v; it printed:\n%s\nTrident's log ends with:\n%s", err, out, s.log.end())
	}
}

// end returns the last lines of a log, which are enough of a log with a line for each of many
// requests.
func (l *logLines) end() string {
	text := l.String()
	return text[max(0, len(text)-4000):]
}

// pythonParts is the output of kserve_client.py.
const pythonParts = "describe\ninfer\nstreams\nshares\nasynchronous\ncancels\n"

// TestKServeClient runs NVIDIA's own Python client against both ports: with callbacks, with
// asyncio, in streams of many requests, with shared memory, and with cancellations.
func TestKServeClient(t *testing.T) {
	t.Parallel()
	models := disposableEngine(t, kserveModels(t, "models", "models-ext"))
	s, err := models.start(t, append(kservePorts(), "--allow-shared-memory")...).kserve(client)
	if err != nil {
		t.Fatal(err)
	}
	for name, address := range s.ports() {
		t.Run(name, func(t *testing.T) {
			models.renew(t, s.trident, client)
			s.runClient(t, pythonParts, installed(t, "python"), "kserve_client.py", address)
		})
	}
}

// TestKServeVLLM runs a program like the vLLM backend's sample: one stream with many ids, and
// sampling parameters as a string tensor and as request parameters.
func TestKServeVLLM(t *testing.T) {
	t.Parallel()
	s, err := ownEngine(t, scripted(t, "chat")).start(t, kservePorts()...).kserve(client)
	if err != nil {
		t.Fatal(err)
	}
	for name, address := range s.ports() {
		t.Run(name, func(t *testing.T) {
			s.runClient(t, "as a tensor\nas request parameters\nboth\n", installed(t, "python"), filepath.Join("python", "vllm_stream.py"), address)
		})
	}
}

// connectParts returns the output of connect.mjs.
func connectParts(chats bool) string {
	web, http2 := []string{"Connect-Web", "Connect-Web with JSON", "gRPC-Web"}, []string{"Connect", "Connect with JSON and gzip", "gRPC", "gRPC-Web over HTTP/2"}
	var b strings.Builder
	write := func(what string, by []string) {
		for _, name := range by {
			b.WriteString(what + " by " + name + "\n")
		}
	}
	write("unary", web)
	write("unary", http2)
	write("streams", http2)
	if chats {
		write("chats", web)
		write("chats", http2)
	}
	return b.String()
}

// TestConnectNode runs Connect's clients for Node and for browsers against KServe v2 and typed
// chats. They use Connect, gRPC and gRPC-Web, and bidirectional streams over HTTP/2. Their messages
// and services come from the client package that the server serves.
func TestConnectNode(t *testing.T) {
	t.Parallel()
	dir := nodePrograms(t)
	s := disposableEngine(t, kserveModels(t, "models")).startReady(t, kservePorts()...)
	s.runClient(t, connectParts(true), installed(t, "node"), filepath.Join(dir, "connect.mjs"), s.url, serving(t).url)
}

// TestKServeCurl checks that the curl requests of docs/reference/kserve.md have the expected responses.
func TestKServeCurl(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("no curl")
	}
	s := kserveServing(t)
	method := s.url + "/inference.GRPCInferenceService/"
	for _, test := range []struct {
		name, method, body string
		status             int
		want               string // JSON that the response contains
	}{
		{"metadata", "ModelMetadata", `{"name":"echo"}`, 200, `{"name":"echo","versions":["1"],"platform":"python"}`},
		{
			"infer", "ModelInfer", `{"modelName":"echo","id":"7","inputs":[{"name":"TEXT","datatype":"BYTES","shape":[1],"contents":{"bytesContents":["aGk="]}}]}`, 200,
			`{"modelName":"echo","modelVersion":"1","id":"7","outputs":[{"name":"TEXT","datatype":"BYTES","shape":["1"]}],"rawOutputContents":["AgAAAGhp"]}`,
		},
		{"unknown model", "ModelInfer", `{"modelName":"none"}`, 404, `{"code":"not_found","message":"Request for unknown model: 'none' is not found"}`},
		{"no JSON", "ModelInfer", `{`, 400, `{"code":"invalid_argument"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), curl, "-sS", "-w", "\n%{http_code}", "-H", "Content-Type: application/json", "-d", test.body, method+test.method).CombinedOutput()
			body, status, _ := strings.Cut(string(out), "\n")
			if err != nil || status != fmt.Sprint(test.status) {
				t.Fatalf("%v: %s", err, out)
			}
			var got, want object
			if err := cmp.Or(json.Unmarshal([]byte(body), &got), json.Unmarshal([]byte(test.want), &want)); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			for key, value := range want {
				if fmt.Sprint(got[key]) != fmt.Sprint(value) {
					t.Errorf("%s is %v, want %v", key, got[key], value)
				}
			}
		})
	}
}

// TestPerfAnalyzer runs NVIDIA's load generator on models with one response, also with shared
// memory, and on a streaming model. It compares the report with the models' behavior.
func TestPerfAnalyzer(t *testing.T) {
	t.Parallel()
	options := kserveModels(t, "models", "models-kserve")
	options.Args = []string{"--model-control-mode=explicit", "--load-model=echo", "--load-model=both", "--load-model=stream"}
	s, err := disposableEngine(t, options).start(t, append(kservePorts(), "--allow-shared-memory")...).kserve(client)
	if err != nil {
		t.Fatal(err)
	}
	const words, both = `{"data":[{"TEXT":{"content":["hällo"],"shape":[1]}}]}`, `{"data":[{"FP32":{"content":[1.0,2.5,3.0,4.0],"shape":[4]},"TEXT":{"content":["hällo"],"shape":[1]}}]}`
	for _, test := range []struct {
		name, data string
		args       []string
		responses  int // number per request
	}{
		{"unary", `{"data":[{"TEXT":{"content":["hällo","again"],"shape":[2]}}]}`, []string{"-m", "echo"}, 1},
		{"compressed", words, []string{"-m", "echo", "--grpc-compression-algorithm", "gzip"}, 1},
		{"asynchronous", words, []string{"-m", "echo", "--async"}, 1},
		{"shared inputs", both, []string{"-m", "both", "--shared-memory", "system"}, 1},
		{"shared outputs", both, []string{"-m", "both", "--shared-memory", "system", "--output-shared-memory-size", "1024", "-b", "2"}, 1},
		{"decoupled", `{"data":[{"COUNT":{"content":[3],"shape":[1]},"DELAY":{"content":[5],"shape":[1]}}]}`, []string{"-m", "stream", "--streaming"}, 4}, // the last response is empty
	} {
		for port, address := range s.ports() {
			t.Run(test.name+", "+port, func(t *testing.T) {
				s.analyze(t, test.data, test.responses, append([]string{"-i", "grpc", "-u", address}, test.args...)...)
			})
		}
	}
	for port, address := range map[string]string{"own port": s.rest, "shared port": s.shared()} {
		t.Run("REST, "+port, func(t *testing.T) {
			s.analyze(t, words, 1, "-i", "http", "-u", address, "-m", "echo")
		})
		t.Run("REST, shared outputs, "+port, func(t *testing.T) {
			s.analyze(t, both, 1, "-i", "http", "-u", address, "-m", "both", "--shared-memory", "system", "--output-shared-memory-size", "1024")
		})
	}
}

// analyze runs perf_analyzer once.
func (s *kserveTrident) analyze(t *testing.T, data string, responses int, args ...string) {
	t.Helper()
	dir := t.TempDir()
	input, export := filepath.Join(dir, "data.json"), filepath.Join(dir, "export.json")
	if err := os.WriteFile(input, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append(args, "--input-data", input, "--profile-export-file", export, "--concurrency-range", "4", "--request-count", "100")
	ctx, cancel := context.WithTimeout(t.Context(), kserveLimit)
	defer cancel()
	var out []byte
	for info, err := os.Stat(export); err != nil || info.Size() == 0; info, err = os.Stat(export) { // perf_analyzer sometimes leaves the file empty and exits with 0
		_ = os.Remove(export) // the file must not exist
		if out, err = exec.CommandContext(ctx, installed(t, "perf_analyzer"), args...).CombinedOutput(); err != nil {
			t.Fatalf("%v:\n%s\nTrident's log ends with:\n%s", err, out, s.log.end())
		}
	}
	checkPerformance(t, export, responses, string(out))
}

// checkPerformance reads perf_analyzer's report on its requests.
func checkPerformance(t *testing.T, export string, responses int, printed string) {
	t.Helper()
	raw, err := os.ReadFile(export)
	if err != nil {
		t.Fatalf("%v:\n%s", err, printed)
	}
	var profile struct {
		Experiments []struct {
			Requests []struct {
				Timestamp int64   `json:"timestamp"`
				Responses []int64 `json:"response_timestamps"`
				Success   *bool   `json:"success"`
			} `json:"requests"`
		} `json:"experiments"`
	}
	if err := json.Unmarshal(raw, &profile); err != nil {
		t.Fatal(err)
	}
	if len(profile.Experiments) != 1 || len(profile.Experiments[0].Requests) < 100 {
		t.Fatalf("%d experiments: %.1000s\n%s", len(profile.Experiments), raw, printed)
	}
	for _, r := range profile.Experiments[0].Requests {
		if len(r.Responses) != responses || r.Success != nil && !*r.Success {
			t.Fatalf("a request has %d responses, want %d:\n%s", len(r.Responses), responses, printed)
		}
	}
	if strings.Contains(printed, "rror") || !strings.Contains(printed, "Throughput: ") {
		t.Errorf("it printed:\n%s", printed)
	}
}
