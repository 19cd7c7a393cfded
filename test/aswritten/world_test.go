package aswritten

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/logbuffer"
)

// Limits of waits. Most waits end much earlier.
const (
	startLimit   = 2 * time.Minute
	stopLimit    = 40 * time.Second
	commandLimit = 3 * time.Minute
	pollEvery    = 50 * time.Millisecond
)

// programs are the programs that the commands call.
type programs struct {
	root    string
	bin     string // folder with trident and its other names
	trident string
}

// newPrograms builds trident. The folder of the programs is removed after the test.
func newPrograms(t *testing.T) programs {
	t.Helper()
	root, err := tritonserver.SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	p := programs{root: root, bin: t.TempDir()}
	p.trident = filepath.Join(p.bin, "trident")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", p.trident, "./cmd/trident")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	for _, name := range []string{"tritonserver", "tritonopenaiserver"} {
		if err := os.Symlink(p.trident, filepath.Join(p.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("jq"); err != nil { // the documents use it for layout only
		if err := os.WriteFile(filepath.Join(p.bin, "jq"), []byte("#!/bin/sh\nexec python3 -m json.tool\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// world is the folder and the processes of a group.
type world struct {
	programs

	dir       string
	env       []string
	started   []*process // by the commands
	triton    *process   // the tritonserver of the group, or nil
	collector *spans     // of the group, or nil
}

// newWorld writes the files of a group and starts its servers. All processes end with the test.
func newWorld(t *testing.T, p programs, g group) *world {
	t.Helper()
	w := &world{programs: p, dir: t.TempDir()}
	for _, m := range g.Models {
		m.write(t, p.root, w.dir)
	}
	home := filepath.Join(w.dir, "home")
	writeTokenizer(t, p.root, filepath.Join(home, "huggingface"))
	w.files(t)
	path := strings.Join([]string{p.bin, filepath.Join(p.root, ".venv-test", "bin"), os.Getenv("PATH")}, string(os.PathListSeparator))
	w.env = []string{
		"PATH=" + path, "HOME=" + home, "HF_HOME=" + filepath.Join(home, "huggingface"), "HF_HUB_OFFLINE=1", "NO_PROXY=*", "LANG=C.UTF-8",
		"CLIENTS_SCRIPTS=" + filepath.Join(p.root, "test", "aswritten", "testdata", "scripts.json"), "CONTRACT_CONTEXT=4096",
	}
	t.Cleanup(func() {
		w.stop(t)
		if w.triton != nil {
			w.triton.stop(t)
		}
	})
	if g.Collector {
		w.collector = collect(t)
	}
	if g.Triton {
		w.triton = w.launch(t, filepath.Join(p.root, ".venv", "triton", "tritonserver")+" --exit-timeout-secs=5 --model-repository="+filepath.Join(w.dir, "models"))
		w.awaitReady(t, w.triton, []string{"http://localhost:8000/v2/health/ready"})
	}
	return w
}

// files writes what the commands expect beside the models.
func (w *world) files(t *testing.T) {
	t.Helper()
	if err := os.Symlink(filepath.Join(w.root, ".venv"), filepath.Join(w.dir, ".venv")); err != nil {
		t.Fatal(err)
	}
	tokenizerFiles(t, w.root, filepath.Join(w.dir, "mymodel", "tokenizer"))
	write(t, filepath.Join(w.dir, "mymodel", "engine", "config.json"), `{"build_config": {"max_input_len": 2048, "max_output_len": 1024, "max_seq_len": 3072}}`)
	for _, from := range []string{"templates", "conversation.json", "prompts.txt", "inputs.json"} {
		if err := os.Symlink(filepath.Join(w.root, "test", "aswritten", "testdata", from), filepath.Join(w.dir, from)); err != nil {
			t.Fatal(err)
		}
	}
}

// shell runs shell code to its end and returns what it prints.
func (w *world) shell(t *testing.T, line string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir, cmd.Env = w.dir, w.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// start runs shell code that starts servers, and waits until all URLs answer.
func (w *world) start(t *testing.T, line string, urls []string) {
	t.Helper()
	p := w.launch(t, line)
	w.started = append(w.started, p)
	w.awaitReady(t, p, urls)
}

// process is a shell with the servers that it started.
type process struct {
	line   string
	cmd    *exec.Cmd
	out    *logbuffer.Buffer
	exited chan struct{}
}

func (w *world) launch(t *testing.T, line string) *process {
	t.Helper()
	p := &process{line: line, cmd: exec.Command("bash", "-c", line), out: new(logbuffer.Buffer), exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = w.dir, w.env
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = stopLimit
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // stop has the result
	}()
	return p
}

func (w *world) awaitReady(t *testing.T, p *process, urls []string) {
	t.Helper()
	deadline := time.After(startLimit)
	for slices.ContainsFunc(urls, func(url string) bool { return !answers(url) }) {
		select {
		case <-p.exited:
			t.Fatalf("%s\nended:\n%s", p.line, p.out)
		case <-deadline:
			t.Fatalf("%s\nno answer of %s after %s:\n%s", p.line, urls, startLimit, p.out)
		case <-time.After(pollEvery):
		}
	}
}

// answers reports whether a GET of the URL is answered with 200.
func answers(url string) bool {
	resp, err := http.Get(url)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// stop ends the servers that the commands started.
func (w *world) stop(t *testing.T) {
	t.Helper()
	for _, p := range w.started {
		p.stop(t)
	}
	w.started = nil
}

// stop ends a shell and its servers, and reports a server that doesn't end in time or has panicked.
func (p *process) stop(t *testing.T) {
	t.Helper()
	target := p.cmd.Process.Pid // a shell with one command becomes that command, which ends its own children
	if strings.Contains(p.line, " & ") {
		target = -target
	}
	_ = syscall.Kill(target, syscall.SIGTERM) // it may have ended
	select {
	case <-p.exited:
	case <-time.After(stopLimit):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.exited
		t.Errorf("%s\ndoesn't end:\n%s", p.line, p.out)
	}
	if strings.Contains(p.out.String(), "msg=panic") {
		t.Errorf("%s\nlogs a panic:\n%s", p.line, p.out)
	}
}

// output returns what the running servers have written.
func (w *world) output() string {
	var all strings.Builder
	for _, p := range append(slices.Clone(w.started), w.triton) {
		if p != nil {
			all.WriteString(p.line + "\n" + p.out.String())
		}
	}
	return all.String()
}

// spans is a collector of traces. Its methods may be called concurrently.
type spans struct {
	collector.UnimplementedTraceServiceServer

	mu    sync.Mutex
	names []string
}

// collect starts a collector on the usual port.
func collect(t *testing.T) *spans {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:4317")
	if err != nil {
		t.Fatal(err)
	}
	s, server := new(spans), grpc.NewServer()
	collector.RegisterTraceServiceServer(server, s)
	go func() { _ = server.Serve(listener) }() // Stop ends it
	t.Cleanup(server.Stop)
	return s
}

// Export implements the trace service.
func (s *spans) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.names = append(s.names, span.GetName())
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// awaitSpan waits until the collector has got a span with a name that has the prefix.
func (w *world) awaitSpan(t *testing.T, prefix string) {
	t.Helper()
	deadline := time.After(startLimit)
	for !slices.ContainsFunc(w.collector.list(), func(name string) bool { return strings.HasPrefix(name, prefix) }) {
		select {
		case <-deadline:
			t.Fatalf("no span %s has arrived: %q", prefix, w.collector.list())
		case <-time.After(pollEvery):
		}
	}
}

// list returns the names of the spans so far.
func (s *spans) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.names)
}
