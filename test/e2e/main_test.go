// Package e2e tests the trident program as its users meet it: the real binary,
// built with the race detector, before a real tritonserver with the demo
// models, called by real clients. With TRIDENT_TEST_ENGINE=local Triton is in
// trident's process instead, and what needs a tritonserver beside it is left out.
// `make setup-test` installs what it needs.
package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

func TestMain(m *testing.M) {
	code := m.Run()
	for _, text := range violations.rest() {
		fmt.Fprintln(os.Stderr, "e2e:", text)
		code = 1
	}
	for _, undo := range slices.Backward(undos) {
		if err := undo(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			code = 1
		}
	}
	os.Exit(code) //nolint:forbidigo // what the tests share may fail to end, and a TestMain has no error to return
}

// undos end what the tests share, last begun first. Tests run one at a time:
// all of them use the model's four slots.
var undos []func() error

// shared makes a value once, for the first test that needs it. When that fails
// all others that need it fail too.
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

// root is the top of the source tree.
var root = shared(func(*testing.T) (string, error) { return tritonserver.SourceRoot() })

// scratch is a folder for what is built.
var scratch = shared(func(*testing.T) (string, error) {
	dir, err := os.MkdirTemp("", "trident-e2e-*") //nolint:usetesting // it outlives the test that needs it first
	undos = append(undos, func() error { return os.RemoveAll(dir) })
	return dir, err
})

// The programs under test.
var (
	tridentBinary = program("trident", "./cmd/trident")
	demoBinary    = program("demo", "./test/demo")
)

// stamp is the version that they are built with.
const stamp = "v0.0.0-e2e"

func program(name, pkg string) func(t *testing.T) string {
	return shared(func(t *testing.T) (string, error) {
		t.Helper()
		path := filepath.Join(scratch(t), name)
		return path, command(root(t), "go", "build", "-race", "-ldflags=-X main.version="+stamp, "-o", path, pkg)
	})
}

// command runs a tool and gives what it printed with its failure.
func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// installed gives the path of a tool that setup installs for tests.
func installed(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(root(t), ".venv-test", "bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not installed: run make setup-test", name)
	}
	return path
}

// tritonMark is in the environment of that server's processes.
var tritonMark = "TRIDENT_E2E_TRITON=" + rand.Text()

// triton is the tritonserver with the demo models that all tests share.
var triton = shared(func(t *testing.T) (*tritonserver.Server, error) {
	t.Helper()
	if _, err := tritonserver.Find(); err != nil {
		return nil, fmt.Errorf("%w; for the tests: make setup-test", err)
	}
	server, err := tritonserver.Launch(context.Background(), tritonserver.Options{
		Repositories: []string{filepath.Join(root(t), "models")},
		Env:          []string{tritonMark},
	})
	if err == nil {
		undos = append(undos, server.Close)
	}
	return server, err
})

// inProcess says whether trident itself runs Triton.
func inProcess() bool { return os.Getenv("TRIDENT_TEST_ENGINE") == "local" }

// demoModels is the flag by which trident serves the demo models.
func demoModels(t *testing.T) string {
	t.Helper()
	if inProcess() {
		return "--model-repository=" + filepath.Join(root(t), "models")
	}
	return "--triton-endpoint=" + triton(t).GRPC()
}

// needsServer skips a test of trident and a tritonserver beside it.
func needsServer(t *testing.T) {
	t.Helper()
	if inProcess() {
		t.Skip("Triton is in trident's process")
	}
}

// serving is the trident before it that all tests share but those that need
// flags of their own.
var serving = shared(func(t *testing.T) (*trident, error) {
	t.Helper()
	s, err := launch(t, demoModels(t))
	if err != nil {
		return nil, err
	}
	undos = append(undos, s.stop)
	return s, s.awaitModels()
})
