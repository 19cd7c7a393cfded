//go:build cgo

package local

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/trident-inference/trident/services/inference"
)

// TestSpans checks that Engine.Stream creates spans of Triton's core as children of the caller's
// span, with times within it. Without a caller's span, no request is traced.
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
	if err := engine.Stop(t.Context()); err != nil { // the trace has ended after Stop
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

// traceContextModel is a model that writes the trace context of each request to a file.
const traceContextModel = `import os
import triton_python_backend_utils as pb_utils

NOTES = os.path.join(os.path.dirname(__file__), "notes")

class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            with open(NOTES, "a") as notes:
                notes.write((request.trace().get_context() or "none") + "\n")
            number = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            responses.append(pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("OUT", number)]))
        return responses
`

// TestTraceContext checks that Engine.Stream passes the trace context of a request to the model,
// whether Trident records spans or not. The model receives no trace context if the request has
// none.
func TestTraceContext(t *testing.T) {
	config := configOf(t, map[string]string{"trace_context": traceContextModel})
	engine := start(t, config)
	defer stop(t, engine)
	provider := sdktrace.NewTracerProvider()
	recorded, span := provider.Tracer("test").Start(t.Context(), "engine")
	defer span.End()
	state, err := trace.ParseTraceState("vendor=1")
	if err != nil {
		t.Fatal(err)
	}
	clients := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceState: state})
	req := request(number("IN", 1))
	req.ModelName = "trace_context"
	for _, ctx := range []context.Context{t.Context(), recorded, trace.ContextWithRemoteSpanContext(t.Context(), clients)} {
		for _, err := range engine.Stream(ctx, req) {
			if err != nil {
				t.Fatalf("%v", inference.AsError(err))
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(config.Repositories[0], "trace_context", "1", "notes"))
	notes := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || len(notes) != 3 || notes[0] != "none" {
		t.Fatalf("%v: %q", err, notes)
	}
	of := span.SpanContext()
	for i, want := range []map[string]string{
		{"traceparent": fmt.Sprintf("00-%s-%s-01", of.TraceID(), of.SpanID())},
		{"traceparent": "00-01000000000000000000000000000000-0200000000000000-00", "tracestate": "vendor=1"},
	} {
		var got map[string]string
		if err := json.Unmarshal([]byte(notes[i+1]), &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: the context is %s, want %v", err, notes[i+1], want)
		}
	}
}
