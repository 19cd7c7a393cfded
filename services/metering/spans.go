package metering

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/trident-inference/trident/services/inference"
)

// tracerName is the scope of the spans of requests.
const tracerName = "github.com/trident-inference/trident/services/inference"

// ChildSpan starts a span below its parent. Below a parent that isn't recorded it starts
// none: without traces, and for requests that aren't sampled, a look at the parent is all
// that it costs.
func ChildSpan(ctx context.Context, parent trace.Span, name string) (context.Context, trace.Span) {
	if !parent.IsRecording() {
		return ctx, noop.Span{}
	}
	return parent.TracerProvider().Tracer(tracerName).Start(trace.ContextWithSpan(ctx, parent), name) //nolint:spancheck // the caller ends it
}

// EndSpan ends a span with the error of what it stands for. The text of an error may have
// a client's words in it, and only its code is told.
func EndSpan(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		code := inference.AsError(err).Code.String()
		span.SetAttributes(attribute.String("error.type", code))
		span.SetStatus(codes.Error, code)
	}
	span.End()
}

// traceAnswer marks the first answer in the trace, from where on a stream goes out.
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
	if usage != nil {
		m.span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", usage.PromptTokens), attribute.Int("gen_ai.usage.output_tokens", usage.CompletionTokens))
	}
	if outcome != OutcomeOK {
		m.span.SetAttributes(attribute.String("error.type", outcome.String()))
	}
}
