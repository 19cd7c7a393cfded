package fleet_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/fleet"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/logbuffer"
)

// runLogged starts a fleet with a log for the time of a test.
func runLogged(t *testing.T, endpoints ...string) (*fleet.Engine, *logbuffer.Buffer) {
	t.Helper()
	log := &logbuffer.Buffer{}
	e, err := fleet.New(config(limits, endpoints...), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := e.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e, log
}

// echoes sends requests, all of which must succeed.
func echoes(t *testing.T, e *fleet.Engine, requests int) {
	t.Helper()
	for i := range requests {
		if n, err := send(t.Context(), e, echo(fmt.Sprint(i))); n != 1 || err != nil {
			t.Fatalf("request %d: %d responses, %v", i, n, err)
		}
	}
}

// TestDrain checks that a drained endpoint gets no new requests while its streams continue to their
// end, that it gets requests again when it is resumed, and the log of both.
func TestDrain(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	e, log := runLogged(t, fakes.Addresses()...)
	operator := inference.WithClient(t.Context(), &inference.Client{Name: "ops"})
	var drained, other *tritontest.Fake
	n := 0
	for _, err := range e.Stream(t.Context(), numbers(30, 10)) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if n != 3 {
			continue
		}
		hit := slices.IndexFunc(fakes, func(f *tritontest.Fake) bool { return f.Served("stream") == 1 })
		drained, other = fakes[hit], fakes[1-hit]
		one, err := e.Drain(operator, "http://"+drained.Address(), false)
		if err != nil || one.State != inference.EndpointDrained || one.InFlight != 1 || one.Address != drained.Address() {
			t.Fatalf("the drained endpoint is %+v, %v", one, err)
		}
		echoes(t, e, 40) //nolint:contextcheck // requests of their own
	}
	if n != 31 || drained.Served("echo") != 0 || other.Served("echo") != 40 {
		t.Errorf("the stream had %d responses, want 31; the drained endpoint served %d requests, the other one %d", n, drained.Served("echo"), other.Served("echo"))
	}
	one, err := e.Drain(operator, drained.Address(), false)
	if err != nil || one.State != inference.EndpointDrained || one.InFlight != 0 {
		t.Errorf("drained again, it is %+v, %v", one, err)
	}
	if one, err = e.Resume(operator, drained.Address()); err != nil || one.State != inference.EndpointStarting {
		t.Errorf("the resumed endpoint is %+v, %v", one, err)
	}
	if _, err := e.Drain(operator, other.Address(), false); err != nil {
		t.Fatal(err)
	}
	echoes(t, e, 10)
	if drained.Served("echo") != 10 {
		t.Errorf("the resumed endpoint served %d of 10 requests", drained.Served("echo"))
	}
	text := log.String()
	for _, want := range []string{
		fmt.Sprintf(`msg="endpoint is drained: it gets no new requests" endpoint=%s by=ops forced=false in_flight=1`, drained.Address()),
		fmt.Sprintf(`msg="drained endpoint is resumed" endpoint=%s by=ops`, drained.Address()),
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
}

// TestDrainLast checks that the last endpoint of a model is drained only by force, and the errors of
// requests that only drained endpoints could serve.
func TestDrainLast(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	fakes[1].SetModel("stream", nil)
	e, _ := runLogged(t, fakes.Addresses()...)
	drain := func(f *tritontest.Fake, force bool) error {
		_, err := e.Drain(t.Context(), f.Address(), force)
		return err
	}
	known := inference.AsError(drain(fakes[0], false))
	if want := fakes[0].Address() + " isn't drained, because no other inference server that is in has these models: stream: requests for them would fail; set force to drain it nevertheless"; known.Message != want || known.Code != inference.CodeInvalid || known.Reason != inference.ReasonLastEndpoint {
		t.Errorf("the only endpoint of a model: %v, want %q", known, want)
	}
	echoes(t, e, 10)
	if err := drain(fakes[0], true); err != nil {
		t.Fatal(err)
	}
	_, err := send(t.Context(), e, numbers(1, 0))
	if known := inference.AsError(err); known.Code != inference.CodeUnavailable || known.Message != "the inference servers of this model are drained for maintenance" || known.RetryAfter == 0 {
		t.Errorf("a model of a drained endpoint: %v", err)
	}
	served := fakes[0].Served("echo")
	echoes(t, e, 10)
	if n := fakes[0].Served("echo"); n != served {
		t.Errorf("the drained endpoint served %d requests more", n-served)
	}
	if err := drain(fakes[1], false); !strings.Contains(inference.AsError(err).Message, "no other inference server is in: all requests would fail") {
		t.Errorf("the last endpoint: %v", err)
	}
	if err := e.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if err := drain(fakes[1], true); err != nil {
		t.Fatal(err)
	}
	if err := inference.AsError(e.Ready(t.Context())); !strings.Contains(err.Message, "drained") {
		t.Errorf("ready without an endpoint: %v", err)
	}
}

// TestDrainUnknown checks the error about an address that no endpoint has.
func TestDrainUnknown(t *testing.T) {
	list := tritontest.NewFakes(t, 2).Addresses()
	e, _ := runLogged(t, list...)
	slices.Sort(list)
	want := `no inference server has the address "127.0.0.9:1": the addresses are ` + strings.Join(list, ", ")
	_, drained := e.Drain(t.Context(), "127.0.0.9:1", false)
	_, resumed := e.Resume(t.Context(), "127.0.0.9:1")
	for what, err := range map[string]error{"drain": drained, "resume": resumed} {
		if known := inference.AsError(err); known.Code != inference.CodeNotFound || known.Message != want || known.Reason != inference.ReasonEndpointNotFound {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
}

// TestDrainStays checks that an endpoint stays drained while it is away from the list, and that it
// can be resumed there.
func TestDrainStays(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	list := fakes.Addresses()
	e, _ := runLogged(t, list...)
	if _, err := e.Drain(t.Context(), list[0], false); err != nil {
		t.Fatal(err)
	}
	update := func(endpoints ...string) {
		t.Helper()
		if err := e.Update(endpoints); err != nil {
			t.Fatal(err)
		}
	}
	update(list[1])
	if report := e.Endpoints(); !slices.Equal(report.Absent, list[:1]) || len(report.Endpoints) != 1 {
		t.Errorf("the report is %+v", report)
	}
	update(list...)
	if one, report := state(e, list[0]); one.State != inference.EndpointDrained || len(report.Absent) != 0 {
		t.Errorf("back in the list, the endpoint is %+v", one)
	}
	echoes(t, e, 20)
	if n := fakes[0].Served("echo"); n != 0 {
		t.Errorf("the drained endpoint served %d requests", n)
	}
	update(list[1])
	if one, err := e.Resume(t.Context(), list[0]); err != nil || one.Address != "" {
		t.Errorf("resumed while it is away: %+v, %v", one, err)
	}
	update(list...)
	if one, report := state(e, list[0]); one.State != inference.EndpointIn || len(report.Absent) != 0 {
		t.Errorf("resumed and back in the list, the endpoint is %+v", one)
	}
}

// TestDrainedIsDown checks that calls to all endpoints leave out a drained one that is down, and that
// its state has the reason.
func TestDrainedIsDown(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	e, _ := runLogged(t, fakes.Addresses()...)
	if _, err := e.Drain(t.Context(), fakes[0].Address(), false); err != nil {
		t.Fatal(err)
	}
	fakes[0].Kill()
	await(t, 5*time.Second, "the drained endpoint has a reason", func() bool { one, _ := state(e, fakes[0].Address()); return one.Reason != "" })
	if one, _ := state(e, fakes[0].Address()); one.State != inference.EndpointDrained || one.Reason != "the connection was refused" {
		t.Errorf("the endpoint is %+v", one)
	}
	settings := map[string]*kserve.TraceSettingRequest_SettingValue{"trace_rate": {Value: []string{"9"}}}
	if _, err := e.TraceSetting(t.Context(), &kserve.TraceSettingRequest{ModelName: "stream", Settings: settings}); err != nil {
		t.Errorf("a setting of all endpoints: %v", err)
	}
}

// TestDrainSequences checks that the sequences of a drained endpoint continue there to their end, that
// new ones start elsewhere, and that those stay when the endpoint is resumed.
func TestDrainSequences(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	e, _ := runLogged(t, fakes.Addresses()...)
	const starts, ends = 1, 2
	sent := func(id, flags int) *tritontest.Fake {
		t.Helper()
		before := fakes[0].Served("echo")
		req := echo(fmt.Sprint(id))
		req.Parameters = map[string]*kserve.InferParameter{
			"sequence_id":    {ParameterChoice: &kserve.InferParameter_Int64Param{Int64Param: int64(id)}},
			"sequence_start": {ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: flags&starts != 0}},
			"sequence_end":   {ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: flags&ends != 0}},
		}
		if n, err := send(t.Context(), e, req); n != 1 || err != nil {
			t.Fatalf("sequence %d: %d responses, %v", id, n, err)
		}
		if fakes[0].Served("echo") > before {
			return fakes[0]
		}
		return fakes[1]
	}
	want := func(what string, id, flags int, server *tritontest.Fake) {
		t.Helper()
		if sent(id, flags) != server {
			t.Errorf("%s: the request went to the other endpoint", what)
		}
	}
	var ids []int // sequences whose home is the endpoint that will be drained
	for id := 1; len(ids) < 3; id++ {
		if sent(id, starts|ends) == fakes[0] {
			ids = append(ids, id)
		}
	}
	running, fresh, last := ids[0], ids[1], ids[2]
	want("before", running, starts, fakes[0])
	if _, err := e.Drain(t.Context(), fakes[0].Address(), false); err != nil {
		t.Fatal(err)
	}
	want("a sequence that runs on the drained endpoint", running, 0, fakes[0])
	want("a new sequence", fresh, starts, fakes[1])
	want("its next request", fresh, 0, fakes[1])
	want("a sequence of one request", last, starts|ends, fakes[1])
	if _, err := e.Resume(t.Context(), fakes[0].Address()); err != nil {
		t.Fatal(err)
	}
	want("after the end of the drain", running, ends, fakes[0])
	want("a sequence that started elsewhere", fresh, 0, fakes[1])
	want("its end", fresh, ends, fakes[1])
	want("its id once more", fresh, starts|ends, fakes[0])
	if _, err := e.Drain(t.Context(), fakes[0].Address(), false); err != nil {
		t.Fatal(err)
	}
	want("another new sequence", last, starts, fakes[1])
	fakes[0].Kill()
	want("the drained endpoint is down", last, ends, fakes[1])
}
