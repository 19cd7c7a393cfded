package e2e

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestObserved checks that a chat appears in Trident's metrics and Triton's on either port, in its
// trace, and in the log with the trace's id.
func TestObserved(t *testing.T) {
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	var mu sync.Mutex
	spans := map[string]string{} // parents of the spans, keyed by the span's name
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var msg collector.ExportTraceServiceRequest
		if body, err := io.ReadAll(r.Body); err != nil || proto.Unmarshal(body, &msg) != nil {
			t.Errorf("%s: %v", r.URL, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range msg.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					if hex.EncodeToString(span.GetTraceId()) == traceID {
						spans[span.GetName()] = hex.EncodeToString(span.GetParentSpanId())
					}
				}
			}
		}
	}))
	defer receiver.Close()
	t.Parallel()
	flags := []string{"--metrics-port=0", "--otlp-endpoint=" + receiver.URL, "--trace-sample-ratio=0"}
	if !inProcess() {
		flags = append(flags, "--triton-metrics-url="+demoModels(t).server.MetricsURL())
	}
	s, err := demoModels(t).launch(t, "", flags...)
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceValue(s.stop)
	defer func() { _ = stop() }() // the error is checked below
	if err := s.awaitModels(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/chat/completions",
		strings.NewReader(`{"model":"chat","stream":true,"max_tokens":8,"messages":[{"role":"user","content":"Count."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Traceparent", "00-"+traceID+"-b7ad6b7169203331-01")
	if text := read(t, req); !strings.Contains(text, "[DONE]") {
		t.Fatal(text)
	}
	port, ok := s.log.await(startLimit, s.exited, func(l logLine) bool { return l["msg"] == "listening for scrapes of metrics" })
	if !ok {
		t.Fatal("the metrics port isn't open")
	}
	for _, url := range []string{s.url + "/metrics", port.text("url")} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		page := read(t, req)
		for _, want := range []string{
			`trident_requests_total{code="ok",model="chat",operation="chat",surface="openai"} 1`,
			`trident_generated_tokens_total{model="chat",operation="chat",surface="openai"} 8`,
			`gen_ai_server_time_per_output_token_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="triton",gen_ai_request_model="chat",surface="openai"} 7`,
			`trident_ready 1`, `trident_model_ready{model="chat"} 1`, `trident_http_requests_total{code="200",surface="openai"}`,
			`# TYPE nv_inference_request_success counter`, `nv_inference_request_success{model="chat",version="1"}`, `trident_triton_metrics_up{source=`,
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %s", url, want)
			}
		}
		req = req.Clone(t.Context())
		req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
		if open := read(t, req); !strings.Contains(open, `"} 1 # {trace_id="`+traceID+`"} `) {
			t.Errorf("%s has no exemplar in OpenMetrics: %s", url, open)
		}
		if strings.Contains(page, "_up{source=\"local\"} 0") {
			t.Error("Triton's metrics aren't available")
		}
	}
	if line, ok := s.log.await(stopLimit, s.exited, func(l logLine) bool { return l["msg"] == "request" && l["trace_id"] == traceID }); !ok || line["model"] != "chat" {
		t.Errorf("the log line: %v", line)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, name := range []string{"POST /v1/chat/completions", "admit", "template", "engine", "stream"} {
		if spans[name] == "" {
			t.Errorf("there is no span %s: %v", name, spans)
		}
	}
	if spans["POST /v1/chat/completions"] != "b7ad6b7169203331" {
		t.Errorf("the parent: %v", spans)
	}
}

// read returns the body of a response.
func read(t *testing.T, req *http.Request) string {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
