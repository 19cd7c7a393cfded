package tracing_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	frontend "github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/tracing"
)

// receiver is a collector for both protocols.
type receiver struct {
	collector.UnimplementedTraceServiceServer

	mu       sync.Mutex
	spans    []*v1.Span
	resource string
	headers  []string
}

func (r *receiver) take(req *collector.ExportTraceServiceRequest, header string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers = append(r.headers, header)
	for _, resource := range req.GetResourceSpans() {
		r.resource = resource.GetResource().String()
		for _, scope := range resource.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
}

// Export implements the trace service.
func (r *receiver) Export(ctx context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.take(req, strings.Join(metadata.ValueFromIncomingContext(ctx, "tenant"), ""))
	return &collector.ExportTraceServiceResponse{}, nil
}

func (r *receiver) byName() map[string]*v1.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]*v1.Span{}
	for _, s := range r.spans {
		all[s.GetName()] = s
	}
	return all
}

// collect starts a receiver and returns it with its URL.
func collect(t *testing.T, protocol string) (*receiver, string) {
	t.Helper()
	r := &receiver{}
	if protocol == tracing.ProtocolHTTP {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			body, err := io.ReadAll(req.Body)
			var msg collector.ExportTraceServiceRequest
			if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(body, &msg) != nil {
				t.Errorf("%s: %v", req.URL.Path, err)
			}
			r.take(&msg, req.Header.Get("Tenant"))
			w.Header().Set("Content-Type", "application/x-protobuf")
		}))
		t.Cleanup(s.Close)
		return r, s.URL
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	collector.RegisterTraceServiceServer(s, r)
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	return r, "http://" + listener.Addr().String()
}

const (
	given  = "0af7651916cd43dd8448eb211c80319c"
	parent = "b7ad6b7169203331"
	secret = "a secret that stays in the prompt"
)

type fixture struct {
	url, grpc string
	log       *bytes.Buffer
	stop      func()
}

// serve serves a model by HTTP and gRPC. Its traces go to a collector.
func serve(t *testing.T, cfg tracing.Config) *fixture {
	t.Helper()
	f := &fixture{log: &bytes.Buffer{}}
	log := slog.New(slog.NewJSONHandler(f.log, nil))
	provider, err := tracing.New(cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := provider.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	telemetry := server.NewTelemetry(provider.Tracers())
	engine := inferencetest.New()
	engine.AddModel("m", inferencetest.StreamText("Hel", "lo"), map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	service := inferencetest.Service(t, serving.Config{}, engine)
	handler := http.NotFoundHandler()
	if strings.HasPrefix(t.Name(), "TestTrace/") || t.Name() == "TestOff" { // building the handler takes a second, as it reads the OpenAPI document
		if handler, err = openai.New(openai.Config{}, service); err != nil {
			t.Fatal(err)
		}
	}
	shared := server.Default()
	shared.Host, shared.Port = "127.0.0.1", 0
	listener := server.NewListener(shared)
	if err := listener.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	common := server.Common{Config: shared, Core: service.Admission(), Telemetry: telemetry, Abort: func(err error) { t.Error(err) }, Log: log}
	web, err := server.New(common, listener, []server.Route{{Pattern: "/", Handler: handler, Record: auth.Unmatched(auth.OpenAI)}})
	if err != nil {
		t.Fatal(err)
	}
	web.Serve()
	config := frontend.Default()
	config.Enabled, config.Host, config.GRPCPort, config.HTTPPort = true, "127.0.0.1", 0, 0
	ports := frontend.NewListener(config, nil)
	if err := ports.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	kserved, err := frontend.New(config, service)
	if err != nil {
		t.Fatal(err)
	}
	native, err := frontend.NewServer(kserved, ports, common)
	if err != nil {
		t.Fatal(err)
	}
	if err := native.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.url, f.grpc = listener.URL(), ports.Addr().String()
	f.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for _, stop := range []func(context.Context) error{web.Stop, native.Stop, ports.Stop, provider.Stop} {
			if err := stop(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(f.stop)
	return f
}

func (f *fixture) chat(t *testing.T, traceparent string) {
	t.Helper()
	body := strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"` + secret + `"}]}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/v1/chat/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", "mine")
	if traceparent != "" {
		req.Header.Set("Traceparent", traceparent)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), "[DONE]") {
		t.Fatalf("%s, %v", text, err)
	}
}

// infer requests one response of a decoupled model, which the server refuses.
func (f *fixture) infer(t *testing.T, traceparent string) (trailer metadata.MD) {
	t.Helper()
	conn, err := grpc.NewClient(f.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "mine")
	if traceparent != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", traceparent)
	}
	if _, err := kserve.NewGRPCInferenceServiceClient(conn).ModelInfer(ctx, &kserve.ModelInferRequest{ModelName: "m"}, grpc.Trailer(&trailer)); err == nil {
		t.Error("a decoupled model answered")
	}
	return trailer
}

// TestTrace checks that a client's trace passes through the request and reaches the collector.
func TestTrace(t *testing.T) {
	for _, protocol := range []string{tracing.ProtocolGRPC, tracing.ProtocolHTTP} {
		t.Run(protocol, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "tenant=acme")
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
			collected, url := collect(t, protocol)
			f := serve(t, tracing.Config{Endpoint: url, Protocol: protocol, Version: "1.2.3"})
			f.chat(t, "00-"+given+"-"+parent+"-01")
			f.stop()
			spans := collected.byName()
			root := spans["POST /v1/chat/completions"]
			if root == nil || hex.EncodeToString(root.GetTraceId()) != given || hex.EncodeToString(root.GetParentSpanId()) != parent || root.GetKind() != v1.Span_SPAN_KIND_SERVER {
				t.Fatalf("spans %v, root %v", spans, root)
			}
			for _, name := range []string{"admit", "template", "engine", "stream"} {
				if s := spans[name]; s == nil || !bytes.Equal(s.GetTraceId(), root.GetTraceId()) || !bytes.Equal(s.GetParentSpanId(), root.GetSpanId()) ||
					s.GetStartTimeUnixNano() < root.GetStartTimeUnixNano() || s.GetEndTimeUnixNano() > root.GetEndTimeUnixNano() {
					t.Errorf("%s: %v", name, s)
				}
			}
			text := root.String()
			for _, want := range []string{`"gen_ai.request.model"`, `"gen_ai.usage.output_tokens"`, `"http.response.status_code"`, `int_value:200`, `"mine"`, `name:"first_token"`} {
				if !strings.Contains(strings.ReplaceAll(text, ": ", ":"), strings.ReplaceAll(want, ": ", ":")) {
					t.Errorf("the span lacks %s: %s", want, text)
				}
			}
			for name, s := range spans {
				if strings.Contains(s.String(), "secret") || strings.Contains(s.String(), "Hel") {
					t.Errorf("%s contains the prompt or the answer: %s", name, s)
				}
			}
			for _, want := range []string{"trident", "1.2.3", "deployment.environment.name"} {
				if !strings.Contains(collected.resource, want) {
					t.Errorf("the resource lacks %s: %s", want, collected.resource)
				}
			}
			if !slices.Contains(collected.headers, "acme") {
				t.Errorf("headers %q", collected.headers)
			}
			if !strings.Contains(f.log.String(), `"trace_id":"`+given+`"`) || !strings.Contains(f.log.String(), `"request_id":"mine"`) {
				t.Errorf("log: %s", f.log)
			}
		})
	}
}

// TestTraceByGRPC checks that traces also work on KServe's gRPC port.
func TestTraceByGRPC(t *testing.T) {
	collected, url := collect(t, tracing.ProtocolGRPC)
	f := serve(t, tracing.Config{Endpoint: url, Protocol: tracing.ProtocolGRPC})
	trailer := f.infer(t, "00-"+given+"-"+parent+"-01")
	f.stop()
	root := collected.byName()["inference.GRPCInferenceService/ModelInfer"]
	if root == nil || hex.EncodeToString(root.GetTraceId()) != given || hex.EncodeToString(root.GetParentSpanId()) != parent ||
		root.GetStatus().GetCode() != v1.Status_STATUS_CODE_ERROR || !slices.Equal(trailer["x-request-id"], []string{"mine"}) {
		t.Errorf("%v, trailer %v", root, trailer)
	}
	if !strings.Contains(f.log.String(), `"trace_id":"`+given+`"`) || !strings.Contains(f.log.String(), `"request_id":"mine"`) {
		t.Errorf("log: %s", f.log)
	}
}

// TestSampling checks that a trace is recorded by the sampling decision in the client's trace
// context, and by the configured ratio without one.
func TestSampling(t *testing.T) {
	none, all := 0.0, 1.0
	for name, c := range map[string]struct {
		ratio       *float64
		sampler     string
		traceparent string
		sampled     bool
	}{
		"by default":             {nil, "", "", true},
		"ratio 0":                {&none, "", "", false},
		"ratio 0, client's":      {&none, "", "00-" + given + "-" + parent + "-01", true},
		"ratio 1, client's not":  {&all, "", "00-" + given + "-" + parent + "-00", false},
		"environment":            {nil, "always_off", "", false},
		"environment, and flag":  {&all, "always_off", "", true},
		"header that is no such": {&none, "", "nonsense", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_TRACES_SAMPLER", c.sampler)
			collected, url := collect(t, tracing.ProtocolGRPC)
			f := serve(t, tracing.Config{Endpoint: url, Protocol: tracing.ProtocolGRPC, SampleRatio: c.ratio})
			f.infer(t, c.traceparent)
			f.stop()
			if n := len(collected.byName()); (n > 0) != c.sampled {
				t.Errorf("%d spans", n)
			}
		})
	}
}

// TestOff checks that there are no traces without an endpoint or if the environment disables them.
// The log has the client's trace id nevertheless.
func TestOff(t *testing.T) {
	env := func(values map[string]string) func(string) string {
		return func(name string) string { return values[name] }
	}
	for name, cfg := range map[string]tracing.Config{
		"no endpoint": {},
		"disabled":    {Endpoint: "http://localhost:4317", Getenv: env(map[string]string{"OTEL_SDK_DISABLED": "true"})},
		"no exporter": {Getenv: env(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4317", "OTEL_TRACES_EXPORTER": "none"})},
	} {
		provider, err := tracing.New(cfg, slog.New(slog.DiscardHandler))
		if err != nil || provider.Tracers() != nil {
			t.Errorf("%s: %v, %v", name, provider.Tracers(), err)
		}
	}
	var tracers trace.TracerProvider
	provider, err := tracing.New(tracing.Config{Getenv: env(map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4317"})}, slog.New(slog.DiscardHandler))
	if tracers = provider.Tracers(); err != nil || tracers == nil {
		t.Errorf("the environment's endpoint: %v, %v", tracers, err)
	}
	f := serve(t, tracing.Config{})
	f.chat(t, "00-"+given+"-"+parent+"-01")
	f.stop()
	if !strings.Contains(f.log.String(), `"trace_id":"`+given+`"`) {
		t.Errorf("log: %s", f.log)
	}
}

func TestValidate(t *testing.T) {
	ratio := 1.5
	for flag, cfg := range map[string]tracing.Config{
		"tracing.Endpoint":    {Endpoint: "localhost:4317"},
		"tracing.Protocol":    {Protocol: "http/json"},
		"tracing.SampleRatio": {SampleRatio: &ratio},
	} {
		if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
