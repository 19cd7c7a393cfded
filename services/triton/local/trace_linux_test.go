//go:build cgo

package local

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/pause"
)

// traceable is an engine whose trace settings can be changed.
type traceable interface {
	inference.Engine
	inference.Settings
}

func setTraces(t *testing.T, engine traceable, settings map[string][]string) {
	t.Helper()
	req := &kserve.TraceSettingRequest{Settings: map[string]*kserve.TraceSettingRequest_SettingValue{}}
	for name, values := range settings {
		req.Settings[name] = &kserve.TraceSettingRequest_SettingValue{Value: values}
	}
	if _, err := engine.TraceSetting(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, engine inference.Engine, req *kserve.ModelInferRequest) error {
	t.Helper()
	for _, err := range engine.Stream(t.Context(), req) {
		if err != nil {
			return err
		}
	}
	return nil
}

// traceLines waits for a file of traces and returns its objects.
func traceLines(t *testing.T, path string) (lines []map[string]any) {
	t.Helper()
	var text []byte
	var err error
	if !pause.Until(10*time.Second, func() bool {
		lines = nil
		text, err = os.ReadFile(path)
		return err == nil && json.Unmarshal(text, &lines) == nil
	}) {
		t.Fatalf("%s: %v: %s", path, err, text)
	}
	return lines
}

// TestTraceFile checks that in-process Triton writes the same trace file for a request as the real
// tritonserver, except for numbers, times, and activities of tritonserver's connections.
func TestTraceFile(t *testing.T) {
	needsTriton(t)
	serverFile, ownFile := filepath.Join(t.TempDir(), "traces"), filepath.Join(t.TempDir(), "traces")
	server := tritontest.StartServer(t, tritonserver.Options{Args: []string{"--trace-config=triton,file=" + serverFile}})
	remote := tritontest.Connect(t, server)
	config := suiteConfig(t)
	config.Trace.File = ownFile
	own := start(t, config)
	defer stop(t, own)

	var got [2][]string
	for i, engine := range []traceable{remote, own} {
		setTraces(t, engine, map[string][]string{"trace_level": {"TIMESTAMPS", "TENSORS"}, "trace_rate": {"1"}, "log_frequency": {"1"}})
		req := numbered(2, number("SIZE", 0), key(t.Name()))
		req.Id = "an id"
		if err := run(t, engine, req); err != nil {
			t.Error(err)
		}
		got[i] = alike(traceLines(t, []string{serverFile, ownFile}[i]+".0"))
	}
	if !slices.Equal(got[0], got[1]) {
		t.Errorf("tritonserver's trace:\n%s\nthe one of in-process Triton:\n%s", strings.Join(got[0], "\n"), strings.Join(got[1], "\n"))
	}
	if all := strings.Join(got[1], "\n"); !strings.Contains(all, `model_name:stream`) || !strings.Contains(all, "REQUEST_END") || !strings.Contains(all, `data:"TestTraceFile"`) {
		t.Errorf("the trace lacks something:\n%s", all)
	}
}

// alike returns the objects of a trace as sorted strings, without values that
// differ between runs. It drops the activities of connections, which only
// tritonserver has.
func alike(lines []map[string]any) (all []string) {
	for _, line := range lines {
		delete(line, "id")
		if stamps, ok := line["timestamps"].([]any); ok {
			for _, stamp := range stamps {
				delete(stamp.(map[string]any), "ns")
			}
		}
		text := fmt.Sprint(line)
		if !strings.Contains(text, "GRPC_") && !strings.Contains(text, "INFER_RESPONSE_COMPLETE") {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return all
}

// TestTraces checks the number and the limit of the traces of many concurrent requests, some of which
// Triton refuses, while the trace settings change.
func TestTraces(t *testing.T) {
	config := suiteConfig(t)
	config.Trace.File = filepath.Join(t.TempDir(), "traces")
	engine := start(t, config)
	stopped := false
	defer func() {
		if !stopped {
			stop(t, engine)
		}
	}()
	if err := run(t, engine, numbered(1)); err != nil {
		t.Fatal(err)
	}
	if n := len(engine.core.tracer.running); n != 0 || engine.core.tracer.last != 0 {
		t.Errorf("%d traces while tracing is off", engine.core.tracer.last)
	}
	setTraces(t, engine, map[string][]string{"trace_level": {"TIMESTAMPS"}, "trace_rate": {"2"}, "trace_count": {"3"}})
	for range 10 {
		if err := run(t, engine, numbered(1)); err != nil {
			t.Fatal(err)
		}
	}
	if n := models(traceLines(t, config.Trace.File+".0")); n != 3 {
		t.Errorf("the file has %d traces, want 3", n)
	}
	setTraces(t, engine, map[string][]string{"trace_rate": {"1"}, "trace_count": {"-1"}})
	var group sync.WaitGroup
	const requests, refused = 40, 10
	for i := range requests {
		group.Go(func() {
			req := numbered(5)
			if i < refused {
				req = request(number("NONSENSE", 1))
			}
			if err := run(t, engine, req); (err != nil) != (i < refused) {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	group.Wait()
	stop(t, engine)
	stopped = true
	if n := models(traceLines(t, config.Trace.File)); n != requests-refused {
		t.Errorf("the file has %d traces, want %d", n, requests-refused)
	}
}

// models returns the number of requests in the lines of a file.
func models(lines []map[string]any) (n int) {
	for _, line := range lines {
		if _, begins := line["model_name"]; begins {
			n++
		}
	}
	return n
}
