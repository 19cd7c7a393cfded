//go:build cgo && linux

package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// inOwnProcess runs the test in a process of its own and returns true. In that process
// inOwnProcess returns false. inOwnProcess is for tests after which no other engine
// can be started in the process.
func inOwnProcess(t *testing.T) (elsewhere bool) {
	t.Helper()
	const variable = "TRIDENT_TEST_ALONE"
	needsTriton(t)
	if os.Getenv(variable) == t.Name() {
		return false
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	// The leak detection of the address sanitizer crashes after a Triton that was
	// abandoned.
	cmd.Env = append(os.Environ(), variable+"="+t.Name(), "ASAN_OPTIONS="+os.Getenv("ASAN_OPTIONS")+":detect_leaks=0")
	cmd.WaitDelay = time.Second // a remaining child of the process holds the pipe open
	if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "--- PASS: "+t.Name()) {
		t.Errorf("%v:\n%s", err, text)
	}
	return true
}

// hanging is a model that never responds and never checks for a cancellation.
const hanging = `import time

class TritonPythonModel:
    def execute(self, requests):
        time.sleep(3600)
`

// repositoryOf writes Python models with an input number IN and an output number
// OUT.
func repositoryOf(t *testing.T, sources map[string]string) string {
	t.Helper()
	repository := t.TempDir()
	const settings = "backend: \"python\"\ninput [ { name: \"IN\" data_type: TYPE_INT32 dims: [ 1 ] } ]\n" +
		"output [ { name: \"OUT\" data_type: TYPE_INT32 dims: [ 1 ] } ]\ninstance_group [ { kind: KIND_CPU } ]\n"
	for name, source := range sources {
		code := touch(t, repository, name, "1", "model.py")
		for path, text := range map[string]string{code: source, filepath.Join(repository, name, "config.pbtxt"): settings} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return repository
}

func configOf(t *testing.T, sources map[string]string) Config {
	t.Helper()
	config := Default()
	config.Repositories = []string{repositoryOf(t, sources)}
	config.ExitTimeout = 3 * time.Second
	return config
}

// stopped stops an engine whose Triton possibly doesn't end.
func stopped(t *testing.T, engine *Engine, limit time.Duration) {
	t.Helper()
	began := time.Now()
	if err := engine.Stop(t.Context()); err != nil {
		t.Errorf("the stop gave %v", err)
	}
	t.Logf("the stop took %s", time.Since(began))
	if took := time.Since(began); took > limit {
		t.Errorf("the stop took %s, want no more than %s", took, limit)
	}
	if left := leftovers(t); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
}

// TestStopWithHangingModel checks that Engine.Stop returns within its limit and leaves no process
// of the model, although the model hangs.
func TestStopWithHangingModel(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	config := configOf(t, map[string]string{"hanging": hanging})
	config.FirstResponse = 300 * time.Millisecond
	engine := start(t, config)
	if e := inference.AsError(ask(t, engine, "hanging", 1)); e.Code != inference.CodeUnavailable || e.Reason != inference.ReasonInactive {
		t.Errorf("got %v", e)
	}
	if n := engine.core.queue.requests(); n != 1 {
		t.Errorf("the model holds %d requests, want 1", n)
	}
	stopped(t, engine, config.ExitTimeout+2*killTime)
}

// ask sends a number to a model and returns the error.
func ask(t *testing.T, engine *Engine, model string, n int32) error {
	t.Helper()
	req := request(number("IN", n))
	req.ModelName = model
	var failed error
	for _, err := range engine.Stream(t.Context(), req) {
		failed = err
	}
	return failed
}
