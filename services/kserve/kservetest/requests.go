// Package kservetest has the common parts of the tests of KServe's transports: servers of
// the surface on loopback ports, engines and a tritonserver to compare with, and raw
// tensors. The tests of one transport have their own helpers. Helpers of one transport
// belong to its tests.
package kservetest

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/binary"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/test/pause"
)

// TrialTime is the timeout of a request in a comparison.
const TrialTime = 30 * time.Second

// Bytes returns the raw form of a BYTES tensor.
func Bytes(texts ...string) (raw []byte) {
	for _, s := range texts {
		raw = append(binary.LittleEndian.AppendUint32(raw, uint32(len(s))), s...)
	}
	return raw
}

// Floats returns the raw form of an FP32 tensor.
func Floats(values ...float32) (raw []byte) {
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return raw
}

// SharedObject creates shared memory with four floats and returns its key. The test's
// cleanup removes it.
func SharedObject(t *testing.T) string {
	t.Helper()
	file, err := os.CreateTemp("/dev/shm", "trident-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(file.Name()) })
	if _, err := file.Write(Floats(4, 3, 2, 1)); err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(int64(os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return "/" + filepath.Base(file.Name())
}

// EchoConfig is a configuration of the model echo.
const EchoConfig = `{"backend": "python", "input": [{"name": "TEXT", "data_type": "TYPE_STRING", "dims": [-1]}],
	"output": [{"name": "TEXT", "data_type": "TYPE_STRING", "dims": [-1]}], "parameters": {"of": {"string_value": "the load"}}}`

// SendFunc is the function with which an engine's script sends a response.
type SendFunc = func(*inference.Response) bool

// Await waits for a condition and fails the test if it isn't met within 20 seconds.
func Await(t *testing.T, otherwise string, met func() bool) {
	t.Helper()
	if !pause.Until(20*time.Second, met) {
		t.Fatal(otherwise)
	}
}

// Body reads a response's body to its end.
func Body(t *testing.T, answer *http.Response) string {
	t.Helper()
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TextEngine returns an engine with one decoupled model, m, that takes a text.
func TextEngine(play inferencetest.Script) *inferencetest.Engine {
	engine := inferencetest.New()
	engine.AddOther("m", &api.ModelConfig{
		Name: "m", ModelTransactionPolicy: &api.ModelTransactionPolicy{Decoupled: true},
		Input: []*api.ModelInput{{Name: "text_input", DataType: api.DataType_TYPE_STRING, Dims: []int64{1}}},
	}, play)
	return engine
}

// Decoupled returns an engine with one decoupled model, m.
func Decoupled(play inferencetest.Script) *inferencetest.Engine {
	engine := inferencetest.New()
	engine.AddModel("m", play, nil)
	return engine
}

// StreamEngine returns an engine whose model m is like the test models' stream: it sends one
// response with the same bytes for each input.
func StreamEngine() *inferencetest.Engine {
	return Decoupled(func(_ context.Context, req *api.ModelInferRequest, send SendFunc) error {
		for i, in := range req.GetInputs() {
			send(&inference.Response{Version: "1", Final: i == len(req.GetInputs())-1, Outputs: []inference.Output{
				{Name: in.GetName(), Type: in.GetDatatype(), Shape: in.GetShape(), Raw: req.GetRawInputContents()[i]},
			}})
		}
		return nil
	})
}

// SingleResponseEngine returns an engine with the same model, which sends only one response.
func SingleResponseEngine() *inferencetest.Engine {
	engine := StreamEngine()
	engine.Configure("m", func(c *api.ModelConfig) { c.ModelTransactionPolicy = nil })
	return engine
}

// Decompress decompresses a body by its encoding; the empty encoding means no compression.
func Decompress(t *testing.T, encoding string, body []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(body)
	var err error
	switch encoding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "deflate":
		r, err = zlib.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Compress compresses a string with gzip or deflate.
func Compress(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if name == "deflate" {
		w = zlib.NewWriter(&b)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
