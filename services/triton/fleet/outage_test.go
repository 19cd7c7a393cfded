package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/pause"
)

// TestDeadStaysOut checks that the responses that came before the end of a server don't take its
// endpoint in again, and that the failures of its streams don't count against its models once it is
// back.
func TestDeadStaysOut(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	e := run(t, fakes.Addresses()...)
	if _, err := send(t.Context(), e, echo("first")); err != nil {
		t.Fatal(err)
	}
	const streams = 40
	ctx, stop := context.WithCancel(t.Context())
	var sending errgroup.Group
	for range streams {
		sending.Go(func() error { _, _ = send(ctx, e, numbers(1000, 20)); return nil }) // half of them fail, and the rest end with the test
	}
	await(t, 5*time.Second, "all streams run", func() bool { return fakes[0].Served("stream")+fakes[1].Served("stream") == streams })
	<-time.After(100 * time.Millisecond) // for some responses
	fakes[0].Kill()
	address := fakes[0].Address()
	out := func() bool { one, _ := state(e, address); return one.State == inference.EndpointOut }
	await(t, 3500*time.Millisecond, "the endpoint is out", out)
	if pause.Until(1500*time.Millisecond, func() bool { return !out() }) {
		t.Error("the endpoint of a dead server was taken in again")
	}
	if one, _ := state(e, address); one.Outs != 1 {
		t.Errorf("the endpoint was out %d times", one.Outs)
	}
	stop()
	if err := sending.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := fakes[0].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, 5*time.Second, "the endpoint is back", func() bool { return !out() })
	before := fakes[0].Served("stream")
	for range streams {
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
	if fakes[0].Served("stream") == before {
		t.Error("the endpoint that is back got no request: its model is out")
	}
}

// TestInputsChange checks that generations for a model that has got other inputs on an endpoint are
// served by the others from the first one on, and that an invalid request isn't repeated.
func TestInputsChange(t *testing.T) {
	fakes := tritontest.NewFakes(t, 3)
	e := run(t, fakes.Addresses()...)
	if _, err := send(t.Context(), e, echo("first")); err != nil {
		t.Fatal(err)
	}
	changed := fakes[0].Model("echo")
	changed.Input[0].Name = "PROMPT"
	fakes[0].SetModel("echo", changed)
	for i := range 50 {
		if n, err := send(t.Context(), e, echo(fmt.Sprint(i))); n != 1 || err != nil {
			t.Fatalf("request %d: %d responses, %v", i, n, err)
		}
	}
	_, before := state(e, "")
	wrong := echo("x")
	wrong.Inputs[0].Name = "NOBODY"
	if _, err := send(t.Context(), e, wrong); inference.AsError(err).Code != inference.CodeInvalid {
		t.Errorf("an invalid request: %v", err)
	}
	repeats := func(r inference.EndpointReport) (all uint64) {
		for _, one := range r.Endpoints {
			all += one.Repeats
		}
		return all
	}
	_, after := state(e, "")
	if had, has := repeats(before), repeats(after); had == 0 || has != had {
		t.Errorf("%d repeats, and %d after an invalid request", had, has)
	}
}

// TestModelReturns checks that an endpoint gets requests again soon after a model has its usual inputs
// there again.
func TestModelReturns(t *testing.T) {
	fakes := tritontest.NewFakes(t, 3)
	e := run(t, fakes.Addresses()...)
	usual, other := fakes[0].Model("echo"), fakes[0].Model("echo")
	other.Input[0].Name = "PROMPT"
	fakes[0].SetModel("echo", other)
	if _, err := e.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if _, err := send(t.Context(), e, echo("x")); err != nil {
			t.Fatal(err)
		}
	}
	if n := fakes[0].Served("echo"); n != 0 {
		t.Errorf("the endpoint with other inputs served %d requests", n)
	}
	fakes[0].SetModel("echo", usual)
	await(t, 5*time.Second, "the endpoint serves requests", func() bool {
		_, err := send(t.Context(), e, echo("x"))
		return err != nil || fakes[0].Served("echo") > 0
	})
	if fakes[0].Served("echo") == 0 {
		t.Error("a request failed")
	}
}
