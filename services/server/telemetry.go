package server

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
)

// surfaces are the APIs for which HTTP responses are counted. They are the values of the label
// surface of trident_http_requests_total.
var surfaces = [...]inference.Surface{ //nolint:gochecknoglobals // a constant list
	inference.SurfaceOther, inference.SurfaceOpenAI, inference.SurfaceAnthropic, inference.SurfaceEncoders, inference.SurfaceConnect, inference.SurfaceKServe, auth.SurfaceHealth, auth.SurfaceMetrics,
}

// Telemetry counts the responses of all ports and starts the traces of their requests.
// Its methods may be used concurrently. A nil Telemetry counts nothing and starts no
// traces.
type Telemetry struct {
	tracer trace.Tracer // nil for no traces
	http   [len(surfaces)][600]atomic.Uint64
	grpc   [grpccodes.Unauthenticated + 1]atomic.Uint64
	panics atomic.Uint64
	early  [refusals]atomic.Uint64
}

// NewTelemetry returns a telemetry whose traces go to the provider; a nil provider
// disables traces.
func NewTelemetry(provider trace.TracerProvider) *Telemetry {
	t := &Telemetry{}
	if provider != nil {
		t.tracer = provider.Tracer("github.com/trident-inference/trident/services/server")
	}
	return t
}

// HTTP yields the number of HTTP responses with each status, by API.
func (t *Telemetry) HTTP() iter.Seq2[Answers, uint64] {
	return func(yield func(Answers, uint64) bool) {
		for i := range t.http {
			for status := range t.http[i] {
				if n := t.http[i][status].Load(); n > 0 && !yield(Answers{surfaces[i], status}, n) {
					return
				}
			}
		}
	}
}

// Answers identifies the responses that are counted together.
type Answers struct {
	Surface inference.Surface
	Status  int
}

// GRPC yields the number of calls of the gRPC port that ended with each code.
func (t *Telemetry) GRPC() iter.Seq2[grpccodes.Code, uint64] {
	return func(yield func(grpccodes.Code, uint64) bool) {
		for code := range t.grpc {
			if n := t.grpc[code].Load(); n > 0 && !yield(grpccodes.Code(code), n) {
				return
			}
		}
	}
}

// refusal is the reason for which a port refuses a connection or a request before
// authentication.
type refusal uint8

const (
	refusedConnections refusal = iota
	refusedAddress
	refusedHeaders
	refusals
)

// String returns the value of the metrics' label.
func (r refusal) String() string {
	return [...]string{"connections", "connections_per_address", "header_lines"}[r]
}

// Refusals yields the number of refused connections and requests by reason.
func (t *Telemetry) Refusals() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for why := range t.early {
			if !yield(refusal(why).String(), t.early[why].Load()) {
				return
			}
		}
	}
}

func (t *Telemetry) refused(why refusal) {
	if t != nil {
		t.early[why].Add(1)
	}
}

// RefusedHeader counts a call that was refused because of its metadata.
func (t *Telemetry) RefusedHeader() { t.refused(refusedHeaders) }

// Panics returns the number of recovered panics.
func (t *Telemetry) Panics() uint64 { return t.panics.Load() }

// Panicked counts a recovered panic.
func (t *Telemetry) Panicked() {
	if t != nil {
		t.panics.Add(1)
	}
}

// traceParent is the header of W3C's trace context.
const traceParent = "Traceparent"

// begin reads the trace context of an HTTP request and starts its span. Probes have no
// span.
func (t *Telemetry) begin(r *http.Request, rec *Record) (context.Context, trace.Span) {
	ctx := r.Context()
	if _, traced := r.Header[traceParent]; traced {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	if t == nil || t.tracer == nil || rec.probing() {
		return ctx, trace.SpanFromContext(ctx)
	}
	return t.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes( //nolint:spancheck // end does it
		attribute.String("http.request.method", method(r.Method)), attribute.String("network.protocol.version", protocol(r.ProtoMajor))))
}

// method returns a standard method, or OpenTelemetry's value for other methods.
func method(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return name
	}
	return "_OTHER"
}

func protocol(major int) string {
	if major == 2 {
		return "2"
	}
	return "1.1"
}

// end counts the response and ends its span.
func (t *Telemetry) end(span trace.Span, rec *Record, r *http.Request, status int) {
	if t == nil {
		return
	}
	for i, s := range surfaces {
		if s == rec.Surface || i == 0 && rec.Surface == "" {
			t.http[i][min(max(status, 0), 599)].Add(1)
		}
	}
	if !span.IsRecording() {
		return
	}
	if rec.Route != "" {
		span.SetName(spanName(r.Method, rec.Route))
		span.SetAttributes(attribute.String("http.route", rec.Route))
	}
	span.SetAttributes(attribute.Int("http.response.status_code", status), attribute.String("trident.request_id", rec.RequestID))
	if !rec.FirstToken.IsZero() {
		span.AddEvent("first_write", trace.WithTimestamp(rec.FirstToken))
	}
	switch {
	case rec.Error != nil:
		code := inference.AsError(rec.Error).Code.String()
		span.SetAttributes(attribute.String("error.type", code))
		if status >= http.StatusInternalServerError || isServerError(rec.Error) {
			span.SetStatus(codes.Error, code)
		}
	case status >= http.StatusInternalServerError:
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// spanName returns the route's pattern with the method, or the name of a procedure.
func spanName(method, route string) string {
	if strings.Contains(route, " ") { // the pattern has the method
		return route
	}
	if service, name, ok := strings.Cut(strings.TrimPrefix(route, "/"), "/"); ok && strings.Contains(service, ".") && name != "" {
		return service + "/" + name
	}
	return method + " " + route
}

// Call is a call of the gRPC port.
type Call struct {
	telemetry *Telemetry
	span      trace.Span
}

// BeginGRPC reads the trace context of a call and starts its span. The caller must call
// [Call.End].
func (t *Telemetry) BeginGRPC(ctx context.Context, procedure string, probe bool) (context.Context, Call) {
	if len(metadata.ValueFromIncomingContext(ctx, "traceparent")) > 0 { // this check avoids a copy of all metadata
		md, _ := metadata.FromIncomingContext(ctx)
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(httpHeader(md)))
	}
	call := Call{telemetry: t, span: trace.SpanFromContext(ctx)}
	if t != nil && t.tracer != nil && !probe {
		name := strings.TrimPrefix(procedure, "/")
		service, method, _ := strings.Cut(name, "/")
		ctx, call.span = t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes( //nolint:spancheck // End does it
			attribute.String("rpc.system", "grpc"), attribute.String("rpc.service", service), attribute.String("rpc.method", method)))
	}
	return ctx, call
}

// End counts the call and ends its span.
func (c Call) End(code grpccodes.Code) {
	if c.telemetry == nil {
		return
	}
	c.telemetry.grpc[min(code, grpccodes.Unauthenticated)].Add(1)
	if !c.span.IsRecording() {
		return
	}
	c.span.SetAttributes(attribute.Int64("rpc.grpc.status_code", int64(code)))
	switch code {
	case grpccodes.Unknown, grpccodes.DeadlineExceeded, grpccodes.Unimplemented, grpccodes.Internal, grpccodes.Unavailable, grpccodes.DataLoss:
		c.span.SetStatus(codes.Error, code.String())
	default:
	}
	c.span.End()
}

// TraceID returns the id of the call's trace, or an empty string if there is none.
func (c Call) TraceID() string { return traceID(c.span) }

func traceID(span trace.Span) string {
	if span == nil || !span.SpanContext().HasTraceID() {
		return ""
	}
	return span.SpanContext().TraceID().String()
}

// httpHeader returns the headers of the trace context from metadata.
func httpHeader(md metadata.MD) http.Header {
	return http.Header{traceParent: md["traceparent"], "Tracestate": md["tracestate"]}
}
