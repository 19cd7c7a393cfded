package kservetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/local"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

// RunBesideOthers makes a comparison run in parallel with others: comparisons mostly wait,
// each for its own tritonserver. With in-process Triton they can't run in parallel,
// since it has only one log.
func RunBesideOthers(t *testing.T) {
	t.Helper()
	if os.Getenv("TRIDENT_TEST_LOCAL") == "" {
		t.Parallel()
	}
}

// LocalEngine starts in-process Triton until the test ends.
func LocalEngine(tb testing.TB, repositories []string) *local.Engine {
	tb.Helper()
	config := local.Default()
	config.LogInfo = true // tritonserver logs these lines too
	config.Repositories, config.ControlMode, config.LoadModels = repositories, local.ControlExplicit, []string{local.AllModels}
	engine, err := local.New(config, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	if err := engine.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := engine.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	if err := engine.AwaitModels(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return engine
}

// WithCommon stops the shared tritonserver after the last test.
type WithCommon struct{ *testing.M }

// Run implements [goleak.TestingM].
func (m WithCommon) Run() int {
	code := m.M.Run()
	if err := common.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// common is one tritonserver for all tests that don't change its models and settings.
// The first of these tests starts it.
var common commonServer //nolint:gochecknoglobals // one for all tests of a package

type commonServer struct {
	once   sync.Once
	server *tritonserver.Server
	raw    string // folder of the server's own model repository
	err    error
}

// CommonTriton returns the shared tritonserver.
func CommonTriton(tb testing.TB) *tritonserver.Server {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs tritonserver")
	}
	common.once.Do(func() { common.start(tb) })
	if common.err != nil {
		tb.Fatal(common.err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("tritonserver's log ends with:\n%s", common.server.LogTail(60))
		}
	})
	return common.server
}

// CommonRepositories returns the model repositories of the shared tritonserver.
func CommonRepositories(tb testing.TB) []string {
	tb.Helper()
	return []string{tritontest.Repository(tb), tritontest.ExtensionRepository(tb), tritontest.KServeRepository(tb), common.raw}
}

func (c *commonServer) start(tb testing.TB) {
	tb.Helper()
	if c.raw, c.err = os.MkdirTemp("", "trident-test-"); c.err != nil { //nolint:usetesting // it outlives the test
		return
	}
	if c.err = writeRaw(c.raw, tritontest.ExtensionRepository(tb)); c.err == nil {
		c.server, c.err = tritonserver.Launch(tb.Context(), tritonserver.Options{Repositories: CommonRepositories(tb)})
	}
}

func (c *commonServer) close() error {
	if c.raw == "" {
		return nil
	}
	err := os.RemoveAll(c.raw)
	if c.server != nil {
		c.server.Kill()
		err = errors.Join(err, c.server.Close())
	}
	return err
}

// writeRaw creates a repository of models with one input each, for bodies that are
// only a tensor. Their code is that of the model types.
func writeRaw(root, extensions string) error {
	code, err := os.ReadFile(filepath.Join(extensions, "types", "1", "model.py"))
	if err != nil {
		return err
	}
	for name, tensor := range map[string]string{
		"wide": "TYPE_FP32 dims: [ -1 ]", "line": "TYPE_STRING dims: [ 1 ]", "field": "TYPE_FP32 dims: [ -1, -1 ]", "lines": "TYPE_STRING dims: [ -1 ]",
	} {
		config := fmt.Sprintf("backend: \"python\"\ninput { name: \"X\" data_type: %s }\noutput { name: \"X\" data_type: %s }\n", tensor, tensor)
		dir := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "1"), 0o750),
			os.WriteFile(filepath.Join(dir, "config.pbtxt"), []byte(config), 0o600),
			os.WriteFile(filepath.Join(dir, "1", "model.py"), code, 0o600)); err != nil { //nolint:gosec // a folder of the tests
			return err
		}
	}
	return nil
}

// Pause delays a test that polls until something has happened in tritonserver.
func Pause(ctx context.Context) {
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
	}
}
