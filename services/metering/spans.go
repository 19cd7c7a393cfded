package metering

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/trident-inference/trident/services/inference"
)

// tracerName is the instrumentation scope of the spans of requests.
const tracerName = "github.com/trident-inference/trident/services/inference"

// ChildSpan starts a span below its parent, if the parent is recorded. Without traces, and for
// requests that aren't sampled, the check of the parent is the only cost.
func ChildSpan(ctx context.Context, parent trace.Span, name string) (context.Context, trace.Span) {
	if !parent.IsRecording() {
		return ctx, noop.Span{}
	}
	return parent.TracerProvider().Tracer(tracerName).Start(trace.ContextWithSpan(ctx, parent), name) //nolint:spancheck // the caller ends it
}

// EndSpan ends a span with the error of its operation. The span gets only the error's code, because
// the message may contain data of the client.
func EndSpan(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		code := inference.AsError(err).Code.String()
		span.SetAttributes(attribute.String("error.type", code))
		span.SetStatus(codes.Error, code)
	}
	span.End()
}

// traceAnswer records the first answer in the trace and starts the span of the stream.
func (m *Measure) traceAnswer() {
	m.span.AddEvent("first_token")
	if m.Streamed {
		_, m.stream = ChildSpan(context.Background(), m.span, "stream")
	}
}

func (m *Measure) endTrace(outcome Outcome, usage *inference.Usage) {
	if m.stream != nil {
		m.stream.End()
	}
	if !m.span.IsRecording() {
		return
	}
	if usage != nil && !usage.Unknown {
		m.span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", usage.PromptTokens), attribute.Int("gen_ai.usage.output_tokens", usage.CompletionTokens))
		if usage.CachedTokens != nil {
			m.span.SetAttributes(attribute.Int("gen_ai.usage.cache_read.input_tokens", *usage.CachedTokens))
		}
	}
	if outcome != OutcomeOK {
		m.span.SetAttributes(attribute.String("error.type", outcome.String()))
	}
}
