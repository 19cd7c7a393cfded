//nolint:thelper // these are the tests themselves, not their helpers
package tritontest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

func testStream(t *testing.T, s Subject) {
	all := mustCollect(t, open(t, s, longLimits()), numbered(t, 5, int32s("SIZE", 3)))
	if err := checkNumbered(all, 5, 3); err != nil {
		t.Error(err)
	}
	for i, r := range all {
		if r.id != t.Name() {
			t.Errorf("response %d has id %q, want %q", i, r.id, t.Name())
		}
	}
}

func testEmpty(t *testing.T, s Subject) {
	all := mustCollect(t, open(t, s, longLimits()), numbered(t, 0))
	if err := checkNumbered(all, 0, 0); err != nil {
		t.Error(err)
	}
}

func testEcho(t *testing.T, s Subject) {
	inputs := []tensor{
		texts("TEXT", "one", "", "zwei, drei: ⅓"),
		floats("DATA", 2, []byte(strings.Repeat("\x00\x01\xfe\x7f", 8))),
	}
	all := mustCollect(t, open(t, s, longLimits()), request(t, "echo", inputs...))
	if len(all) != 1 || !all[0].final || all[0].id != t.Name() {
		t.Fatalf("got %+v, want one final response", all)
	}
	if err := equalTensors(all[0].outputs, map[string]tensor{"TEXT": inputs[0], "DATA": inputs[1]}); err != nil {
		t.Error(err)
	}
}

func testRequestUnchanged(t *testing.T, s Subject) {
	req := request(t, "echo", texts("TEXT", "x"))
	req.Parameters = map[string]*kserve.InferParameter{
		"note": {ParameterChoice: &kserve.InferParameter_StringParam{StringParam: "mine"}},
	}
	before := proto.Clone(req)
	mustCollect(t, open(t, s, longLimits()), req)
	if !proto.Equal(req, before) {
		t.Errorf("the request became %v", req)
	}
}

// testSent: an engine calls the function of [inference.WhenSent] once when Triton has
// a request, before the first response. After the call it doesn't use the request's
// tensors.
func testSent(t *testing.T, s Subject) {
	req, calls := request(t, "echo", texts("TEXT", "mine")), 0
	ctx := inference.WhenSent(t.Context(), func() { req.RawInputContents = nil; calls++ })
	for response, err := range open(t, s, longLimits()).Stream(ctx, req) {
		if err != nil {
			t.Fatal(err)
		}
		if calls != 1 || len(response.Outputs) != 1 || !strings.HasSuffix(string(response.Outputs[0].Raw), "mine") {
			t.Errorf("%d calls; got %v", calls, response.Outputs)
		}
	}
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

func testLazy(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	stream := engine.Stream(t.Context(), numbered(t, 1, texts("KEY", t.Name())))
	if state, _ := recorded(t, engine, t.Name()); state != "unknown" {
		t.Errorf("before the iteration the request is %s", state)
	}
	for _, err := range stream {
		if err != nil {
			t.Fatal(err)
		}
	}
	awaitState(t, engine, t.Name(), "done", time.Second)
}

func testMore(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	const count = 20
	announced := 0
	for response, err := range engine.Stream(t.Context(), numbered(t, count, texts("KEY", t.Name()))) {
		if err != nil {
			t.Fatal(err)
		}
		if response.Final && response.More {
			t.Error("a response is announced after the final one")
		}
		if response.More {
			announced++
		}
		awaitState(t, engine, t.Name(), "done", 5*time.Second)
	}
	if announced < count/2 {
		t.Errorf("%d of %d waiting responses were announced", announced, count)
	}
}

func testIdle(t *testing.T, s Subject) {
	const keepAlive = 40 * time.Millisecond
	limits := longLimits()
	limits.KeepAlive = keepAlive
	engine := open(t, s, limits)
	start := time.Now()
	idle := 0
	for response, err := range engine.Stream(t.Context(), numbered(t, 1, int32s("DELAY", 60_000))) {
		if err != nil {
			t.Fatal(err)
		}
		if c := copyOf(response); !c.idle || len(c.outputs) > 0 || c.final || c.id != t.Name() {
			t.Errorf("an idle response is %+v", c)
		}
		idle++
		if after := time.Since(start); after < time.Duration(idle)*keepAlive {
			t.Errorf("idle response %d came after %s already", idle, after)
		}
		if idle == 3 {
			break
		}
	}
	var rest []collected
	for _, c := range mustCollect(t, engine, numbered(t, 2, int32s("DELAY", 100))) {
		if !c.idle {
			rest = append(rest, c)
		}
	}
	if err := checkNumbered(rest, 2, 0); err != nil {
		t.Errorf("between idle responses: %v", err)
	}
}

func testInactive(t *testing.T, s Subject) {
	const limit = 200 * time.Millisecond
	tests := []struct {
		name      string
		limits    Limits
		responses int
		delay     int32 // pause before each response, in milliseconds
	}{
		{"before the first response", Limits{KeepAlive: time.Minute, FirstResponse: limit, Inactivity: time.Minute}, 0, 60_000},
		{"after it", Limits{KeepAlive: time.Minute, FirstResponse: time.Minute, Inactivity: limit}, 1, 1_000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			engine := open(t, s, test.limits)
			start := time.Now()
			responses := 0
			var failed error
			for response, err := range engine.Stream(t.Context(), numbered(t, 1_000, int32s("DELAY", test.delay), texts("KEY", t.Name()))) {
				if failed = err; response != nil {
					responses++
					start = time.Now()
				}
			}
			wantError(t, failed, inference.CodeUnavailable, inference.ReasonInactive)
			if e := asError(t, failed); e.Message != "the model sent nothing for "+limit.String() || responses != test.responses {
				t.Errorf("%q after %d responses, want %d", e.Message, responses, test.responses)
			}
			if took := time.Since(start); took < limit || took > limit+800*time.Millisecond {
				t.Errorf("failed after %s, want %s and a little", took, limit)
			}
			awaitState(t, engine, t.Name(), "cancelled", cancelTime)
		})
	}
}

// testLongWait: the first response may take longer than the limit for each later
// response.
func testLongWait(t *testing.T, s Subject) {
	limits := longLimits()
	limits.Inactivity = 100 * time.Millisecond
	engine := open(t, s, limits)
	start := time.Now()
	if err := checkNumbered(mustCollect(t, engine, numbered(t, 1, int32s("DELAY", 600))), 1, 0); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took < 3*limits.Inactivity {
		t.Errorf("the response took %s, which says nothing", took)
	}
}

// testSlow: if a consumer is slower than the model, the engine buffers a
// limited amount. tritonserver itself has no limit.
func testSlow(t *testing.T, s Subject) {
	const (
		count = 2000
		size  = 64 << 10
		limit = 48 << 20
	)
	engine := open(t, s, longLimits())
	before := heap()
	index := 0
	for response, err := range engine.Stream(t.Context(), numbered(t, count, int32s("SIZE", size), texts("KEY", t.Name()))) {
		if err != nil {
			t.Fatal(err)
		}
		if index == 0 {
			awaitStill(t, engine)
			if grown := heap() - before; grown > limit {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
		}
		if !response.Final {
			if err := checkNumber(copyOf(response), index, size); err != nil {
				t.Fatalf("response %d: %v", index, err)
			}
			index++
		}
	}
	if index != count {
		t.Errorf("got %d responses, want %d", index, count)
	}
}

// awaitStill waits until the model stops sending: it has sent all responses, or
// is blocked.
func awaitStill(t *testing.T, engine inference.Engine) {
	t.Helper()
	last, same := 0, 0
	eventually(t, time.Minute, func() bool {
		_, sent := recorded(t, engine, t.Name())
		same++
		if sent != last {
			last, same = sent, 0
		}
		return sent > 0 && same == 20
	}, func() string { return "the model still sends" })
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func testLarge(t *testing.T, s Subject) {
	const size = 8 << 20
	engine := open(t, s, longLimits())
	raw := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(raw) // the same data in each run; Read never fails
	inputs := []tensor{texts("TEXT", "large"), floats("DATA", size/16, raw)}
	all := mustCollect(t, engine, request(t, "echo", inputs...))
	if len(all) != 1 {
		t.Fatalf("got %d responses", len(all))
	}
	if err := equalTensors(all[0].outputs, map[string]tensor{"TEXT": inputs[0], "DATA": inputs[1]}); err != nil {
		t.Error(err)
	}
	if err := checkNumbered(mustCollect(t, engine, numbered(t, 3, int32s("SIZE", size))), 3, size); err != nil {
		t.Error(err)
	}
}

func testParallel(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	var group errgroup.Group
	for i := range 64 {
		count, size := 20+i, 10*i
		req := numbered(t, int32(count), int32s("SIZE", int32(size)), int32s("DELAY", int32(i%3)))
		group.Go(func() error {
			all, err := collect(t.Context(), engine, req)
			if err == nil {
				err = checkNumbered(all, count, size)
			}
			if err != nil {
				return fmt.Errorf("stream %d: %w", i, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
