package fleet_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

// TestContentsAreKept checks that a request is reported as sent, after which the core may free its
// contents, with the first response and not before: until then the request may be repeated.
func TestContentsAreKept(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	e := run(t, fakes.Addresses()...)
	if _, err := send(t.Context(), e, echo("first")); err != nil {
		t.Fatal(err)
	}
	fakes.Pause()
	defer fakes.Resume()
	var sent atomic.Int32
	ctx := inference.WhenSent(t.Context(), func() { sent.Add(1) })
	ended := make(chan error, 1)
	go func() {
		var first error
		for _, err := range e.Stream(ctx, numbers(3, 1)) {
			if first = err; err == nil && sent.Load() != 1 {
				first = fmt.Errorf("a response came, and the request was reported as sent %d times", sent.Load())
			}
			if first != nil {
				break
			}
		}
		ended <- first
	}()
	await(t, 5*time.Second, "the request has arrived", func() bool { return fakes[0].Served("stream")+fakes[1].Served("stream") == 1 })
	if sent.Load() != 0 {
		t.Error("the request was reported as sent before a response")
	}
	fakes.Resume()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
