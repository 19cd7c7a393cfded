package metrics

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/state"
	"github.com/trident-inference/trident/services/state/statetest"
)

// wantLines checks that a page has lines.
func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
}

// newPartsPage returns a page over an engine, with further parts.
func newPartsPage(t *testing.T, parts Parts, engine inference.Engine) (*Page, *serving.Service) {
	t.Helper()
	parts.Service = inferencetest.Service(t, serving.Config{}, engine)
	if parts.Telemetry == nil {
		parts.Telemetry = server.NewTelemetry(nil)
	}
	parts.Settings, parts.Memory = settings{}, figures{}
	page, err := NewPage(Default(), parts, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return page, parts.Service
}

// TestStore checks the metrics of the shared store while it answers and while it is away, and that a Trident without
// one has none.
func TestStore(t *testing.T) {
	redis := statetest.Start(t)
	store := redis.Open()
	page, _ := newPartsPage(t, Parts{Stores: state.Stores{Responses: store}}, inferencetest.New())
	for alive := false; !alive; { // the first renewal of the lease is one of the calls
		var err error
		if alive, err = store.Alive(t.Context(), store.Replica()); err != nil {
			t.Fatal(err)
		}
	}
	wantLines(t, scrape(t, page, ""), `trident_store_up{store="responses"} 1`, `trident_store_failures_total{store="responses"} 0`)
	redis.Stop()
	for range 2 {
		if _, err := store.Alive(t.Context(), "other"); err == nil {
			t.Fatal("a stopped store answers")
		}
	}
	wantLines(t, scrape(t, page, ""), `trident_store_up{store="responses"} 0`, `trident_store_failures_total{store="responses"} 2`)
	redis.Resume()
	if _, err := store.Alive(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	wantLines(t, scrape(t, page, ""), `trident_store_up{store="responses"} 1`, `trident_store_failures_total{store="responses"} 2`)
	alone, _ := newPartsPage(t, Parts{}, inferencetest.New())
	if text := scrape(t, alone, ""); strings.Contains(text, "trident_store") {
		t.Errorf("without a store: %s", text)
	}
}

// TestEncoders checks the metrics of the batches of encoders, and that a model
// that batches its inputs itself has none.
func TestEncoders(t *testing.T) {
	engine := inferencetest.New()
	settings := map[string]string{"trident.tokenizer": "../../models/chat/tokenizer", "trident.task": "score"}
	engine.AddEncoder(inferencetest.EncoderConfig("cross", 8, "logits", 1), settings, func(ids []int) []float32 { return []float32{float32(len(ids))} })
	engine.AddModel("vectors", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	page, service := newPartsPage(t, Parts{}, engine)
	second := []string{"one", "one two three", "one two"}
	req := &inference.EncodeRequest{Model: "cross", Task: inference.TaskScore}
	for i := range second {
		req.Inputs = append(req.Inputs, inference.EncodeInput{Input: inference.Input{Text: "one"}, Second: &second[i]})
	}
	ctx := inference.WithOrigin(t.Context(), &inference.Origin{Surface: inference.SurfaceOpenAI})
	if _, err := inferencetest.Encode(ctx, service, req); err != nil {
		t.Fatal(err)
	}
	if _, err := inferencetest.Encode(ctx, service, &inference.EncodeRequest{Model: "vectors", Task: inference.TaskEmbed, Inputs: inference.EncodeInputs([]inference.Input{{Text: "x"}})}); err != nil {
		t.Fatal(err)
	}
	text := scrape(t, page, "")
	wantLines(t, text,
		`trident_encoder_batches_total{model="cross"} 1`, `trident_encoder_inputs_total{model="cross"} 3`,
		`trident_encoder_tokens_total{kind="input",model="cross"} 9`, `trident_encoder_tokens_total{kind="padding",model="cross"} 3`,
		`trident_encoder_inputs_waiting{model="cross"} 0`, `trident_encoder_batches_running{model="cross"} 0`,
	)
	if strings.Contains(text, `trident_encoder_batches_total{model="vectors"}`) {
		t.Error("a model that batches its inputs itself has series")
	}
}

// TestPort checks the separate port: the page, its URL, other paths, and that it is closed at the end.
func TestPort(t *testing.T) {
	cfg := Default()
	cfg.Own, cfg.Host, cfg.Port = true, "127.0.0.1", 0
	telemetry := server.NewTelemetry(nil)
	page, _ := newPartsPage(t, Parts{Telemetry: telemetry}, inferencetest.New())
	listener := NewListener(cfg, nil)
	if err := listener.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	shared := server.Default()
	common := server.Common{Config: shared, Telemetry: telemetry, Abort: func(err error) { t.Error(err) }, Log: slog.New(slog.DiscardHandler)}
	own, err := NewServer(cfg, page, listener, common)
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(url string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	url := listener.URL()
	if status, text := get(url); !strings.HasPrefix(url, "http://127.0.0.1:") || status != http.StatusOK || !strings.Contains(text, "trident_ready 1\n") {
		t.Errorf("%s: %d %s", url, status, text)
	}
	if status, text := get(strings.TrimSuffix(url, Path) + "/v1/models"); status != http.StatusNotFound {
		t.Errorf("another path: %d %s", status, text)
	}
	answer, post := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader("x"))
	post.Host = "localhost"
	own.ServeHTTP(answer, post)
	if answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("a POST: %d %s", answer.Code, answer.Body)
	}
	_, text := get(url)
	wantLines(t, text, `trident_http_requests_total{code="200",surface="metrics"} 1`, `trident_http_requests_total{code="404",surface="other"} 1`)
	if err := own.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := listener.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if status, text := get(url); status != 0 || !strings.Contains(text, "refused") {
		t.Errorf("after the end: %d %s", status, text)
	}
}

// TestNoPort checks that no port is opened by default, and no page with metrics off.
func TestNoPort(t *testing.T) {
	listener := NewListener(Default(), nil)
	if err := listener.Start(t.Context()); err != nil || listener.URL() != "" {
		t.Errorf("%q, %v", listener.URL(), err)
	}
	page, _ := newPartsPage(t, Parts{}, inferencetest.New())
	common := server.Common{Config: server.Default(), Log: slog.New(slog.DiscardHandler)}
	own, err := NewServer(Default(), page, listener, common)
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Start(t.Context()); err != nil {
		t.Error(err)
	}
	if err := own.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if routes := Routes(Default(), page); len(routes) != 1 || routes[0].Pattern != "GET /metrics" {
		t.Errorf("%v", routes)
	}
	if routes := Routes(Config{Off: true}, page); len(routes) != 0 {
		t.Errorf("with metrics off: %v", routes)
	}
}

// TestScrapeLimit checks that a scrape beyond the limit is refused until another one ends.
func TestScrapeLimit(t *testing.T) {
	page, _ := newPartsPage(t, Parts{}, inferencetest.New())
	for range maxScrapes {
		page.scrapes <- struct{}{}
	}
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, Path, http.NoBody))
	if answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), "too many scrapes") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	<-page.scrapes
	wantLines(t, scrape(t, page, ""), "trident_ready 1")
}
