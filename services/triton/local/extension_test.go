//go:build cgo && linux

package local

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/pause"
)

// sharing is an engine that supports shared memory.
type sharing interface {
	inference.Engine
	inference.SharedMemory
}

func extensionEngine(t *testing.T) *Engine {
	t.Helper()
	config := Default()
	config.Repositories = []string{tritontest.ExtensionRepository(t)}
	engine := start(t, config)
	t.Cleanup(func() { stop(t, engine) })
	return engine
}

func remoteEngine(t *testing.T) *triton.Engine {
	t.Helper()
	server := tritontest.StartServer(t, tritonserver.Options{Repositories: []string{tritontest.ExtensionRepository(t)}})
	return tritontest.Connect(t, server)
}

// object is a shared memory object of the test, one page long.
type object struct{ path string }

func newObject(t *testing.T, content []byte) object {
	t.Helper()
	file, err := os.CreateTemp("/dev/shm", "trident-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(file.Name()) })
	_, err = file.Write(content)
	if err := errors.Join(err, file.Truncate(int64(os.Getpagesize())), file.Close()); err != nil {
		t.Fatal(err)
	}
	return object{file.Name()}
}

func (o object) register(t *testing.T, engine inference.SharedMemory, name string) {
	t.Helper()
	req := &kserve.SystemSharedMemoryRegisterRequest{Name: name, Key: "/" + filepath.Base(o.path), ByteSize: uint64(os.Getpagesize())}
	if _, err := engine.SystemSharedMemoryRegister(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A busy tritonserver may send the last response before it releases the
		// region.
		late := time.Now().Add(5 * time.Second)
		for {
			_, err := engine.SystemSharedMemoryUnregister(context.Background(), &kserve.SystemSharedMemoryUnregisterRequest{Name: name})
			if err == nil {
				return
			}
			if !strings.Contains(err.Error(), "in use") || time.Now().After(late) {
				t.Error(err)
				return
			}
			<-time.After(time.Millisecond)
		}
	})
}

func (o object) read(t *testing.T, from, size int) []byte {
	t.Helper()
	content, err := os.ReadFile(o.path)
	if err != nil {
		t.Fatal(err)
	}
	return content[from : from+size]
}

type parameters = inferencetest.Params

func in(region string, offset, size int64) parameters {
	return parameters{"shared_memory_region": inferencetest.String(region), "shared_memory_offset": inferencetest.Int64(offset), "shared_memory_byte_size": inferencetest.Int64(size)}
}

// tensors is a request to a model of test/models-ext. It has one input, which
// may have parameters instead of contents, and an output with the same name.
type tensors struct {
	model, name, datatype string
	shape                 []int64
	raw                   []byte
	input, output         parameters
}

func (x tensors) request() *kserve.ModelInferRequest {
	req := &kserve.ModelInferRequest{
		ModelName: x.model,
		Inputs:    []*kserve.ModelInferRequest_InferInputTensor{{Name: x.name, Datatype: x.datatype, Shape: x.shape, Parameters: x.input}},
		Outputs:   []*kserve.ModelInferRequest_InferRequestedOutputTensor{{Name: x.name, Parameters: x.output}},
	}
	if x.raw != nil {
		req.RawInputContents = [][]byte{x.raw}
	}
	return req
}

// answerOf returns the only output of the only response as a string, and the
// error.
func answerOf(t *testing.T, engine inference.Engine, req *kserve.ModelInferRequest) (string, *inference.Error) {
	t.Helper()
	answer := ""
	for response, err := range engine.Stream(t.Context(), req) {
		if err != nil {
			return "", inference.AsError(err)
		}
		for _, out := range response.Outputs {
			part := "nowhere"
			if out.Shared != nil {
				part = fmt.Sprint(*out.Shared)
			}
			answer += fmt.Sprintf("%s %s %v %q in %s, version %s", out.Name, out.Type, out.Shape, out.Raw, part, response.Version)
		}
	}
	return answer, nil
}

func fp32(values ...float32) []byte {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return raw
}

// TestExtensionsMatchTritonserver sends the same requests to both engines and compares the
// responses. One engine uses tritonserver's classification and shared memory, the
// other Trident's.
func TestExtensionsMatchTritonserver(t *testing.T) {
	local := extensionEngine(t)
	remote := remoteEngine(t)
	content := fp32(4, 3, 2, 1)
	object := newObject(t, content)
	object.register(t, local, "r")
	object.register(t, remote, "r")
	for name, x := range comparedRequests(content) {
		t.Run(name, func(t *testing.T) {
			want, wantErr := answerOf(t, remote, x.request())
			got, gotErr := answerOf(t, local, x.request())
			switch {
			case (gotErr == nil) != (wantErr == nil):
				t.Errorf("got  %s, %v\nwant %s, %v", got, gotErr, want, wantErr)
			case gotErr != nil && (gotErr.Message != wantErr.Message || gotErr.Code != wantErr.Code):
				t.Errorf("got  %s %q\nwant %s %q", gotErr.Code, gotErr.Message, wantErr.Code, wantErr.Message)
			case got != want || want == "" && wantErr == nil:
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func comparedRequests(content []byte) map[string]tensors {
	classes := func(n int64) parameters { return parameters{"classification": inferencetest.Int64(n)} }
	floats := tensors{model: "types", name: "FP32", datatype: "FP32", shape: []int64{4}, raw: content}
	of := func(datatype string, width int, n int64) tensors {
		return tensors{model: "types", name: datatype, datatype: datatype, shape: []int64{int64(16 / width)}, raw: content, output: classes(n)}
	}
	with := func(x tensors, input, output parameters) tensors {
		x.input, x.output = input, output
		if input["shared_memory_region"] != nil {
			x.raw = nil
		}
		return x
	}
	rows := tensors{model: "rows", name: "FP32", datatype: "FP32", shape: []int64{2, 2}, raw: content, output: classes(1)}
	long := rows
	long.shape, long.output = []int64{4, 1}, classes(7)
	return map[string]tensors{
		"best":               with(floats, nil, classes(2)),
		"all and more":       with(floats, nil, classes(9)),
		"batch":              rows,
		"batch of scalars":   long,
		"UINT8":              of("UINT8", 1, 20),
		"UINT16":             of("UINT16", 2, 3),
		"UINT32":             of("UINT32", 4, 3),
		"UINT64":             of("UINT64", 8, 3),
		"INT8":               of("INT8", 1, 1),
		"INT16":              of("INT16", 2, 1),
		"INT32":              of("INT32", 4, 3),
		"INT64":              of("INT64", 8, 3),
		"FP64":               of("FP64", 8, 3),
		"BOOL":               of("BOOL", 1, 3),
		"FP16":               of("FP16", 2, 3),
		"no classes":         with(floats, nil, classes(0)),
		"classes as text":    with(floats, nil, parameters{"classification": inferencetest.String("2")}),
		"input shared":       with(floats, in("r", 0, 16), nil),
		"part shared":        {model: "types", name: "FP32", datatype: "FP32", shape: []int64{2}, input: in("r", 4, 8)},
		"output shared":      with(floats, nil, in("r", 64, 16)),
		"both shared":        with(floats, in("r", 0, 16), in("r", 128, 100)),
		"shared and classed": with(floats, nil, parameters{"shared_memory_region": inferencetest.String("r"), "shared_memory_byte_size": inferencetest.Int64(16), "classification": inferencetest.Int64(1)}),
		"output too large":   with(floats, nil, in("r", 64, 15)),
		"input too small":    with(floats, in("r", 0, 12), nil),
		"unknown region":     with(floats, in("q", 0, 16), nil),
		"unknown for output": with(floats, nil, in("q", 0, 16)),
		"beyond the region":  with(floats, in("r", 4096, 1), nil),
		"over its end":       with(floats, in("r", 4090, 16), nil),
		"no size":            with(floats, parameters{"shared_memory_region": inferencetest.String("r")}, nil),
		"no region":          with(floats, parameters{"shared_memory_offset": inferencetest.Int64(1)}, nil),
		"size without it":    with(floats, parameters{"shared_memory_byte_size": inferencetest.Int64(1)}, nil),
		"region as number":   with(floats, parameters{"shared_memory_region": inferencetest.Int64(1)}, nil),
		"offset as text":     with(floats, parameters{"shared_memory_region": inferencetest.String("r"), "shared_memory_offset": inferencetest.String("1")}, nil),
		"size as text":       with(floats, parameters{"shared_memory_region": inferencetest.String("r"), "shared_memory_byte_size": inferencetest.String("1")}, nil),
		"other parameters":   with(floats, parameters{"binary_data_size": inferencetest.Int64(16)}, parameters{"binary_data": inferencetest.String("x")}),
	}
}

// TestSharedOutput checks that the local and the remote engine write an output only to the shared
// memory that the request names. The response doesn't have the data.
func TestSharedOutput(t *testing.T) {
	engines := map[string]func(*testing.T) sharing{
		"local":  func(t *testing.T) sharing { t.Helper(); return extensionEngine(t) },
		"remote": func(t *testing.T) sharing { t.Helper(); return remoteEngine(t) },
	}
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			engine := open(t)
			object := newObject(t, fp32(4, 3, 2, 1))
			object.register(t, engine, "r")
			req := tensors{model: "types", name: "FP32", datatype: "FP32", shape: []int64{4}, input: in("r", 0, 16), output: in("r", 100, 16)}.request()
			got, err := answerOf(t, engine, req)
			if err != nil || got != `FP32 FP32 [4] "" in {r 100 16}, version 1` { //nolint:dupword // name and type
				t.Errorf("got %s, %v", got, err)
			}
			if got := object.read(t, 100, 16); !bytes.Equal(got, fp32(4, 3, 2, 1)) {
				t.Errorf("the memory holds %v", got)
			}
		})
	}
}

// TestRegionOutlivesStream checks that the memory of an unregistered region stays mapped until the
// model has released the request that uses it, and no longer. The client of the request has
// disconnected.
func TestRegionOutlivesStream(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	engine := extensionEngine(t)
	object := newObject(t, fp32(4, 3, 2, 1))
	object.register(t, engine, "r")
	hold := filepath.Join(t.TempDir(), "hold")
	touch(t, filepath.Dir(hold), "hold")
	req := tensors{model: "types", name: "FP32", datatype: "FP32", shape: []int64{4}, input: in("r", 0, 16), output: in("r", 64, 16)}.request()
	req.Parameters = parameters{"hold": inferencetest.String(hold)}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		defer cancel()
		await(t, "the request isn't at the model", func() bool { return exists(hold + ".seen") })
	})
	for _, err := range engine.Stream(ctx, req) {
		if inference.AsError(err).Code != inference.CodeCanceled {
			t.Errorf("got %v", err)
		}
	}
	group.Wait()
	if _, err := engine.SystemSharedMemoryUnregister(t.Context(), &kserve.SystemSharedMemoryUnregisterRequest{}); err != nil {
		t.Fatal(err)
	}
	if !object.mapped(t) {
		t.Error("unmapped under the model")
	}
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	awaitLive(t, engine)
	await(t, "still mapped", func() bool { return !object.mapped(t) })
	if got := object.read(t, 64, 16); !bytes.Equal(got, fp32(4, 3, 2, 1)) && !bytes.Equal(got, make([]byte, 16)) {
		t.Errorf("the memory holds %v", got) // the model may have detected the cancellation in time
	}
}

// mapped reports whether the object is mapped into this process.
func (o object) mapped(t *testing.T) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(maps), o.path)
}

// await fails the test if a condition isn't met within 10 seconds.
func await(t *testing.T, otherwise string, met func() bool) {
	t.Helper()
	if !pause.Until(10*time.Second, met) {
		t.Error(otherwise)
	}
}

// TestSharedFlat sends many requests with shared memory. All objects must be
// freed, and this process must not keep a copy of the tensors.
func TestSharedFlat(t *testing.T) {
	engine := extensionEngine(t)
	object := newObject(t, fp32(4, 3, 2, 1))
	req := tensors{model: "types", name: "FP32", datatype: "FP32", shape: []int64{4}, input: in("r", 0, 16), output: in("r", 64, 16)}.request()
	const rounds, warm = 2000, 500
	var grown int64
	for round := range rounds {
		object.register(t, engine, "r")
		if got, err := answerOf(t, engine, req); err != nil || !slices.Contains(strings.Fields(got), "{r") {
			t.Fatalf("got %s, %v", got, err)
		}
		if _, err := engine.SystemSharedMemoryUnregister(t.Context(), &kserve.SystemSharedMemoryUnregisterRequest{Name: "r"}); err != nil {
			t.Fatal(err)
		}
		if round == warm {
			grown = -resident(t)
		}
	}
	if grown += resident(t); grown > 16<<20 {
		t.Errorf("%d requests grew the process by %d MiB", rounds-warm-1, grown>>20)
	}
	awaitLive(t, engine)
	await(t, "still mapped", func() bool { return !object.mapped(t) })
}
