//go:build cgo && linux

package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// alone runs the test in a process of its own, where it gets false: after it no
// other engine can be started.
func alone(t *testing.T) (elsewhere bool) {
	t.Helper()
	const variable = "TRIDENT_TEST_ALONE"
	needsTriton(t)
	if os.Getenv(variable) == t.Name() {
		return false
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	// The address sanitizer's search for leaks doesn't survive a Triton that was abandoned.
	cmd.Env = append(os.Environ(), variable+"="+t.Name(), "ASAN_OPTIONS="+os.Getenv("ASAN_OPTIONS")+":detect_leaks=0")
	cmd.WaitDelay = time.Second // a process that it leaves holds the pipe
	if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "--- PASS: "+t.Name()) {
		t.Errorf("%v:\n%s", err, text)
	}
	return true
}

// hanging is a model that never answers and never looks whether it is cancelled.
const hanging = `import time

class TritonPythonModel:
    def execute(self, requests):
        time.sleep(3600)
`

func hangingConfig(t *testing.T) Config {
	t.Helper()
	repository := t.TempDir()
	model := touch(t, repository, "hanging", "1", "model.py")
	settings := "backend: \"python\"\ninput [ { name: \"IN\" data_type: TYPE_INT32 dims: [ 1 ] } ]\n" +
		"output [ { name: \"OUT\" data_type: TYPE_INT32 dims: [ 1 ] } ]\ninstance_group [ { kind: KIND_CPU } ]\n"
	for path, text := range map[string]string{model: hanging, filepath.Join(repository, "hanging", "config.pbtxt"): settings} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := Default()
	config.Repositories = []string{repository}
	config.ExitTimeout = time.Second
	config.Inactivity = 300 * time.Millisecond
	return config
}

// TestStopWithHangingModel ends in bounded time whatever a model does, and
// leaves no process of it.
func TestStopWithHangingModel(t *testing.T) {
	if alone(t) {
		return
	}
	config := hangingConfig(t)
	engine := start(t, config)
	req := request(number("IN", 1))
	req.ModelName = "hanging"
	for _, err := range engine.Stream(t.Context(), req) {
		if e := inference.AsError(err); e.Code != inference.CodeUnavailable || e.Reason != inference.ReasonInactive {
			t.Errorf("got %v", err)
		}
	}
	if n := engine.core.queue.requests(); n != 1 {
		t.Errorf("the model holds %d requests, want 1", n)
	}
	began := time.Now()
	if err := engine.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "1 requests") || !strings.Contains(err.Error(), "1 processes killed") {
		t.Errorf("the stop gave %v", err)
	}
	if took := time.Since(began); took > 3*config.ExitTimeout {
		t.Errorf("the stop took %s", took)
	}
	if left := leftovers(t); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
	if err := engine.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "start a new process") {
		t.Errorf("the next start gave %v", err)
	}
}

// TestStubDies takes the process of a model away under a stream: the stream ends
// by its limit, and a reload brings the model back.
func TestStubDies(t *testing.T) {
	if alone(t) {
		return
	}
	config := suiteConfig(t)
	config.ControlMode, config.LoadModels = ControlExplicit, []string{"stream"}
	config.Inactivity = time.Second
	engine := start(t, config)
	got := 0
	var failed error
	for _, failed = range engine.Stream(t.Context(), numbered(1_000_000, number("DELAY", 5))) {
		got++
		if got == 3 {
			all := stubs(engine.core.prefix)
			if len(all) != 1 {
				t.Fatalf("processes of the model: %v", all)
			}
			for _, pid := range all {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if e := inference.AsError(failed); e.Code != inference.CodeUnavailable {
		t.Errorf("got %v", failed)
	}
	if _, err := engine.RepositoryModelUnload(t.Context(), &kserve.RepositoryModelUnloadRequest{ModelName: "stream"}); err != nil {
		t.Error(err)
	}
	if err := reload(t, engine, nil); err != nil {
		t.Error(err)
	}
	for _, err := range engine.Stream(t.Context(), numbered(3)) {
		if err != nil {
			t.Errorf("after the reload: %v", err)
		}
	}
	began := time.Now()
	t.Logf("the stop gave %v", engine.Stop(t.Context()))
	if took := time.Since(began); took > 3*config.ExitTimeout+time.Second {
		t.Errorf("the stop took %s", took)
	}
	if left := leftovers(t); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
}
