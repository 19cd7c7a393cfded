package fleet_test

import (
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/trident-inference/trident/services/triton/tritontest"
)

// TestAttemptsAreTraced checks that the span of a request has an event for each attempt, with the
// server and the reason of its choice.
func TestAttemptsAreTraced(t *testing.T) {
	fake := tritontest.NewFake(t)
	e := run(t, fake.Address())
	recorder := tracetest.NewSpanRecorder()
	ctx, span := trace.NewTracerProvider(trace.WithSpanProcessor(recorder)).Tracer("test").Start(t.Context(), "engine")
	if n, err := send(ctx, e, echo("x")); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	span.End()
	events := recorder.Ended()[0].Events()
	if len(events) != 1 || events[0].Name != "endpoint" {
		t.Fatalf("the span has the events %v", events)
	}
	set := attribute.NewSet(events[0].Attributes...)
	for name, want := range map[attribute.Key]string{"server.address": fake.Address(), "trident.choice": "load", "trident.cached_tokens": "0", "trident.attempt": "1"} {
		if value, _ := set.Value(name); value.String() != want {
			t.Errorf("%s is %q, want %q", name, value.String(), want)
		}
	}
}
