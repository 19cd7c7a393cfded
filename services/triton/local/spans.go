package local

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/trident-inference/trident/services/triton/extension"
)

// traceSpans makes a span of each request that Triton has traced, the one of the
// engine's span above it, or that which it was made for. Its events are Triton's
// activities, such as QUEUE_START and COMPUTE_END. Skew is what Triton's clock, the
// monotonic one, lacks to the time of day.
func traceSpans(above trace.Span, records []extension.TraceRecord, skew time.Duration) {
	tracer := above.TracerProvider().Tracer("github.com/trident-inference/trident/services/triton/local")
	at := func(r extension.TraceRecord) trace.SpanEventOption {
		return trace.WithTimestamp(time.Unix(0, r.Nanoseconds).Add(skew))
	}
	open, last := map[uint64]trace.Span{}, map[uint64]extension.TraceRecord{}
	for _, r := range records {
		if r.Tensor != nil {
			continue
		}
		span := open[r.ID]
		if span == nil {
			parent := above
			if made := open[r.Parent]; made != nil {
				parent = made
			}
			_, span = tracer.Start(trace.ContextWithSpan(context.Background(), parent), "triton", at(r),
				trace.WithAttributes(attribute.String("trident.triton.model", r.Model), attribute.Int64("trident.triton.version", r.Version)))
			open[r.ID] = span
		}
		span.AddEvent(r.Activity, at(r))
		last[r.ID] = r
	}
	for id, span := range open {
		span.End(at(last[id]))
	}
}
