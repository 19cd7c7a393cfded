//go:build cgo && linux

package local

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/pause"
)

func TestSuite(t *testing.T) {
	tritontest.RunSuite(t, func(testing.TB) tritontest.Subject {
		return tritontest.Subject{Open: func(tb testing.TB, limits tritontest.Limits) tritontest.Engine {
			tb.Helper()
			config := suiteConfig(tb)
			config.KeepAlive, config.FirstResponse, config.Inactivity = limits.KeepAlive, limits.FirstResponse, limits.Inactivity
			config.Trace.File, config.LogInfo = tritontest.TraceFile(tb), true
			return start(tb, config)
		}}
	})
}

func suiteConfig(tb testing.TB) Config {
	tb.Helper()
	config := Default()
	config.Repositories = []string{tritontest.Repository(tb)}
	return config
}

// start returns an engine whose models have been loaded. The caller must stop
// it.
func start(tb testing.TB, config Config) *Engine {
	tb.Helper()
	engine := begin(tb, config)
	if err := engine.AwaitModels(tb.Context()); err != nil {
		tb.Error(err)
	}
	return engine
}

func begin(tb testing.TB, config Config) *Engine {
	tb.Helper()
	needsTriton(tb)
	engine, err := New(config, slog.New(slog.NewTextHandler(tb.Output(), nil)))
	if err != nil {
		tb.Fatal(err)
	}
	if err := engine.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return engine
}

// needsTriton skips a test that starts Triton in the test's process. These tests
// take minutes in total, so they are a separate suite.
func needsTriton(tb testing.TB) {
	tb.Helper()
	if os.Getenv("TRIDENT_TEST_LOCAL") == "" && os.Getenv("TRIDENT_TEST_GPU") == "" {
		tb.Skip("slow: make test-local runs it")
	}
}

func stop(tb testing.TB, engine *Engine) {
	tb.Helper()
	if err := engine.Stop(context.Background()); err != nil {
		tb.Error(err)
	}
}

// leftovers returns the processes and the shared memory of this process's
// servers.
func leftovers(tb testing.TB) []string {
	tb.Helper()
	prefix := "trident_" + strconv.Itoa(os.Getpid()) + "_"
	left, err := filepath.Glob("/dev/shm/" + prefix + "*")
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range stubsOf(prefix) {
		left = append(left, "process "+strconv.Itoa(s.pid))
	}
	return left
}

func TestCycles(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	config := suiteConfig(t)
	const cycles, warm = 20, 5
	var grown int64
	for i := range cycles {
		engine := start(t, config)
		if len(leftovers(t)) < 4 {
			t.Errorf("two models have %q", leftovers(t))
		}
		stop(t, engine)
		if left := leftovers(t); len(left) > 0 {
			t.Fatalf("cycle %d left %q", i, left)
		}
		if i == warm {
			grown = -resident(t)
		}
	}
	if grown += resident(t); grown > 32<<20 {
		t.Errorf("%d cycles grew the process by %d MiB", cycles-warm-1, grown>>20)
	}
}

// awaitLive waits until Triton and the shim have freed all objects.
func awaitLive(t *testing.T, engine *Engine) {
	t.Helper()
	if !pause.Until(5*time.Second, func() bool { return engine.core.queue.live() == 0 }) {
		t.Fatalf("%d objects are left", engine.core.queue.live())
	}
}

// resident returns the resident memory of this process in bytes, after a
// garbage collection.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// numbered returns a request to the suite's decoupled model.
func numbered(count int32, inputs ...input) *kserve.ModelInferRequest {
	return request(append(inputs, number("COUNT", count))...)
}

type input struct {
	name, datatype string
	raw            []byte
}

func number(name string, value int32) input {
	return input{name, "INT32", binary.LittleEndian.AppendUint32(nil, uint32(value))}
}

func key(value string) input {
	return input{"KEY", "BYTES", append(binary.LittleEndian.AppendUint32(nil, uint32(len(value))), value...)}
}

func request(inputs ...input) *kserve.ModelInferRequest {
	req := &kserve.ModelInferRequest{ModelName: "stream"}
	for _, in := range inputs {
		req.Inputs = append(req.Inputs, &kserve.ModelInferRequest_InferInputTensor{Name: in.name, Datatype: in.datatype, Shape: []int64{1}})
		req.RawInputContents = append(req.RawInputContents, in.raw)
	}
	return req
}

func TestOverflow(t *testing.T) {
	config := suiteConfig(t)
	config.QueueBytes = 1 << 20
	engine := start(t, config)
	defer stop(t, engine)
	var failed error
	got := 0
	for _, failed = range engine.Stream(t.Context(), numbered(1_000_000, number("SIZE", 64<<10), key(t.Name()))) {
		got++
		if got == 1 {
			awaitCancelled(t, engine)
		}
	}
	if e := inference.AsError(failed); e != errOverflow && e.Message != errOverflow.Message {
		t.Errorf("got %v", failed)
	}
	if got > 2 { // a response, if the consumer was faster than the overflow, and the failure
		t.Errorf("%d more responses were handed out", got-2)
	}
	// A single response of any size is accepted.
	for response, err := range engine.Stream(t.Context(), numbered(1, number("SIZE", 3<<20))) {
		if err != nil || !response.Final && len(response.Outputs[0].Raw)+len(response.Outputs[1].Raw) != 3<<20+4 {
			t.Errorf("got %v, %v", response, err)
		}
	}
}

// awaitCancelled waits until the model has detected that its request was
// cancelled.
func awaitCancelled(t *testing.T, engine *Engine) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	late := time.After(10 * time.Second)
	for state := ""; !strings.HasSuffix(state, "cancelled"); {
		select {
		case <-poll.C:
		case <-late:
			t.Fatalf("the request is %q", state)
		}
		for response, err := range engine.Stream(t.Context(), request(key(t.Name()))) {
			if err != nil {
				t.Fatal(err)
			}
			for _, out := range response.Outputs {
				if out.Name == "STATE" {
					state = string(out.Raw)
				}
			}
		}
	}
}

func TestControl(t *testing.T) {
	config := suiteConfig(t)
	config.ControlMode, config.LoadModels = ControlExplicit, []string{"echo"}
	engine := start(t, config)
	defer stop(t, engine)
	if got := ready(t, engine); !slices.Equal(got, []string{"echo"}) {
		t.Fatalf("at start %q are ready", got)
	}
	if err := loadInvalid(t, engine); !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("a load with a wrong configuration: %v", err)
	}
	wrong := &kserve.ModelRepositoryParameter{ParameterChoice: &kserve.ModelRepositoryParameter_Int64Param{Int64Param: 1}}
	if err := reload(t, engine, map[string]*kserve.ModelRepositoryParameter{"more": wrong}); inference.AsError(err).Code != inference.CodeInvalid {
		t.Errorf("a load with an unknown parameter: %v", err)
	}
	if err := reload(t, engine, nil); err != nil {
		t.Fatal(err)
	}
	if got := ready(t, engine); !slices.Equal(got, []string{"echo", "stream"}) {
		t.Fatalf("after the load %q are ready", got)
	}
	if _, err := engine.RepositoryModelUnload(t.Context(), &kserve.RepositoryModelUnloadRequest{ModelName: "stream"}); err != nil {
		t.Fatal(err)
	}
	for _, err := range engine.Stream(t.Context(), numbered(1)) {
		if e := (*inference.Error)(nil); !errors.As(err, &e) || e.Reason != inference.ReasonModelNotReady && e.Reason != inference.ReasonModelNotFound {
			t.Errorf("a request to the unloaded model: %v", err)
		}
	}
}

func reload(t *testing.T, engine *Engine, parameters map[string]*kserve.ModelRepositoryParameter) error {
	t.Helper()
	_, err := engine.RepositoryModelLoad(t.Context(), &kserve.RepositoryModelLoadRequest{ModelName: "stream", Parameters: parameters})
	return err
}

// loadInvalid loads a model with an invalid configuration and returns the
// error.
func loadInvalid(t *testing.T, engine *Engine) *inference.Error {
	t.Helper()
	config := &kserve.ModelRepositoryParameter_StringParam{StringParam: `{"backend": "nonsense"}`}
	err := reload(t, engine, map[string]*kserve.ModelRepositoryParameter{"config": {ParameterChoice: config}})
	if err == nil {
		t.Fatal("loaded")
	}
	return inference.AsError(err)
}

func ready(t *testing.T, engine *Engine) []string {
	t.Helper()
	models, err := engine.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range models {
		if m.State == inference.ModelReady {
			names = append(names, m.Name)
		}
	}
	return names
}

func TestFailedModels(t *testing.T) {
	repository := t.TempDir()
	for _, name := range []string{"one", "two"} {
		touch(t, repository, name, "1", "model.py")
		text := "backend: \"nonsense\"\n"
		if err := os.WriteFile(filepath.Join(repository, name, "config.pbtxt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := suiteConfig(t)
	config.Repositories = append(config.Repositories, repository)
	engine := begin(t, config)
	defer stop(t, engine)
	err := engine.AwaitModels(t.Context())
	if err == nil || !strings.Contains(err.Error(), "model one: ") || !strings.Contains(err.Error(), "model two: ") {
		t.Errorf("got %v", err)
	}
	if got := ready(t, engine); !slices.Equal(got, []string{"echo", "stream"}) {
		t.Errorf("%q are ready", got)
	}
	if err := inference.AsError(engine.Ready(t.Context())); err.Reason != inference.ReasonModelNotReady {
		t.Errorf("the engine is %v", err)
	}
}

// TestStopAfterFailedReload checks that Engine.Stop returns in time and leaves no process, although
// Triton waits indefinitely for a model whose reload failed.
func TestStopAfterFailedReload(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	config := suiteConfig(t)
	config.ControlMode, config.LoadModels = ControlExplicit, []string{"stream"}
	engine := start(t, config)
	loadInvalid(t, engine)
	began := time.Now()
	stop(t, engine)
	if took := time.Since(began); took > 3*config.ExitTimeout {
		t.Errorf("it took %s", took)
	}
	if left := leftovers(t); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
}

// TestStopWhileLoading checks that an engine can be stopped while it loads its models, and that it
// leaves no process and no shared memory.
func TestStopWhileLoading(t *testing.T) {
	engine := begin(t, suiteConfig(t))
	if err := inference.AsError(engine.Ready(t.Context())); err.Reason != inference.ReasonModelNotReady {
		t.Errorf("while loading: %v", err)
	}
	waited := make(chan error, 1)
	go func() { waited <- engine.AwaitModels(t.Context()) }()
	stop(t, engine)
	<-waited
	if left := leftovers(t); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
	if err := inference.AsError(engine.Ready(t.Context())); err.Reason != inference.ReasonShuttingDown {
		t.Errorf("after the stop: %v", err)
	}
}
