// Package e2e tests the trident program as users run it: the real binary, built with the race
// detector, in front of a real tritonserver with the demo models, called by real clients. With
// TRIDENT_TEST_ENGINE=local the tests use in-process Triton, and tests that need a tritonserver are
// skipped. `make setup-test` installs the dependencies.
package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// Tests that call t.Parallel run in parallel, after all other tests have ended. A parallel test may
// use the shared servers. It must not stop them, depend on their metrics or on their speed, or
// compare responses of the shared chat model: llama.cpp's results change slightly with the other
// requests of a batch. A test that needs this starts its own servers, with the scripted chat model
// (scripted_test.go) if that is sufficient, or runs before the parallel tests.
//
// Go starts the first and the last parallel test first, in the order of files and functions. These
// are TestPlayground and TestWebClient, which take long.

// parallelTests is the number of tests that run in parallel, unless -parallel sets another number. It is
// larger than the number of cores because tests often wait for a process to start or to end.
const parallelTests = 5

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(parallelTests)) // a number is always valid
	}
	code := m.Run()
	for _, text := range violations.rest() {
		fmt.Fprintln(os.Stderr, "e2e:", text)
		code = 1
	}
	for _, err := range undos.run() {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code) //nolint:forbidigo // what the tests share may fail to end, and a TestMain has no error to return
}

// undos contains the functions that end what the tests share.
var undos undoList

// undoList contains the functions by stage. Its methods may be called concurrently.
type undoList struct {
	mu     sync.Mutex
	stages [3][]func() error
}

// The stages in which the suite's processes are ended. Tridents end before the engines that they use.
const (
	tridentsEnd = iota
	enginesEnd
	filesEnd
)

func (u *undoList) add(stage int, undo func() error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stages[stage] = append(u.stages[stage], undo)
}

// begin runs an undo function now, in parallel to the following tests, and reports its error with
// the others.
func (u *undoList) begin(undo func() error) {
	ended := make(chan error, 1)
	go func() { ended <- undo() }()
	u.add(enginesEnd, func() error { return <-ended })
}

// run calls the functions stage by stage, and those of one stage in parallel. It returns the errors.
func (u *undoList) run() []error {
	u.mu.Lock()
	defer u.mu.Unlock()
	var failed []error
	for _, undos := range u.stages {
		errs := make([]error, len(undos))
		var all sync.WaitGroup
		for i, undo := range undos {
			all.Go(func() { errs[i] = undo() })
		}
		all.Wait()
		failed = append(failed, slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
	}
	return failed
}

// shared returns a function that creates a value once, for the first test that needs it. Other tests
// wait for it. If the creation fails, all tests that need the value fail.
func shared[T any](get func(t *testing.T) (T, error)) func(t *testing.T) T {
	var (
		once  sync.Once
		value T
		err   = errors.New("could not be had: see the first test that failed")
	)
	return func(t *testing.T) T {
		t.Helper()
		if testing.Short() {
			t.Skip("needs a real tritonserver")
		}
		once.Do(func() { value, err = get(t) })
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// root returns the top of the source tree.
var root = shared(func(*testing.T) (string, error) { return tritonserver.SourceRoot() })

// lockForTest locks a shared value until the end of the test.
func lockForTest(t *testing.T, mu *sync.Mutex) {
	t.Helper()
	mu.Lock()
	t.Cleanup(mu.Unlock)
}

// scratch returns a folder for built files.
var scratch = shared(func(*testing.T) (string, error) {
	dir, err := os.MkdirTemp("", "trident-e2e-*") //nolint:usetesting // it outlives the test that needs it first
	undos.add(filesEnd, func() error { return os.RemoveAll(dir) })
	return dir, err
})

// tridentBinary returns the path of the program under test.
func tridentBinary(t *testing.T) string {
	t.Helper()
	return filepath.Join(programs(t), "trident")
}

func demoBinary(t *testing.T) string {
	t.Helper()
	return filepath.Join(programs(t), "demo")
}

// testVersion is the version of the built programs.
const testVersion = "v0.0.0-e2e"

// programs returns the folder of the built programs.
var programs = shared(func(t *testing.T) (string, error) {
	t.Helper()
	dir := filepath.Join(scratch(t), "bin")
	return dir, command(root(t), "go", "build", "-race", "-ldflags=-X main.version="+testVersion, "-o", dir+string(filepath.Separator), "./cmd/trident", "./test/demo")
})

// command runs a tool. Its error contains the tool's output.
func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// installed returns the path of a tool that make setup-test installs.
func installed(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(root(t), ".venv-test", "bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not installed: run make setup-test", name)
	}
	return path
}

// demoModels is the engine with the demo models that all tests share.
var demoModels = shared(func(t *testing.T) (engine, error) {
	t.Helper()
	if _, err := tritonserver.Find(); err != nil && !inProcess() {
		return engine{}, fmt.Errorf("%w; for the tests: make setup-test", err)
	}
	return sharedEngine(demoOptions(t))
})

func demoOptions(t *testing.T) tritonserver.Options {
	t.Helper()
	return tritonserver.Options{Repositories: []string{filepath.Join(root(t), "models")}}
}

// serving is the trident in front of demoModels. All tests share it, except those that need other
// flags.
var serving = shared(func(t *testing.T) (*trident, error) {
	t.Helper()
	s, err := demoModels(t).launch(t, "")
	if err != nil {
		return nil, err
	}
	undos.add(tridentsEnd, s.stop)
	return s, s.awaitModels()
})
