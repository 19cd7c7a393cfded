package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// inProcess reports whether the tests use in-process Triton.
func inProcess() bool { return os.Getenv("TRIDENT_TEST_ENGINE") == "local" }

// needsServer skips a test that needs a tritonserver beside trident.
func needsServer(t *testing.T) {
	t.Helper()
	if inProcess() {
		t.Skip("Triton runs in process, so there is no tritonserver")
	}
}

// engine is the Triton whose models a trident serves: a tritonserver, or in-process Triton.
type engine struct {
	server *tritonserver.Server // nil with in-process Triton
	flags  []string             // flags by which trident finds the models
	// files are further flags, by which trident finds files beside the models of a tritonserver.
	files []string
	env   []string // environment of trident's process, with in-process Triton
}

func launchEngine(options tritonserver.Options) (engine, error) {
	if inProcess() {
		e := engine{flags: slices.Clone(options.Args), env: options.Env}
		for _, repository := range options.Repositories {
			e.flags = append(e.flags, "--model-repository="+repository)
		}
		return e, nil
	}
	server, err := tritonserver.Launch(context.Background(), options)
	if err != nil {
		return engine{}, err
	}
	e := engine{server: server, flags: []string{"--triton-endpoint=" + server.GRPC()}}
	for _, repository := range options.Repositories {
		if _, err := os.Stat(filepath.Join(repository, "chat", "tokenizer")); err == nil {
			e.files = append(e.files, "--triton-model-repository="+repository)
		}
	}
	return e, nil
}

// sharedEngine returns an engine that ends with the last test.
func sharedEngine(options tritonserver.Options) (engine, error) {
	e, err := launchEngine(options)
	if err == nil && e.server != nil {
		undos.add(enginesEnd, e.server.Close)
	}
	return e, err
}

// ownEngine returns an engine that ends after the test. tritonserver needs some idle seconds to end.
func ownEngine(t *testing.T, options tritonserver.Options) engine {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real Triton")
	}
	e, err := launchEngine(options)
	if err != nil {
		t.Fatal(err)
	}
	if e.server != nil {
		name := t.Name()
		t.Cleanup(func() {
			undos.begin(func() error {
				if err := e.server.Close(); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				return nil
			})
		})
	}
	return e
}

// launch starts a trident in front of the engine, in the working directory dir unless that is empty.
func (e engine) launch(t *testing.T, dir string, flags ...string) (*trident, error) {
	t.Helper()
	s, err := launchAt(t, dir, e.env, slices.Concat(e.flags, e.files, flags)...)
	if err != nil {
		return nil, err
	}
	s.server = e.server
	return s, nil
}

// start launches a trident of the test's own in front of the engine. It ends with the test.
func (e engine) start(t *testing.T, flags ...string) *trident {
	t.Helper()
	return e.startAt(t, "", flags...)
}

// startAt is like start, with another working directory.
func (e engine) startAt(t *testing.T, dir string, flags ...string) *trident {
	t.Helper()
	s, err := e.launch(t, dir, flags...)
	return owned(t, s, err)
}

// startReady is like start, and waits until all models are ready.
func (e engine) startReady(t *testing.T, flags ...string) *trident {
	t.Helper()
	s := e.start(t, flags...)
	s.awaitReady(t)
	return s
}
