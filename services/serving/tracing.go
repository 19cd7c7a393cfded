package serving

import (
	"context"
	"iter"

	"go.opentelemetry.io/otel/trace"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// child starts a span below the span of the context.
func child(ctx context.Context, name string) (context.Context, trace.Span) {
	return metering.ChildSpan(ctx, spanOf(ctx), name)
}

// spanOf returns the span under a context. A ticket has its own span.
func spanOf(ctx context.Context) trace.Span {
	if t, ok := ctx.(*admission.Ticket); ok && t.Measure.Span() != nil {
		return t.Measure.Span()
	}
	return trace.SpanFromContext(ctx)
}

// traced records a stream of the engine as a span, from before its request until its end. The engine
// finds the span in its context and may propagate it.
func traced(ctx context.Context, stream func(context.Context) iter.Seq2[*inference.Response, error]) iter.Seq2[*inference.Response, error] {
	if !spanOf(ctx).IsRecording() {
		return stream(ctx)
	}
	return func(yield func(*inference.Response, error) bool) {
		ctx, span := child(ctx, "engine")
		var failure error
		defer func() { metering.EndSpan(span, failure) }()
		answered := false
		for resp, err := range stream(ctx) {
			if !answered && err == nil && !resp.Idle {
				answered = true
				span.AddEvent("first_response")
			}
			if failure = err; !yield(resp, err) {
				return
			}
		}
	}
}
