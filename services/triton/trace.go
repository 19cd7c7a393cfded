package triton

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"
)

// withTrace sends the trace context of a request to tritonserver. If tritonserver
// records spans (--trace-config mode=opentelemetry), they are children of Trident's
// span. A client's trace context is sent even if Trident records no spans.
func withTrace(ctx context.Context) context.Context {
	header := TraceHeader(ctx)
	if header == nil {
		return ctx
	}
	pairs := make([]string, 0, 2*len(header))
	for key, value := range header {
		pairs = append(pairs, key, value)
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// TraceHeader returns the W3C trace context headers of a request: traceparent and, if
// the client sent one, tracestate. TraceHeader returns nil for a request without a
// trace.
func TraceHeader(ctx context.Context) map[string]string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	return header
}
