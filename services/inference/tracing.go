package inference

import (
	"context"
	"iter"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// tracerName is the scope of spans made here.
const tracerName = "github.com/trident-inference/trident/services/inference"

// child begins a span below the one of the context. Where that isn't recorded nothing
// is begun: without traces, and for requests that aren't sampled, a look at the
// context is all that it costs.
func child(ctx context.Context, name string) (context.Context, trace.Span) {
	return childOf(ctx, spanOf(ctx), name)
}

// childOf does so where the parent is known.
func childOf(ctx context.Context, parent trace.Span, name string) (context.Context, trace.Span) {
	if !parent.IsRecording() {
		return ctx, noop.Span{}
	}
	return parent.TracerProvider().Tracer(tracerName).Start(ctx, name) //nolint:spancheck // the caller ends it
}

// endSpan ends one with the error of what it stands for. The text of an error may have
// a client's words in it, and only its code is told.
func endSpan(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		code := AsError(err).Code.String()
		span.SetAttributes(attribute.String("error.type", code))
		span.SetStatus(codes.Error, code)
	}
	span.End()
}

// traceAnswer marks the first answer in the trace, from where on a stream goes out.
func (m *measure) traceAnswer() {
	m.span.AddEvent("first_token")
	if m.streamed {
		_, m.stream = child(trace.ContextWithSpan(context.Background(), m.span), "stream")
	}
}

func (m *measure) endTrace(outcome Outcome, usage *Usage) {
	if m.stream != nil {
		m.stream.End()
	}
	if !m.span.IsRecording() {
		return
	}
	if usage != nil {
		m.span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", usage.PromptTokens), attribute.Int("gen_ai.usage.output_tokens", usage.CompletionTokens))
	}
	if outcome != OutcomeOK {
		m.span.SetAttributes(attribute.String("error.type", outcome.String()))
	}
}

// spanOf is the span under a context. A ticket knows its own.
func spanOf(ctx context.Context) trace.Span {
	if t, ok := ctx.(*ticket); ok && t.measure.span != nil {
		return t.measure.span
	}
	return trace.SpanFromContext(ctx)
}

// traced has a stream of the engine recorded as a span, from before it is asked until
// its end. The engine finds the span in its context, and may pass it on.
func traced(ctx context.Context, stream func(context.Context) iter.Seq2[*Response, error]) iter.Seq2[*Response, error] {
	if !spanOf(ctx).IsRecording() {
		return stream(ctx)
	}
	return func(yield func(*Response, error) bool) {
		ctx, span := child(ctx, "engine")
		var failure error
		defer func() { endSpan(span, failure) }()
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
