package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/encoders"
	"github.com/trident-inference/trident/test/logbuffer"
)

// Limits of waits. Most waits end much earlier.
const (
	startLimit = 2 * time.Minute
	stopLimit  = 20 * time.Second
	pollEvery  = 20 * time.Millisecond
)

// server is a trident in front of a tritonserver of its own.
type server struct {
	address string // host:port of the OpenAI API
	prompts string // path of the file with the scripted model's prompts
	log     *logbuffer.Buffer
	cmd     *exec.Cmd
	exited  chan struct{}
	triton  *tritonserver.Server
}

// serve starts a tritonserver with one model repository, and a trident in front of it. It returns once
// the models are ready.
func serve(binary string, options tritonserver.Options, flags ...string) (*server, error) {
	triton, err := tritonserver.Launch(context.Background(), options)
	if err != nil {
		return nil, err
	}
	s := &server{log: new(logbuffer.Buffer), exited: make(chan struct{}), triton: triton}
	s.cmd = exec.Command(binary, append(flags, "--host=127.0.0.1", "--openai-port=0", "--triton-endpoint="+triton.GRPC(), "--triton-model-repository="+options.Repositories[0])...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HF_HUB_OFFLINE=1"}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, triton.Close())
	}
	go func() {
		defer close(s.exited)
		_ = s.cmd.Wait() // stop has the result
	}()
	if err := s.awaitReady(); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// listening matches the log line of the open port.
var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

func (s *server) awaitReady() error {
	deadline := time.Now().Add(startLimit)
	for time.Now().Before(deadline) {
		if address := listening.FindStringSubmatch(s.log.String()); len(address) == 2 && ready(address[1]) {
			s.address = address[1]
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("trident ended at its start:\n%s", s.log)
		case <-time.After(pollEvery):
		}
	}
	return fmt.Errorf("trident isn't ready after %s:\n%s", startLimit, s.log)
}

// ready reports whether all models of a trident are ready.
func ready(address string) bool {
	answer, err := http.Get("http://" + address + "/health/ready")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// stop ends both processes. It returns an error if trident doesn't end by itself with code 0, or if it
// logged a panic.
func (s *server) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
	var failed []error
	select {
	case <-s.exited:
	case <-time.After(stopLimit):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	if state := s.cmd.ProcessState; !state.Success() {
		failed = append(failed, fmt.Errorf("trident ended with %s:\n%s", state, s.log))
	}
	if strings.Contains(s.log.String(), "msg=panic") {
		failed = append(failed, fmt.Errorf("trident logged a panic:\n%s", s.log))
	}
	return errors.Join(append(failed, s.triton.Close())...)
}

// fleet starts each server that the rows need, once.
type fleet struct {
	root, binary string
	scripts      string // path of the file with all rows' scripts

	mu      sync.Mutex
	running map[setup]*server
}

// setup has the model and the settings of a server.
type setup struct {
	models models
	config string // text of the file of --config, or "" for none
	row    string // name of the row that has the config, so that rows don't share the limits of keys
}

// newFleet builds trident. Its servers end with the test.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	root, err := tritonserver.SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{root: root, binary: filepath.Join(t.TempDir(), "trident"), scripts: writeScripts(t), running: map[setup]*server{}}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", f.binary, "./cmd/trident")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	t.Cleanup(func() {
		for _, s := range f.running {
			if err := s.stop(); err != nil {
				t.Error(err)
			}
		}
	})
	return f
}

// setup returns what the row needs.
func (r *row) setup(p page) setup {
	s := setup{models: r.Models}
	if config := p.files[configFile]; config != "" {
		s.config, s.row = config, cmp.Or(r.page, r.Name)
	}
	return s
}

// server returns the trident with this setup.
func (f *fleet) server(t *testing.T, which setup) *server {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, ok := f.running[which]; ok {
		return s
	}
	prompts := filepath.Join(filepath.Dir(f.binary), fmt.Sprintf("prompts-%d", len(f.running)))
	options := tritonserver.Options{
		Repositories: []string{filepath.Join(f.root, "test", "clients", "models")}, Env: []string{"CLIENTS_SCRIPTS=" + f.scripts, "CLIENTS_PROMPTS=" + prompts},
	}
	switch which.models {
	case demo:
		options = tritonserver.Options{Repositories: []string{filepath.Join(f.root, "models")}}
	case vectors:
		options = tritonserver.Options{Repositories: []string{filepath.Join(f.root, "models")}, Args: []string{"--model-control-mode=explicit", "--load-model=embedding"}}
	case scored:
		options = tritonserver.Options{Repositories: []string{filepath.Join(f.root, "test", "models-contract")}, Args: []string{"--model-control-mode=explicit", "--load-model=ensemble"}}
	case encoded:
		options.Repositories = append(options.Repositories, f.encoderRepository(t))
	case scripted, locked, counted:
	}
	flags := which.models.flags(f.root)
	if which.config != "" {
		flags = append(flags, "--config="+f.file(t, fmt.Sprintf("%s-%d.yaml", which.row, len(f.running)), which.config))
	}
	s, err := serve(f.binary, options, flags...)
	if err != nil {
		t.Fatal(err)
	}
	s.prompts = prompts
	f.running[which] = s
	return s
}

// encoderRepository writes a model repository of encoders, which exists as long as the servers. Each server has its own.
func (f *fleet) encoderRepository(t *testing.T) string {
	t.Helper()
	models, err := encoders.Named("embedding", "reranker", "topics", "flags")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(f.binary), fmt.Sprintf("encoders-%d", len(f.running)))
	if err := encoders.Repository(t.Context(), dir, models...); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(f.root, "test", "models-contract", "joint"), filepath.Join(dir, "joint")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// file writes a file that exists as long as the servers. It returns its path.
func (f *fleet) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(f.binary), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// writeScripts writes the scripts of all rows into a file.
func writeScripts(t *testing.T) string {
	t.Helper()
	var all []script
	for _, r := range rows() {
		all = append(all, r.Scripts...)
		for _, more := range r.More {
			all = append(all, more.Scripts...)
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scripts.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
