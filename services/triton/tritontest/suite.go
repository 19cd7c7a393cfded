package tritontest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/pause"
)

// Engine is an engine that can be stopped.
type Engine interface {
	inference.Engine
	Stop(context.Context) error
}

// Server controls the server behind an engine.
type Server interface {
	// Kill ends the server at once.
	Kill()
	// Restart starts the server again at the same address and waits until it is
	// ready.
	Restart(context.Context) error
	// Pause stops all responses of the server until Resume, as if its process
	// hung.
	Pause()
	Resume()
}

// Limits are the engine's settings that the suite chooses.
type Limits struct {
	// KeepAlive is the idle time after which a stream yields an idle response.
	KeepAlive time.Duration
	// FirstResponse is the time limit for the first response of a stream.
	FirstResponse time.Duration
	// Inactivity is the time limit for each later response of a stream.
	Inactivity time.Duration
	// Call is the time limit of calls for the server's state; 0 means the
	// engine's default.
	Call time.Duration
}

// Subject is an engine under test, which serves the models of [Repository].
type Subject struct {
	// Open starts an engine; the suite stops it.
	Open func(testing.TB, Limits) Engine
	// Server is the server behind the engine. It is nil if the engine has no
	// server that can fail separately.
	Server Server
	// Paths is the number of endpoints of the engine that lead to the same server, each of which
	// counts an inference of the server; 0 means 1.
	Paths int
	// Several is set for an engine over several servers. The error of a request that was repeated
	// there is that of its last server.
	Several bool
}

// longLimits returns limits that no test reaches by chance.
func longLimits() Limits {
	return Limits{KeepAlive: time.Minute, FirstResponse: time.Minute, Inactivity: time.Minute}
}

// cancelTime is the time limit within which a model must detect a cancellation.
const cancelTime = 200 * time.Millisecond

// RunSuite runs every test of the suite as a subtest, with a subject that start
// returns. A test must not leave a goroutine behind.
func RunSuite(t *testing.T, start func(testing.TB) Subject) {
	t.Helper()
	tests := []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"decoupled model streams", testStream},
		{"decoupled model without responses ends", testEmpty},
		{"plain model answers once", testEcho},
		{"request stays as it was", testRequestUnchanged},
		{"the engine tells when a request was sent", testSent},
		{"nothing is sent before the first iteration", testLazy},
		{"waiting responses are announced", testMore},
		{"request is refused", testRefused},
		{"model fails", testModelFails},
		{"model fails inside the stream", testFailsInside},
		{"context is cancelled", testCancel},
		{"context has a cause", testCause},
		{"context has a deadline", testDeadline},
		{"context ended before", testEnded},
		{"consumer leaves", testLeave},
		{"silence is announced", testIdle},
		{"silence is limited", testInactive},
		{"first responses may take longer", testLongWait},
		{"slow consumer", testSlow},
		{"large tensors", testLarge},
		{"64 streams at once", testParallel},
		{"engine stops under streams", testStop},
		{"server dies and returns", testServerDies},
		{"server hangs and returns", testServerHangs},
		{"models are listed", testModels},
		{"server and models are described", testDescribe},
		{"statistics count", testStatistics},
		{"repository is listed", testRepository},
		{"trace settings", testTraceSettings},
		{"log settings", testLogSettings},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) })
			test.run(t, start(t))
		})
	}
}

func open(t *testing.T, s Subject, limits Limits) Engine {
	t.Helper()
	engine := s.Open(t, limits)
	t.Cleanup(func() {
		if err := engine.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return engine
}

// request returns a request with the test's name as its id.
func request(tb testing.TB, model string, tensors ...tensor) *kserve.ModelInferRequest {
	tb.Helper()
	req := &kserve.ModelInferRequest{ModelName: model, Id: tb.Name()}
	for _, in := range tensors {
		req.Inputs = append(req.Inputs, &kserve.ModelInferRequest_InferInputTensor{
			Name: in.name, Datatype: in.datatype, Shape: in.shape,
		})
		req.RawInputContents = append(req.RawInputContents, in.raw)
	}
	return req
}

func floats(name string, rows int, raw []byte) tensor {
	return tensor{name, "FP32", []int64{int64(rows), 4}, raw}
}

// numbered returns a request for count responses of the model stream.
func numbered(tb testing.TB, count int32, more ...tensor) *kserve.ModelInferRequest {
	tb.Helper()
	return request(tb, "stream", append([]tensor{int32s("COUNT", count)}, more...)...)
}

// collected is a copy of a response with its own memory.
type collected struct {
	id      string
	outputs map[string]tensor
	final   bool
	more    bool
	idle    bool
}

func copyOf(r *inference.Response) collected {
	c := collected{id: r.ID, outputs: make(map[string]tensor), final: r.Final, more: r.More, idle: r.Idle}
	for _, o := range r.Outputs {
		c.outputs[o.Name] = tensor{o.Name, o.Type, slices.Clone(o.Shape), bytes.Clone(o.Raw)}
	}
	return c
}

// collect reads a stream until it ends and returns its responses.
func collect(ctx context.Context, engine inference.Engine, req *kserve.ModelInferRequest) (all []collected, err error) {
	for response, failed := range engine.Stream(ctx, req) {
		if failed != nil {
			return all, failed
		}
		all = append(all, copyOf(response))
	}
	return all, nil
}

func mustCollect(t *testing.T, engine inference.Engine, req *kserve.ModelInferRequest) []collected {
	t.Helper()
	all, err := collect(t.Context(), engine, req)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkNumbered checks that the responses are 0 to count-1 of the given size,
// and then an empty final one.
func checkNumbered(all []collected, count, size int) error {
	if len(all) != count+1 {
		return fmt.Errorf("got %d responses, want %d and a final one", len(all), count)
	}
	for i, r := range all[:count] {
		if err := checkNumber(r, i, size); err != nil {
			return fmt.Errorf("response %d: %w", i, err)
		}
	}
	if last := all[count]; !last.final || len(last.outputs) != 0 {
		return fmt.Errorf("the last response is %+v, want an empty final one", last)
	}
	return nil
}

func checkNumber(r collected, index, size int) error {
	want := map[string]tensor{
		"INDEX": int32s("INDEX", int32(index)),
		"DATA":  {"DATA", "UINT8", []int64{int64(size)}, filled(size, byte(index))},
	}
	if r.final || r.idle {
		return fmt.Errorf("final %t, idle %t", r.final, r.idle)
	}
	return equalTensors(r.outputs, want)
}

func equalTensors(got, want map[string]tensor) error {
	if len(got) != len(want) {
		return fmt.Errorf("got %d outputs, want %d", len(got), len(want))
	}
	for name, w := range want {
		g, ok := got[name]
		switch {
		case !ok:
			return fmt.Errorf("output %s is missing", name)
		case g.datatype != w.datatype || !slices.Equal(g.shape, w.shape):
			return fmt.Errorf("output %s is %s%v, want %s%v", name, g.datatype, g.shape, w.datatype, w.shape)
		case !bytes.Equal(g.raw, w.raw):
			return fmt.Errorf("output %s differs in its %d bytes from the %d wanted", name, len(g.raw), len(w.raw))
		}
	}
	return nil
}

// mostServers is the maximum number of servers behind an engine that have records of their own.
const mostServers = 4

// recorded returns the model stream's record of the request with the key. An engine over several
// servers asks them in turn.
func recorded(t *testing.T, engine inference.Engine, key string) (state string, sent int) {
	t.Helper()
	for range mostServers {
		all := mustCollect(t, engine, request(t, "stream", texts("KEY", key)))
		state, sent = elements(all[0].outputs["STATE"].raw)[0], int(binary.LittleEndian.Uint32(all[0].outputs["INDEX"].raw))
		if state != "unknown" {
			break
		}
	}
	return state, sent
}

// settleTime is longer than the model needs to detect a cancellation. tritonserver 2.51
// may crash if a request arrives when a cancelled one ends.
const settleTime = 200 * time.Millisecond

// awaitState waits until the model's record of a request has the state.
func awaitState(t *testing.T, engine inference.Engine, key, want string, limit time.Duration) {
	t.Helper()
	if want == "cancelled" {
		<-time.After(settleTime)
	}
	var state string
	eventually(t, limit, func() bool {
		state, _ = recorded(t, engine, key)
		return state == want
	}, func() string { return fmt.Sprintf("the model's request is %s, want %s", state, want) })
}

// eventually waits until yes returns true. After the limit it checks once more.
func eventually(t *testing.T, limit time.Duration, yes func() bool, otherwise func() string) {
	t.Helper()
	if !pause.Until(limit, yes) {
		t.Fatalf("after %s: %s", limit, otherwise())
	}
}

// asError checks that err is an *inference.Error and returns it.
func asError(t *testing.T, err error) *inference.Error {
	t.Helper()
	var e *inference.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an inference.Error", err)
	}
	return e
}

// wantError checks an error's code and reason, and that its message reveals no
// internals to clients.
func wantError(t *testing.T, err error, code inference.Code, reason inference.Reason) {
	t.Helper()
	e := asError(t, err)
	if e.Code != code || e.Reason != reason {
		t.Errorf("got %s (%q) %q, want %s (%q); cause: %v", e.Code, e.Reason, e.Message, code, reason, e.Err)
	}
	for _, leak := range []string{"127.0.0.1", "rpc error", "transport", ".py", "/models"} {
		if strings.Contains(e.Message, leak) {
			t.Errorf("the message shows %q: %s", leak, e.Message)
		}
	}
}
