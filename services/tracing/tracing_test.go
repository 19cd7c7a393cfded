package tracing_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"maps"
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
	common "go.opentelemetry.io/proto/otlp/common/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/anthropic"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/encoders"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	frontend "github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/seal"
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
	engine.AddModel("m", inferencetest.StreamText("Hel", "lo"), map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.tokenizer": "../../test/models-contract/vllm/tokenizer"})
	scorer := inferencetest.Scorer{TokenIDs: true, Vocabulary: 258, ID: func(label string) int { return int(label[0]) }}
	engine.AddModel("decider", scorer.Script(), map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.tokenizer": "../../test/models-contract/vllm/tokenizer"})
	cross := inferencetest.EncoderConfig("cross", 8, "logits", 1)
	engine.AddEncoder(cross, map[string]string{"trident.tokenizer": "../../test/models-contract/vllm/tokenizer", "trident.task": "score"}, func(ids []int) []float32 { return []float32{float32(len(ids))} })
	service := inferencetest.Service(t, serving.Config{}, engine)
	handler := http.NotFoundHandler()
	ranks, err := encoders.New(encoders.Config{}, service)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := anthropic.New(anthropic.Config{}, service, seal.New())
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(t.Name(), "TestTrace/") || t.Name() == "TestOff" || t.Name() == "TestTraceOfDecisions" { // building the handler takes a second, as it reads the OpenAPI document
		if handler, err = openai.New(openai.Config{}, service, nil); err != nil {
			t.Fatal(err)
		}
	}
	shared := server.Default()
	shared.Host, shared.Port = "127.0.0.1", 0
	listener := server.NewListener(shared)
	if err := listener.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	shares := server.Common{Config: shared, Core: service.Admission(), Telemetry: telemetry, Abort: func(err error) { t.Error(err) }, Log: log}
	web, err := server.New(shares, listener, slices.Concat(anthropic.NewRoutes(messages), encoders.NewRoutes(ranks), []server.Route{{Pattern: "/", Handler: handler, Record: auth.Unmatched(auth.OpenAI)}}))
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
	native, err := frontend.NewServer(kserved, ports, shares)
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

// chat requests a stream of a chat.
func (f *fixture) chat(t *testing.T, traceparent string) {
	t.Helper()
	f.post(t, "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"`+secret+`"}]}`, traceparent, "[DONE]")
}

// post sends a request, whose response must have the text wanted.
func (f *fixture) post(t *testing.T, path, body, traceparent, wanted string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+path, strings.NewReader(body))
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
	if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), wanted) {
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

// attributes returns the values of a span's attributes by their names.
func attributes(s *v1.Span) map[string]any {
	all := map[string]any{}
	for _, a := range s.GetAttributes() {
		switch value := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			all[a.GetKey()] = value.StringValue
		case *common.AnyValue_IntValue:
			all[a.GetKey()] = value.IntValue
		}
	}
	return all
}

// traced posts a body with the parent of a trace. It checks that the response has the wanted text and that the span of the
// route continues the trace. It returns this span and all spans by name.
func traced(t *testing.T, path, route, body, wanted string) (root *v1.Span, spans map[string]*v1.Span) {
	t.Helper()
	collected, url := collect(t, tracing.ProtocolHTTP)
	f := serve(t, tracing.Config{Endpoint: url, Protocol: tracing.ProtocolHTTP})
	f.post(t, path, body, "00-"+given+"-"+parent+"-01", wanted)
	f.stop()
	spans = collected.byName()
	root = spans["POST "+route]
	if root == nil || hex.EncodeToString(root.GetTraceId()) != given || hex.EncodeToString(root.GetParentSpanId()) != parent {
		t.Fatalf("spans %v", spans)
	}
	return root, spans
}

// TestTraceOfMessages checks that messages, streamed or not, have the spans and the attributes of chats. A count of
// tokens doesn't reach the engine. It has only the span of its template.
func TestTraceOfMessages(t *testing.T) {
	const message = `"model":"m","messages":[{"role":"user","content":"` + secret + `"}]`
	for _, test := range []struct {
		name, path, body, wanted string
		status                   int64
		spans                    []string
		first                    bool // has the event of the first token
	}{
		{"stream", "/v1/messages", `{"max_tokens":9,"stream":true,` + message + `}`, "message_stop", 200, []string{"admit", "template", "engine", "stream"}, true},
		{"whole", "/v1/messages", `{"max_tokens":9,` + message + `}`, `"text":"Hello"`, 200, []string{"admit", "template", "engine"}, true},
		{"refused", "/v1/messages", `{"max_tokens":9,"temperature":7,` + message + `}`, "invalid_request_error", 400, nil, false},
		{"count", "/v1/messages/count_tokens", `{` + message + `}`, `{"input_tokens":`, 200, []string{"template"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			root, spans := traced(t, test.path, test.path, test.body, test.wanted)
			delete(spans, "POST "+test.path)
			for _, name := range test.spans {
				if s := spans[name]; s == nil || !bytes.Equal(s.GetParentSpanId(), root.GetSpanId()) {
					t.Errorf("%s: %v", name, s)
				}
			}
			if len(spans) != len(test.spans) {
				t.Errorf("spans %v, want %v", slices.Sorted(maps.Keys(spans)), test.spans)
			}
			got, want := attributes(root), map[string]any{"http.response.status_code": test.status}
			if test.first {
				maps.Copy(want, map[string]any{
					"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "trident.surface": "anthropic",
					"gen_ai.usage.input_tokens": int64(7), "gen_ai.usage.output_tokens": int64(2),
				})
			}
			for name, value := range want {
				if got[name] != value {
					t.Errorf("%s is %v, want %v", name, got[name], value)
				}
			}
			if first := strings.Contains(fmt.Sprint(root.GetEvents()), `"first_token"`); first != test.first {
				t.Errorf("events %v", root.GetEvents())
			}
			if text := root.String() + fmt.Sprint(spans); strings.Contains(text, "secret") || strings.Contains(text, "Hel") {
				t.Errorf("the prompt or the answer is in %s", text)
			}
		})
	}
}

// TestTraceOfDecisions checks that a decision has the spans of its admission, and of the template and the engine for
// each question.
func TestTraceOfDecisions(t *testing.T) {
	collected, url := collect(t, tracing.ProtocolHTTP)
	f := serve(t, tracing.Config{Endpoint: url, Protocol: tracing.ProtocolHTTP})
	f.post(t, "/v1/decisions", `{"model":"decider","input":"`+secret+`","questions":[{"type":"predicate","instructions":"?"},{"type":"predicate","instructions":"!"}]}`, "00-"+given+"-"+parent+"-01", `"probability":`)
	f.stop()
	spans := collected.byName()
	if names := slices.Sorted(maps.Keys(spans)); !slices.Equal(names, []string{"POST /v1/decisions", "admit", "engine", "template"}) {
		t.Fatalf("spans %v", names)
	}
	got := attributes(spans["POST /v1/decisions"])
	for name, value := range map[string]any{
		"http.response.status_code": int64(200), "gen_ai.operation.name": "decision", "gen_ai.request.model": "decider", "trident.surface": "openai",
		"gen_ai.usage.input_tokens": int64(14), "gen_ai.usage.output_tokens": int64(2),
	} {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
	if text := fmt.Sprint(spans); strings.Contains(text, "secret") {
		t.Errorf("the input is in %s", text)
	}
}

// TestTraceOfEncoders checks that requests to encoders have the spans of their admission, of their batches and of the engine,
// whatever the API is, and that no span has a text.
func TestTraceOfEncoders(t *testing.T) {
	const texts = `"query":"q","%s":["` + secret + `","b"]}`
	for _, test := range []struct {
		name, path, route, body, wanted string
		status                          int64
		spans                           []string
	}{
		{"Jina", "/v1/rerank", "/v1/rerank", `{"model":"cross",` + fmt.Sprintf(texts, "documents"), `"relevance_score":0.99`, 200, []string{"admit", "batch", "engine"}},
		{"an alias", "/rerank", "/v1/rerank", `{"model":"cross",` + fmt.Sprintf(texts, "documents"), `"relevance_score":0.99`, 200, []string{"admit", "batch", "engine"}},
		{"TEI", "/tei/cross/rerank", "/tei/{model}/rerank", `{` + fmt.Sprintf(texts, "texts"), `"score":0.99`, 200, []string{"admit", "batch", "engine"}},
		{"refused", "/v1/rerank", "/v1/rerank", `{"model":"cross","query":"` + secret + `","documents":[]}`, "documents must not be empty", 400, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			root, spans := traced(t, test.path, test.route, test.body, test.wanted)
			names := slices.DeleteFunc(slices.Sorted(maps.Keys(spans)), func(name string) bool { return spans[name] == root })
			if !slices.Equal(names, test.spans) {
				t.Errorf("spans %v, want %v", names, test.spans)
			}
			got, want := attributes(root), map[string]any{"http.response.status_code": test.status}
			if test.spans != nil {
				maps.Copy(want, map[string]any{"gen_ai.operation.name": "score", "gen_ai.request.model": "cross", "trident.surface": "encoders", "gen_ai.usage.input_tokens": int64(len(secret) + 3)})
				if batch := attributes(spans["batch"]); batch["trident.batch.inputs"] != int64(2) || !bytes.Equal(spans["engine"].GetParentSpanId(), spans["batch"].GetSpanId()) {
					t.Errorf("the batch has the attributes %v and the parent %x", batch, spans["engine"].GetParentSpanId())
				}
			}
			for name, value := range want {
				if got[name] != value {
					t.Errorf("%s is %v, want %v", name, got[name], value)
				}
			}
			if text := fmt.Sprint(spans); strings.Contains(text, "secret") {
				t.Errorf("a text is in %s", text)
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
