package server

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel/trace/noop"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
)

// TestTelemetryCounts checks that Telemetry counts HTTP responses by the API of their route and by
// status, whatever paths and methods clients send.
func TestTelemetryCounts(t *testing.T) {
	telemetry := NewTelemetry(nil)
	teapot := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/panic" {
			panic("a defect")
		}
		w.WriteHeader(http.StatusTeapot)
	})
	mux, err := NewMux(nil, noWork{}, []Route{
		{Pattern: "/v1/", Handler: teapot, Record: auth.Unmatched(auth.OpenAI)}, {Pattern: "GET /health/live", Handler: teapot}, {Pattern: "GET /v2/health/ready", Handler: teapot},
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := observe(bodyPause, telemetry, slog.New(slog.DiscardHandler), mux, mux.matched())
	for _, path := range []string{"/v1/a", "/v1/b", "/v1/panic", "/made/up", "/health/live", "/v2/health/ready"} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	}
	got := maps.Collect(telemetry.HTTP())
	want := map[Answers]uint64{
		{inference.SurfaceOpenAI, 418}: 2, {inference.SurfaceOpenAI, 500}: 1, {inference.SurfaceOther, 404}: 1, {auth.SurfaceHealth, 418}: 2,
	}
	for answers, n := range want {
		if got[answers] != n || len(got) != len(want) {
			t.Errorf("%v: %d of %v", answers, got[answers], got)
		}
	}
	if telemetry.Panics() != 1 {
		t.Errorf("%d panics", telemetry.Panics())
	}
	for _, code := range []grpccodes.Code{grpccodes.OK, grpccodes.OK, grpccodes.Unavailable} {
		_, call := telemetry.BeginGRPC(t.Context(), "/a/B", false)
		call.End(code)
	}
	for code, n := range telemetry.GRPC() {
		if want := map[grpccodes.Code]uint64{grpccodes.OK: 2, grpccodes.Unavailable: 1}[code]; n != want {
			t.Errorf("%s: %d", code, n)
		}
	}
}

func TestSpanName(t *testing.T) {
	for route, want := range map[string]string{
		"POST /v1/chat/completions":            "POST /v1/chat/completions",
		"/trident.v1.ChatService/ChatStream":   "trident.v1.ChatService/ChatStream",
		"/v2/models/{model}/infer":             "GET /v2/models/{model}/infer",
		"/inference.GRPCInferenceService/Live": "inference.GRPCInferenceService/Live",
	} {
		if got := spanName(http.MethodGet, route); got != want {
			t.Errorf("%s: %s, not %s", route, got, want)
		}
	}
}

// BenchmarkObserve measures the cost per HTTP request of the id, the counters and the
// log line, which is discarded, without traces. Compare results with benchstat.
func BenchmarkObserve(b *testing.B) {
	mux, err := NewMux(nil, noWork{}, []Route{{Pattern: "POST /v1/chat/completions", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })}})
	if err != nil {
		b.Fatal(err)
	}
	handler := observe(bodyPause, NewTelemetry(nil), slog.New(slog.DiscardHandler), mux, mux.matched())
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/chat/completions", http.NoBody)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
}

// BenchmarkTraceOff measures the cost of disabled traces per gRPC call: without a
// tracer, and with no-op tracers. Compare results with benchstat.
func BenchmarkTraceOff(b *testing.B) {
	ctx := metadata.NewIncomingContext(context.Background(), metadata.Pairs("user-agent", "x", ":authority", "y"))
	for name, telemetry := range map[string]*Telemetry{"none": NewTelemetry(nil), "noop": NewTelemetry(noop.NewTracerProvider())} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, call := telemetry.BeginGRPC(ctx, "/inference.GRPCInferenceService/ModelInfer", false)
				call.End(grpccodes.OK)
			}
		})
	}
}
