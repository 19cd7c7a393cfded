package fleet_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/balance"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/fleet"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/pause"
)

// limits are those of a server that answers fast.
var limits = tritontest.Limits{KeepAlive: time.Minute, FirstResponse: time.Minute, Inactivity: time.Minute}

// run starts a fleet for the time of a test.
func run(tb testing.TB, endpoints ...string) *fleet.Engine {
	tb.Helper()
	engine := start(tb, config(limits, endpoints...))
	tb.Cleanup(func() {
		if err := engine.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return engine
}

// echo returns a request for the model echo.
func echo(text string) *kserve.ModelInferRequest {
	raw := append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
	return &kserve.ModelInferRequest{
		ModelName: "echo", Id: text,
		Inputs:           []*kserve.ModelInferRequest_InferInputTensor{{Name: "TEXT", Datatype: "BYTES", Shape: []int64{1}}},
		RawInputContents: [][]byte{raw},
	}
}

// numbers returns a request for count responses of the model stream, with a delay before each.
func numbers(count, delay int) *kserve.ModelInferRequest {
	req := &kserve.ModelInferRequest{ModelName: "stream", Id: "numbers"}
	for name, value := range map[string]int{"COUNT": count, "DELAY": delay} {
		req.Inputs = append(req.Inputs, &kserve.ModelInferRequest_InferInputTensor{Name: name, Datatype: "INT32", Shape: []int64{1}})
		req.RawInputContents = append(req.RawInputContents, binary.LittleEndian.AppendUint32(nil, uint32(value)))
	}
	return req
}

// send sends a request as a generation and returns the number of responses.
func send(ctx context.Context, e inference.Engine, req *kserve.ModelInferRequest) (n int, err error) {
	for resp, failed := range e.Stream(ctx, req) {
		if failed != nil {
			return n, failed
		}
		if !resp.Idle {
			n++
		}
	}
	return n, nil
}

// state returns the state of an endpoint, and the whole report.
func state(e *fleet.Engine, address string) (inference.Endpoint, inference.EndpointReport) {
	report := e.Endpoints()
	for _, one := range report.Endpoints {
		if one.Address == address {
			return one, report
		}
	}
	return inference.Endpoint{State: "gone"}, report
}

func await(t *testing.T, limit time.Duration, what string, yes func() bool) {
	t.Helper()
	if !pause.Until(limit, yes) {
		t.Fatalf("not within %s: %s", limit, what)
	}
}

// TestSpread checks that requests are spread over all endpoints, and statistics are sums.
func TestSpread(t *testing.T) {
	fakes := tritontest.NewFakes(t, 4)
	e := run(t, fakes.Addresses()...)
	for i := range 400 {
		if n, err := send(t.Context(), e, echo(fmt.Sprint(i))); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	for i, f := range fakes {
		if n := f.Served("echo"); n < 50 || n > 150 {
			t.Errorf("endpoint %d served %d of 400", i, n)
		}
	}
	stats, err := e.ModelStatistics(t.Context(), &kserve.ModelStatisticsRequest{Name: "echo"})
	if err != nil || len(stats.GetModelStats()) != 1 || stats.GetModelStats()[0].GetInferenceCount() != 400 {
		t.Errorf("statistics %v, %v", stats, err)
	}
}

// TestWeights checks that endpoints get requests in proportion to their weights, and that an update
// changes the weights without an interruption.
func TestWeights(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	c := config(limits, fakes[0].Address()+"=3", fakes[1].Address())
	c.Policy = balance.RoundRobin
	e := start(t, c)
	defer func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if _, err := e.Models(t.Context()); err != nil { // the routes don't change any longer
		t.Fatal(err)
	}
	served := func(requests int) (first, second int) {
		before := [2]int{fakes[0].Served("echo"), fakes[1].Served("echo")}
		for i := range requests {
			if n, err := send(t.Context(), e, echo(fmt.Sprint(i))); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		return fakes[0].Served("echo") - before[0], fakes[1].Served("echo") - before[1]
	}
	if first, second := served(100); first < 74 || first > 76 || first+second != 100 {
		t.Errorf("endpoints with the weights 3 and 1 served %d and %d requests", first, second)
	}
	if one, _ := state(e, fakes[0].Address()); one.Weight != 3 {
		t.Errorf("the endpoint is %+v, want the weight 3", one)
	}
	if err := e.Update([]string{fakes[0].Address(), fakes[1].Address() + "=4"}); err != nil {
		t.Fatal(err)
	}
	if first, second := served(100); first < 19 || first > 21 || first+second != 100 {
		t.Errorf("after an update to the weights 1 and 4, the endpoints served %d and %d requests", first, second)
	}
	if one, _ := state(e, fakes[0].Address()); one.Weight != 1 || one.Requests < 90 {
		t.Errorf("the endpoint is %+v, want the weight 1 and the previous counters", one)
	}
}

// TestServerDies checks that requests are repeated on another endpoint if one dies, that the
// endpoint is taken out, and that it is back soon after its restart.
func TestServerDies(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	e := run(t, fakes.Addresses()...)
	if _, err := send(t.Context(), e, echo("first")); err != nil {
		t.Fatal(err)
	}
	fakes[0].Kill()
	for i := range 100 {
		if n, err := send(t.Context(), e, echo(fmt.Sprint(i))); n != 1 || err != nil {
			t.Fatalf("request %d: %d responses, %v", i, n, err)
		}
	}
	address := fakes[0].Address()
	await(t, 3500*time.Millisecond, "the endpoint is out", func() bool { one, _ := state(e, address); return one.State == inference.EndpointOut })
	one, _ := state(e, address)
	if one.Outs != 1 || one.Reason != "the connection was refused" {
		t.Errorf("the endpoint is %+v", one)
	}
	if err := fakes[0].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, 5*time.Second, "the endpoint is back", func() bool { one, _ := state(e, address); return one.State == inference.EndpointStarting })
	var sending errgroup.Group
	for range 40 {
		sending.Go(func() error {
			for range 5 {
				if _, err := send(t.Context(), e, numbers(1, 10)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := sending.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := fakes[0].Served("stream"); n == 0 || n > 80 {
		t.Errorf("the endpoint that is back served %d of 200 requests, want some and less than its share", n)
	}
}

// TestServerFreezes checks that an endpoint that doesn't answer is out after 2.5 seconds, and that
// the generations that wait there are repeated on another endpoint.
func TestServerFreezes(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	e := run(t, fakes.Addresses()...)
	if _, err := send(t.Context(), e, echo("first")); err != nil {
		t.Fatal(err)
	}
	fakes[1].Pause()
	defer fakes[1].Resume()
	began := time.Now()
	done := make(chan error)
	const requests = 20
	for i := range requests {
		go func() {
			n, err := send(t.Context(), e, echo(fmt.Sprint(i)))
			if n != 1 && err == nil {
				err = fmt.Errorf("%d responses", n)
			}
			done <- err
		}()
	}
	for range requests {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(began); took < 1500*time.Millisecond || took > 6*time.Second {
		t.Errorf("the requests took %s, want that of a health check", took)
	}
	one, _ := state(e, fakes[1].Address())
	other, _ := state(e, fakes[0].Address())
	if one.State != inference.EndpointOut || one.Reason != "no answer for 2.5s" || other.Repeats == 0 {
		t.Errorf("the frozen endpoint is %+v, the other one %+v", one, other)
	}
	fakes[1].Resume()
	await(t, 5*time.Second, "the endpoint is back", func() bool { one, _ := state(e, fakes[1].Address()); return one.State != inference.EndpointOut })
}

// TestMostAreOut checks that requests succeed while most endpoints are down or frozen.
func TestMostAreOut(t *testing.T) {
	for name, fail := range map[string]func(*tritontest.Fake){"down": (*tritontest.Fake).Kill, "frozen": (*tritontest.Fake).Pause} {
		t.Run(name, func(t *testing.T) {
			fakes := tritontest.NewFakes(t, 4)
			e := run(t, fakes.Addresses()...)
			if _, err := send(t.Context(), e, echo("first")); err != nil {
				t.Fatal(err)
			}
			for _, f := range fakes[1:] {
				fail(f)
			}
			if name == "down" {
				await(t, 5*time.Second, "three endpoints are out", func() bool {
					return !slices.ContainsFunc(fakes[1:], func(f *tritontest.Fake) bool {
						one, _ := state(e, f.Address())
						return one.State != inference.EndpointOut
					})
				})
			}
			for i := range 30 {
				began := time.Now()
				if n, err := send(t.Context(), e, echo(fmt.Sprint(i))); n != 1 || err != nil || time.Since(began) > 15*time.Second {
					t.Fatalf("request %d: %d responses after %s, %v", i, n, time.Since(began), err)
				}
				if name == "frozen" && i == 3 {
					break // each may wait for two health checks
				}
			}
			fakes.Resume()
		})
	}
}

// TestAfterResponse checks that a request that fails after a response isn't repeated.
func TestAfterResponse(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	e := run(t, fakes.Addresses()...)
	n := 0
	var failed error
	for _, err := range e.Stream(t.Context(), numbers(1000, 20)) {
		if failed = err; err == nil {
			n++
		}
		if n == 3 {
			fakes.Kill()
		}
	}
	if known := inference.AsError(failed); known.Reason != inference.ReasonEngineGone || n < 3 {
		t.Errorf("got %v after %d responses", failed, n)
	}
	if served := fakes[0].Served("stream") + fakes[1].Served("stream"); served != 1 {
		t.Errorf("the request was sent %d times", served)
	}
}

// TestTensors checks that tensors of clients go to another endpoint if the first one refuses the
// connection, and that they are never sent twice.
func TestTensors(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	e := run(t, fakes.Addresses()...)
	forward := func(req *kserve.ModelInferRequest) error {
		for _, err := range e.Forward(t.Context(), inference.InferRequestOf(req)) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := forward(echo("first")); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- forward(numbers(1, 60_000)) }()
	await(t, 5*time.Second, "the request has arrived", func() bool { return fakes[0].Served("stream")+fakes[1].Served("stream") == 1 })
	hit := slices.IndexFunc(fakes, func(f *tritontest.Fake) bool { return f.Served("stream") == 1 })
	fakes[hit].Kill()
	if err := <-ended; inference.AsError(err).Reason != inference.ReasonEngineGone {
		t.Errorf("got %v", err)
	}
	if n := fakes[1-hit].Served("stream"); n != 0 {
		t.Errorf("the request was sent again %d times", n)
	}
	for i := range 50 {
		if err := forward(echo(fmt.Sprint(i))); err != nil {
			t.Errorf("request %d after the end of a server: %v", i, err)
		}
	}
}

// TestBudgetSpent checks the error of a request whose repeat the budget refuses.
func TestBudgetSpent(t *testing.T) {
	fakes := tritontest.NewFakes(t, 4)
	e := run(t, fakes.Addresses()...)
	if _, err := send(t.Context(), e, echo("first")); err != nil {
		t.Fatal(err)
	}
	for _, f := range fakes {
		f.Kill()
	}
	var refused error
	for range 300 {
		_, err := send(t.Context(), e, echo("x"))
		known := inference.AsError(err)
		if known.Code != inference.CodeUnavailable || known.RetryAfter <= 0 {
			t.Fatalf("got %v", err)
		}
		if strings.Contains(known.Message, "too many requests are being repeated") {
			refused = err
		}
	}
	_, report := state(e, "")
	repeats := uint64(0)
	for _, one := range report.Endpoints {
		repeats += one.Repeats
	}
	if refused == nil || report.RepeatsRefused == 0 || repeats < 64 || repeats > 130 {
		t.Errorf("%d repeats, %d refused, %v", repeats, report.RepeatsRefused, refused)
	}
}

// TestSequences checks that the requests of a sequence go to one endpoint.
func TestSequences(t *testing.T) {
	fakes := tritontest.NewFakes(t, 4)
	e := run(t, fakes.Addresses()...)
	for id := range uint64(8) {
		before := make([]int, len(fakes))
		for i, f := range fakes {
			before[i] = f.Served("echo")
		}
		for range 10 {
			req := echo("s")
			req.Parameters = map[string]*kserve.InferParameter{"sequence_id": {ParameterChoice: &kserve.InferParameter_Uint64Param{Uint64Param: id + 1}}}
			if _, err := send(t.Context(), e, req); err != nil {
				t.Fatal(err)
			}
		}
		for i, f := range fakes {
			if n := f.Served("echo") - before[i]; n != 0 && n != 10 {
				t.Errorf("endpoint %d has %d of 10 requests of the sequence %d", i, n, id)
			}
		}
	}
}

// TestModelMoves checks that generations for a model that an endpoint has unloaded are served by
// the others.
func TestModelMoves(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	e := run(t, fakes.Addresses()...)
	if _, err := send(t.Context(), e, echo("first")); err != nil {
		t.Fatal(err)
	}
	fakes[0].SetModel("echo", nil)
	for i := range 50 {
		if n, err := send(t.Context(), e, echo(fmt.Sprint(i))); n != 1 || err != nil {
			t.Fatalf("request %d: %d responses, %v", i, n, err)
		}
	}
	_, err := send(t.Context(), e, &kserve.ModelInferRequest{ModelName: "nobody"})
	if inference.AsError(err).Code != inference.CodeNotFound {
		t.Errorf("an unknown model: %v", err)
	}
}

// TestConfigurationsDiffer checks that requests go to the endpoints with the configuration that
// most have, and that Models reports the others.
func TestConfigurationsDiffer(t *testing.T) {
	fakes := tritontest.NewFakes(t, 3)
	changed := fakes[0].Model("echo")
	changed.Input[0].Name = "PROMPT"
	fakes[0].SetModel("echo", changed)
	e := run(t, fakes.Addresses()...)
	models, err := e.Models(t.Context())
	if err != nil || len(models) != 2 {
		t.Fatalf("got %v, %v", models, err)
	}
	if want := fakes[1].Model("echo"); !proto.Equal(models[0].Config, want) {
		t.Errorf("the configuration is %v, want %v", models[0].Config, want)
	}
	if want := []string{fakes[0].Address() + ": another configuration"}; !slices.Equal(models[0].Differing, want) {
		t.Errorf("differing %q, want %q", models[0].Differing, want)
	}
	for range 60 {
		if _, err := send(t.Context(), e, echo("x")); err != nil {
			t.Fatal(err)
		}
	}
	if fakes[0].Served("echo") != 0 {
		t.Errorf("the endpoint with another configuration served %d requests", fakes[0].Served("echo"))
	}
}

// TestUpdate checks that new endpoints get requests, and that the streams of an endpoint that is
// gone from the list end in peace.
func TestUpdate(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	old, fresh := fakes[0].Address(), fakes[1].Address()
	e := run(t, old)
	n := 0
	for resp, err := range e.Stream(t.Context(), numbers(20, 20)) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if n == 3 {
			if err := e.Update([]string{fresh}); err != nil {
				t.Fatal(err)
			}
			if served, err := send(t.Context(), e, echo("x")); served != 1 || err != nil || fakes[1].Served("echo") != 1 {
				t.Errorf("%d responses, %v; the new endpoint served %d", served, err, fakes[1].Served("echo"))
			}
		}
		_ = resp
	}
	if n != 21 {
		t.Errorf("the stream had %d responses, want 20 and a final one", n)
	}
	if one, _ := state(e, old); one.State != "gone" {
		t.Errorf("the old endpoint is %+v", one)
	}
	if err := e.Update([]string{old, old}); err == nil || !strings.Contains(err.Error(), "same endpoint") {
		t.Errorf("a doubled endpoint: %v", err)
	}
}

// TestUpdateUnderLoad checks that no request fails while the list of endpoints changes.
func TestUpdateUnderLoad(t *testing.T) {
	list := tritontest.NewFakes(t, 2).Addresses()
	e := run(t, list...)
	var done atomic.Bool
	var sending errgroup.Group
	for range 4 {
		sending.Go(func() error {
			for !done.Load() {
				if n, err := send(t.Context(), e, echo("x")); n != 1 || err != nil {
					return fmt.Errorf("%d responses: %w", n, err)
				}
			}
			return nil
		})
	}
	for i := range 60 {
		if err := e.Update([][]string{list[:1], list[1:], list}[i%3]); err != nil {
			t.Error(err)
		}
		<-time.After(10 * time.Millisecond)
	}
	done.Store(true)
	if err := sending.Wait(); err != nil {
		t.Error(err)
	}
}

// TestSharedMemory checks that shared memory needs a single endpoint.
func TestSharedMemory(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	ask := func(e *fleet.Engine) error {
		_, err := e.SystemSharedMemoryStatus(t.Context(), &kserve.SystemSharedMemoryStatusRequest{})
		return err
	}
	err := ask(run(t, fakes.Addresses()...))
	if known := inference.AsError(err); known.Code != inference.CodeUnsupported || known.Message != "shared memory needs a single inference server, and triton.Endpoint has 2" {
		t.Errorf("two endpoints: %v", err)
	}
	if known := inference.AsError(ask(run(t, fakes[0].Address()))); strings.Contains(known.Message, "single") {
		t.Errorf("one endpoint: %v", known)
	}
}

// TestPartFails checks the errors of calls that go to all endpoints when some fail.
func TestPartFails(t *testing.T) {
	fakes := tritontest.NewFakes(t, 3)
	fakes[1].SetModel("stream", nil)
	list := fakes.Addresses()
	e := run(t, list...)
	if _, err := e.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	position := 1 + slices.Index(slices.Sorted(slices.Values(list)), fakes[1].Address())
	_, err := e.TraceSetting(t.Context(), &kserve.TraceSettingRequest{ModelName: "stream", Settings: map[string]*kserve.TraceSettingRequest_SettingValue{"trace_rate": {Value: []string{"9"}}}})
	known := inference.AsError(err)
	want := fmt.Sprintf("1 of 3 inference servers failed: server %d: Request for unknown model: 'stream' is not found", position)
	if known.Message != want || known.Code != inference.CodeNotFound || !strings.Contains(fmt.Sprint(known.Err), fakes[1].Address()) {
		t.Errorf("got %q, cause %v; want %q and the address in the cause", known.Message, known.Err, want)
	}
	got, err := e.TraceSetting(t.Context(), &kserve.TraceSettingRequest{ModelName: "stream"})
	if err != nil || got.GetSettings()["trace_rate"].GetValue()[0] != "9" {
		t.Errorf("the others have %v, %v", got, err)
	}
	index, err := e.RepositoryIndex(t.Context(), &kserve.RepositoryIndexRequest{})
	if err != nil || len(index.GetModels()) != 2 || index.GetModels()[1].GetReason() != "ready on 2 of 3 servers" || index.GetModels()[0].GetReason() != "" {
		t.Errorf("the index is %v, %v", index, err)
	}
}

// TestStopped checks that a stopped fleet serves nothing.
func TestStopped(t *testing.T) {
	e := start(t, config(limits, tritontest.NewFake(t).Address()))
	if err := errors.Join(e.Stop(t.Context()), e.Stop(t.Context())); err != nil {
		t.Error(err)
	}
	_, err := send(t.Context(), e, echo("x"))
	for what, err := range map[string]error{"a request": err, "ready": e.Ready(t.Context()), "an update": e.Update([]string{"a:1"})} {
		if inference.AsError(err).Reason != inference.ReasonShuttingDown {
			t.Errorf("%s: %v", what, err)
		}
	}
}
