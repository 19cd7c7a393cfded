package metering_test

import (
	"errors"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// TestCachedTokens checks that the meters and the span have the cached tokens of requests for which
// the engine reports them.
func TestCachedTokens(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	tracer := trace.NewTracerProvider(trace.WithSpanProcessor(recorder)).Tracer("test")
	meters := metering.New(func(string) bool { return true })
	for _, cached := range []*int{nil, new(4), new(3)} {
		ctx, span := tracer.Start(t.Context(), "request")
		var m metering.Measure
		m.Begin(ctx, meters, inference.OperationChat)
		m.Settle("m", "")
		m.End(metering.OutcomeOK, &inference.Usage{PromptTokens: 5, CompletionTokens: 2, CachedTokens: cached})
		span.End()
	}
	var prompts, cached uint64
	for _, f := range meters.Figures() {
		prompts, cached = prompts+f.PromptTokens, cached+f.CachedPromptTokens
	}
	if prompts != 15 || cached != 7 {
		t.Errorf("%d prompt tokens, %d of them cached, want 15 and 7", prompts, cached)
	}
	for i, want := range []int64{-1, 4, 3} {
		got := int64(-1)
		for _, a := range recorder.Ended()[i].Attributes() {
			if a.Key == "gen_ai.usage.cache_read.input_tokens" {
				got = a.Value.AsInt64()
			}
		}
		if got != want {
			t.Errorf("span %d has %d cached tokens, want %d (-1: no attribute)", i, got, want)
		}
	}
}

// TestEndSpan checks that a span has the code of an error, and not its message.
func TestEndSpan(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	ctx, parent := trace.NewTracerProvider(trace.WithSpanProcessor(recorder)).Tracer("test").Start(t.Context(), "request")
	_, span := metering.ChildSpan(ctx, parent, "plan")
	metering.EndSpan(span, &inference.Error{Code: inference.CodeUnavailable, Message: "secret"})
	_, span = metering.ChildSpan(ctx, parent, "engine")
	metering.EndSpan(span, errors.New("secret"))
	for i, want := range []string{inference.CodeUnavailable.String(), inference.CodeInternal.String()} {
		s := recorder.Ended()[i]
		if s.Status().Code != codes.Error || s.Status().Description != want || !slices.Contains(s.Attributes(), attribute.String("error.type", want)) || s.Parent().SpanID() != parent.SpanContext().SpanID() {
			t.Errorf("%s: %+v %v, want %s", s.Name(), s.Status(), s.Attributes(), want)
		}
	}
}
