//go:build cgo

package local

import (
	"slices"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestSpans: what Triton's core tells of a request is below the span of it, and at its
// time; without a span nothing is traced.
func TestSpans(t *testing.T) {
	engine := start(t, suiteConfig(t))
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	if err := run(t, engine, numbered(1)); err != nil {
		t.Fatal(err)
	}
	ctx, above := provider.Tracer("test").Start(t.Context(), "engine")
	began := time.Now()
	for _, err := range engine.Stream(ctx, numbered(1)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	above.End()
	ended := time.Now()
	if err := engine.Stop(t.Context()); err != nil { // the trace has ended then
		t.Fatal(err)
	}
	spans := recorder.Ended()
	i := slices.IndexFunc(spans, func(s sdktrace.ReadOnlySpan) bool { return s.Name() == "triton" })
	if len(spans) != 2 || i < 0 {
		t.Fatalf("spans %v", spans)
	}
	s := spans[i]
	if s.Parent().SpanID() != above.SpanContext().SpanID() || s.StartTime().Before(began.Add(-time.Millisecond)) || s.EndTime().After(ended.Add(time.Second)) || !s.EndTime().After(s.StartTime()) {
		t.Errorf("below %s, from %s to %s, not %s to %s", s.Parent().SpanID(), s.StartTime(), s.EndTime(), began, ended)
	}
	var events []string
	for _, e := range s.Events() {
		events = append(events, e.Name)
	}
	for _, want := range []string{"REQUEST_START", "QUEUE_START", "COMPUTE_START", "COMPUTE_END", "REQUEST_END"} {
		if !slices.Contains(events, want) {
			t.Errorf("no %s in %v", want, events)
		}
	}
}
