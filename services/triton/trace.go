package triton

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"
)

// withTrace passes the trace of a request on to tritonserver, whose own spans then are
// below ours if it makes any (--trace-config mode=opentelemetry). A client's trace is
// passed on also where Trident makes no spans.
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

// TraceHeader is W3C's header of the trace that a request is of: traceparent and, if the
// client sent one, tracestate. It is nil for a request of none.
func TraceHeader(ctx context.Context) map[string]string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	return header
}
