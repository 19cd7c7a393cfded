package triton

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// TestTracePassedOn checks that Engine.Stream sends the trace context of a request to tritonserver
// as the header traceparent. Without a trace context, tritonserver receives no such header.
func TestTracePassedOn(t *testing.T) {
	got := make(chan []string, 1)
	e := serve(t, func(*Config) {}, func(stream grpc.ServerStream) error {
		got <- metadata.ValueFromIncomingContext(stream.Context(), "traceparent")
		return nil
	})
	of := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	for _, context := range []trace.SpanContext{of, {}} {
		for _, err := range e.Stream(trace.ContextWithRemoteSpanContext(t.Context(), context), &kserve.ModelInferRequest{ModelName: "m"}) {
			_ = err // the server sends no response
		}
		want := ""
		if context.IsValid() {
			want = "00-01000000000000000000000000000000-0200000000000000-01"
		}
		if header := strings.Join(<-got, ","); header != want {
			t.Errorf("traceparent %q, not %q", header, want)
		}
	}
}
