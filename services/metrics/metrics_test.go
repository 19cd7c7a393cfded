package metrics

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/memory"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/test/pause"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tritons is an excerpt of the metrics of tritonserver 2.51. It also has a family with the
// name of one of Trident's and a family of vLLM.
const tritons = `# HELP nv_inference_request_success Number of successful inference requests, all batch sizes
# TYPE nv_inference_request_success counter
nv_inference_request_success{model="chat",version="1"} 3
# HELP go_goroutines Somebody else's
# TYPE go_goroutines gauge
go_goroutines 123456
# HELP vllm:gpu_cache_usage_perc KV cache
# TYPE vllm:gpu_cache_usage_perc gauge
vllm:gpu_cache_usage_perc{model="chat"} 0.25
`

// engine is an engine that also returns metrics of Triton.
type engine struct {
	*inferencetest.Engine

	text string
	err  error
}

// Mixed implements [inference.MixedCounter].
func (*engine) Mixed() uint64 { return 5 }

func (e *engine) Metrics(context.Context) ([]byte, error) { return []byte(e.text), e.err }

// figures reports a process whose memory is short.
type figures struct{}

func (figures) Figures() memory.Figures {
	return memory.Figures{Limit: 2 << 30, Goal: 1 << 30, Used: 900 << 20, Others: 300 << 20, Shed: 12}
}

// settings reports settings that were taken twice and then refused.
type settings struct{}

func (settings) Reloads() Reloads {
	return Reloads{Taken: 2, Refused: 3, At: time.UnixMilli(1_700_000_000_500), Stale: true}
}

func newPage(t *testing.T, cfg Config, script inferencetest.Script, text string) (*Page, *serving.Service, *engine) {
	t.Helper()
	e := &engine{Engine: inferencetest.New(), text: text}
	e.AddModel("chat", script, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	service := inferencetest.Service(t, serving.Config{Bounds: admission.Bounds{Server: inference.Limits{InFlight: 7}}}, e)
	if err := service.Catalog().Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := NewPage(cfg, Parts{Service: service, Telemetry: server.NewTelemetry(nil), Settings: settings{}, Memory: figures{}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return page, service, e
}

func scrape(t *testing.T, page *Page, accept string) string {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, Path, http.NoBody)
	req.Header.Set("Accept", accept)
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, req)
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	if accept == "" {
		parser := expfmt.NewTextParser(model.LegacyValidation)
		if _, err := parser.TextToMetricFamilies(strings.NewReader(answer.Body.String())); err != nil {
			t.Error(err)
		}
	}
	return answer.Body.String()
}

func generate(t *testing.T, s *serving.Service, name string) {
	t.Helper()
	generateUnder(t.Context(), s, name)
}

func generateUnder(ctx context.Context, s *serving.Service, name string) {
	ctx = inference.WithOrigin(ctx, &inference.Origin{Surface: inference.SurfaceOpenAI})
	for _, err := range inferencetest.Generate(ctx, s, &inference.Request{Model: name, Task: inference.TaskGenerate, Stream: true, Messages: []inference.Message{{Role: "user", Text: "hi"}}}) {
		_ = err
	}
}

// TestCachedPromptTokens checks that the cached tokens of prompts are counted where the engine reports them.
func TestCachedPromptTokens(t *testing.T) {
	number := func(name string, value uint32) inference.Output {
		return inference.Output{Name: name, Type: "INT32", Shape: []int64{1, 1}, Raw: binary.LittleEndian.AppendUint32(nil, value)}
	}
	page, service, e := newPage(t, Default(), inferencetest.StreamText("a"), tritons)
	text, err := os.ReadFile("../../test/models-contract/ensemble/config.pbtxt")
	if err != nil {
		t.Fatal(err)
	}
	for model, block := range map[string]string{"cached": "3", "other": ""} {
		var config kserve.ModelConfig
		if err := prototext.Unmarshal(text, &config); err != nil {
			t.Fatal(err)
		}
		config.Parameters = map[string]*kserve.ModelParameter{"trident.chat_template": {StringValue: inferencetest.ChatTemplate}}
		if block != "" {
			config.Parameters["trident.tokens_per_block"] = &kserve.ModelParameter{StringValue: block}
		}
		e.AddOther(model, &config, func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			send(&inference.Response{Final: true, Outputs: []inference.Output{inferencetest.Bytes("text_output", "a"), number("num_input_tokens", 9), number("num_output_tokens", 1), number("kv_cache_reused_blocks", 2)}})
			return nil
		})
	}
	if err := service.Catalog().Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"cached", "cached", "other", "chat"} {
		generate(t, service, model)
	}
	shown := scrape(t, page, "")
	for _, line := range []string{
		`trident_prompt_tokens_total{model="cached",operation="chat",surface="openai"} 18`,
		`trident_cached_prompt_tokens_total{model="cached",operation="chat",surface="openai"} 12`,
		`trident_cached_prompt_tokens_total{model="other",operation="chat",surface="openai"} 0`,
		`trident_cached_prompt_tokens_total{model="chat",operation="chat",surface="openai"} 0`,
	} {
		if !strings.Contains(shown, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
}

func TestPage(t *testing.T) {
	page, service, _ := newPage(t, Default(), inferencetest.StreamText("a", "b", "c"), tritons)
	generate(t, service, "chat")
	for range 3 {
		generate(t, service, "no model "+time.Now().String())
	}
	text := scrape(t, page, "")
	for _, line := range []string{
		`trident_requests_total{code="ok",model="chat",operation="chat",surface="openai"} 1`,
		`trident_requests_total{code="not_found",model="(unknown)",operation="chat",surface="openai"} 3`,
		`trident_requests_in_flight{model="chat",operation="chat",surface="openai"} 0`,
		`trident_requests_queued{model="(unknown)",operation="chat",surface="openai"} 0`,
		`trident_prompt_tokens_total{model="chat",operation="chat",surface="openai"} 7`,
		`trident_generated_tokens_total{model="chat",operation="chat",surface="openai"} 3`,
		`gen_ai_server_time_to_first_token_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="triton",gen_ai_request_model="chat",surface="openai"} 1`,
		`gen_ai_server_time_to_first_token_seconds_bucket{gen_ai_operation_name="chat",gen_ai_provider_name="triton",gen_ai_request_model="chat",surface="openai",le="10"} 1`,
		`gen_ai_server_request_duration_seconds_count{error_type="",gen_ai_operation_name="chat",gen_ai_provider_name="triton",gen_ai_request_model="chat",surface="openai"} 1`,
		`gen_ai_server_request_duration_seconds_count{error_type="_OTHER",gen_ai_operation_name="chat",gen_ai_provider_name="triton",gen_ai_request_model="(unknown)",surface="openai"} 3`,
		`gen_ai_client_token_usage_bucket{gen_ai_operation_name="chat",gen_ai_provider_name="triton",gen_ai_request_model="chat",gen_ai_token_type="output",surface="openai",le="4"} 1`,
		`gen_ai_client_token_usage_bucket{gen_ai_operation_name="chat",gen_ai_provider_name="triton",gen_ai_request_model="chat",gen_ai_token_type="output",surface="openai",le="1"} 0`,
		`trident_num_requests_waiting 0`,
		`trident_kv_cache_usage_perc 0.25`,
		`trident_config_reloads_total{result="success"} 2`, `trident_config_reloads_total{result="failure"} 3`,
		`trident_config_last_reload_successful 0`, `trident_config_last_reload_success_timestamp_seconds 1.7000000005e+09`,
		`trident_requests_shed_total 12`, `trident_memory_used_bytes 9.437184e+08`, `trident_memory_go_limit_bytes 1.073741824e+09`,
		`trident_memory_limit_bytes 2.147483648e+09`, `trident_memory_triton_bytes 3.145728e+08`,
		`trident_ready 1`, `trident_model_ready{model="chat"} 1`, `trident_requests_in_flight_limit 7`, `trident_triton_responses_mixed_total 5`,
		`trident_triton_metrics_up{source="local"} 1`, `trident_triton_metrics_dropped{source="local"} 1`,
		`# TYPE nv_inference_request_success counter`,
		`nv_inference_request_success{model="chat",version="1"} 3`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	if strings.Contains(text, "123456") || strings.Contains(text, "no model") || !strings.Contains(text, "process_cpu_seconds_total") && os.Getenv("GOOS") == "linux" {
		t.Error("what isn't ours, or a client's text, is on the page")
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "# TYPE") && strings.Count(text, line) != 1 {
			t.Errorf("twice: %s", line)
		}
	}
	open := scrape(t, page, "application/openmetrics-text; version=1.0.0")
	if !strings.HasSuffix(open, "# EOF\n") || !strings.Contains(open, "nv_inference_request_success{model=\"chat\",version=\"1\"} 3") ||
		!strings.Contains(open, `trident_requests_total{code="ok",`) {
		t.Errorf("OpenMetrics: %.2000s", open)
	}
}

// several is an engine over several servers.
type several struct {
	*engine

	report inference.EndpointReport
}

func (s *several) Endpoints() inference.EndpointReport { return s.report }

// TestServers checks the metrics of each server of an engine that has several, and that the page
// includes the servers' own metrics.
func TestServers(t *testing.T) {
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "# TYPE nv_energy_consumption counter\nnv_energy_consumption{gpu_uuid=\"x\"} 5\n")
	}))
	defer own.Close()
	host := strings.TrimPrefix(own.URL, "http://")
	e := &several{&engine{Engine: inferencetest.New(), text: tritons}, inference.EndpointReport{RepeatsRefused: 4, Endpoints: []inference.Endpoint{
		{Address: "a:8001", State: inference.EndpointIn, InFlight: 2, Requests: 30, Failures: 3, Repeats: 1, MetricsURL: own.URL + "/metrics"},
		{Address: "b:8001", State: inference.EndpointOut, Outs: 2, MetricsURL: "http://127.0.0.1:1/metrics"},
	}}}
	page, err := NewPage(Default(), Parts{Service: inferencetest.Service(t, serving.Config{}, e), Telemetry: server.NewTelemetry(nil), Settings: settings{}, Memory: figures{}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	text := scrape(t, page, "")
	for _, line := range []string{
		`trident_endpoint_state{endpoint="a:8001",state="in"} 1`, `trident_endpoint_state{endpoint="a:8001",state="out"} 0`,
		`trident_endpoint_state{endpoint="b:8001",state="out"} 1`, `trident_endpoint_state{endpoint="b:8001",state="starting"} 0`,
		`trident_endpoint_requests_in_flight{endpoint="a:8001"} 2`, `trident_endpoint_requests_total{endpoint="a:8001"} 30`,
		`trident_endpoint_failures_total{endpoint="a:8001"} 3`, `trident_endpoint_repeats_total{endpoint="a:8001"} 1`,
		`trident_endpoint_outs_total{endpoint="b:8001"} 2`, `trident_endpoint_repeats_refused_total 4`,
		`nv_energy_consumption{gpu_uuid="x",triton="` + host + `"} 5`,
		`trident_triton_metrics_up{source="` + host + `"} 1`, `trident_triton_metrics_up{source="127.0.0.1:1"} 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
}

// TestExemplars tests that in OpenMetrics the histograms of a traced request have
// exemplars, with the trace and the observed value.
func TestExemplars(t *testing.T) {
	page, service, _ := newPage(t, Default(), inferencetest.StreamText("a", "b", "c"), tritons)
	generate(t, service, "chat")
	accept := "application/openmetrics-text; version=1.0.0"
	if text := scrape(t, page, accept); strings.Contains(text, "trace_id") {
		t.Errorf("without a trace: %s", text)
	}
	ctx, span := sdktrace.NewTracerProvider().Tracer("test").Start(t.Context(), "request")
	generateUnder(ctx, service, "chat")
	span.End()
	text := scrape(t, page, accept)
	for _, name := range []string{"gen_ai_server_time_to_first_token_seconds", "gen_ai_server_request_duration_seconds"} {
		exemplar := regexp.MustCompile(`(?m)^` + name + `_bucket\{.*gen_ai_request_model="chat".*,le="([^"]+)"\} \d+ # \{trace_id="([0-9a-f]{32})"\} (\S+) (\S+)$`)
		found := exemplar.FindAllStringSubmatch(text, -1)
		if len(found) != 1 {
			t.Errorf("%s has %d exemplars: %s", name, len(found), text)
			continue
		}
		bound, boundErr := strconv.ParseFloat(found[0][1], 64)
		value, valueErr := strconv.ParseFloat(found[0][3], 64)
		at, atErr := strconv.ParseFloat(found[0][4], 64)
		if err := errors.Join(boundErr, valueErr, atErr); err != nil || found[0][2] != span.SpanContext().TraceID().String() ||
			value <= 0 || value > bound || math.Abs(at-float64(time.Now().Unix())) > 60 {
			t.Errorf("%v: %s", err, found[0][0])
		}
	}
	if text := scrape(t, page, ""); strings.Contains(text, "trace_id") {
		t.Errorf("Prometheus's own format has no exemplars: %s", text)
	}
}

// TestWaiting tests, by model, that the requests waiting in Trident's queue are counted
// separately from all requests without a response so far.
func TestWaiting(t *testing.T) {
	goOn := make(chan struct{})
	page, service, e := newPage(t, Default(), func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		select {
		case <-goOn:
			send(inferencetest.Token("x", "stop"))
		case <-ctx.Done():
		}
		return nil
	}, "")
	const taken, all = 7, 9 // the page's service runs this many at once
	var asked sync.WaitGroup
	for range all {
		asked.Go(func() { generate(t, service, "chat") })
	}
	if !pause.Until(30*time.Second, func() bool {
		load, _ := service.Meters().Load(t.Context())
		return e.Active() == taken && load.Waiting == all-taken
	}) {
		t.Fatal("nobody waits")
	}
	text := scrape(t, page, "")
	for _, line := range []string{
		`trident_requests_waiting{model="chat",operation="chat",surface="openai"} 2`,
		`trident_requests_queued{model="chat",operation="chat",surface="openai"} 9`,
		`trident_num_requests_waiting 9`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	close(goOn)
	asked.Wait()
	if text := scrape(t, page, ""); !strings.Contains(text, `trident_requests_waiting{model="chat",operation="chat",surface="openai"} 0`+"\n") {
		t.Error("they still wait")
	}
}

// TestInterTokenTimes checks that the metric of inter-token times has one value per interval
// between tokens.
func TestInterTokenTimes(t *testing.T) {
	page, service, _ := newPage(t, Default(), func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		for _, finish := range []string{"", "", "stop"} {
			select {
			case <-time.After(30 * time.Millisecond):
			case <-ctx.Done():
			}
			if !send(inferencetest.Token("x", finish)) {
				break
			}
		}
		return nil
	}, "")
	generate(t, service, "chat")
	text := scrape(t, page, "")
	for _, want := range []string{
		`gen_ai_server_time_per_output_token_seconds_bucket{gen_ai_operation_name="chat",gen_ai_provider_name="triton",gen_ai_request_model="chat",surface="openai",le="0.025"} 0`,
		`gen_ai_server_time_per_output_token_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="triton",gen_ai_request_model="chat",surface="openai"} 2`,
		`gen_ai_server_time_to_first_token_seconds_bucket{gen_ai_operation_name="chat",gen_ai_provider_name="triton",gen_ai_request_model="chat",surface="openai",le="0.02"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestTritonAway tests that a Triton whose metrics fail, are invalid, too large or slow
// affects only its own metrics.
func TestTritonAway(t *testing.T) {
	hang := make(chan struct{})
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/nonsense":
			_, _ = io.WriteString(w, "<html>\n")
		case "/endless":
			for line := "# " + strings.Repeat("x", 1<<16) + "\n"; ; {
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			}
		case "/slow":
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		case "/metrics":
			_, _ = io.WriteString(w, strings.ReplaceAll(tritons, " 3\n", " 4\n"))
		default:
			http.Error(w, "no", http.StatusNotFound)
		}
	}))
	defer remote.Close()
	defer close(hang)
	host := strings.TrimPrefix(remote.URL, "http://")
	for path, up := range map[string]string{"/metrics": "1", "/nonsense": "0", "/endless": "0", "/slow": "0", "/none": "0"} {
		cfg := Default()
		cfg.TritonURLs = []string{remote.URL + path}
		page, _, local := newPage(t, cfg, inferencetest.StreamText("a"), "")
		local.err = errors.New("stopped")
		began := time.Now()
		text := scrape(t, page, "")
		if time.Since(began) > sourceTimeout+2*time.Second {
			t.Errorf("%s took %s", path, time.Since(began))
		}
		if !strings.Contains(text, `trident_triton_metrics_up{source="`+host+`"} `+up+"\n") || !strings.Contains(text, `trident_triton_metrics_up{source="local"} 0`+"\n") ||
			!strings.Contains(text, "trident_ready 1\n") {
			t.Errorf("%s: %.1000s", path, text)
		}
		if present := strings.Contains(text, `nv_inference_request_success{model="chat",triton="`+host+`",version="1"} 4`+"\n"); present != (up == "1") {
			t.Errorf("%s: series of the remote Triton: %v", path, present)
		}
	}
}

var inText = regexp.MustCompile("`((?:trident|gen_ai)_[a-z_]+)`")

// TestDocumented compares docs/reference/metrics.md with the code: the document lists exactly the
// metrics, with their labels and types.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	page, known := string(text), map[string]bool{}
	cfg := Default()
	cfg.Names = configfield.NamesOf(map[configfield.Field]string{"admission.Server.InFlight": "--max-in-flight", "memory.Limit": "--memory-limit", "triton.Endpoint": "--triton-endpoint"})
	for _, f := range newFamilies(cfg).list() {
		known[f.name] = true
		for _, label := range f.labels {
			known[label] = true
		}
		labels := "none"
		if len(f.labels) > 0 {
			labels = "`" + strings.Join(f.labels, "`, `") + "`"
		}
		if row := "| `" + f.name + "` | " + kindName(f) + " | " + labels + " | " + f.help + " |"; !strings.Contains(page, row+"\n") {
			t.Errorf("docs/reference/metrics.md lacks\n%s", row)
		}
	}
	for _, name := range inText.FindAllStringSubmatch(page, -1) {
		if !known[name[1]] {
			t.Errorf("docs/reference/metrics.md has %s, which doesn't exist", name[1])
		}
	}
}

func kindName(f *family) string {
	return map[bool]string{true: "histogram"}[f.kind == histogram] + map[int]string{1: "counter", 2: "gauge"}[int(f.kind)]
}

func TestValidate(t *testing.T) {
	for flag, change := range map[string]func(*Config){
		"metrics.Port":          func(c *Config) { c.Port = 70000 },
		"metrics.TritonURLs":    func(c *Config) { c.TritonURLs = []string{"localhost:8002"} },
		"metrics.GatewayPrefix": func(c *Config) { c.GatewayPrefix = "a-b" },
	} {
		cfg := Default()
		change(&cfg)
		if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

// BenchmarkScrape measures the cost of one scrape of the metrics page. Compare results with
// benchstat.
func BenchmarkScrape(b *testing.B) {
	e := &engine{Engine: inferencetest.New(), text: tritons}
	service := inferencetest.Service(b, serving.Config{}, e)
	page, err := NewPage(Default(), Parts{Service: service, Telemetry: server.NewTelemetry(nil), Settings: settings{}, Memory: figures{}}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		page.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(b.Context(), http.MethodGet, Path, http.NoBody))
	}
}
