// Package metrics tells Trident's metrics and Triton's own on one page, in the formats
// of Prometheus and OpenMetrics. It counts nothing itself: the service and the ports
// do.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/memory"
)

// Config of the metrics.
type Config struct {
	// Off serves none, on no port.
	Off bool
	// Own opens a port for them alone: Port of Host, beside the page on the shared
	// port. Port 0 takes a free one.
	Own  bool
	Host string
	Port int
	// TritonURLs are where tritonservers elsewhere tell their own metrics.
	TritonURLs []string
	// GatewayPrefix begins the names of what an inference gateway asks for.
	GatewayPrefix string
	// Version of the program.
	Version string
}

// Default is the configuration without flags; the port is tritonserver's.
func Default() Config { return Config{Host: "0.0.0.0", Port: 8002, GatewayPrefix: "trident_"} }

// Validate names the flag that can't be used.
func (c Config) Validate() error {
	if c.Port < 0 || c.Port > 65535 {
		return configfield.Errorf("metrics.Port", "%d is no port", c.Port)
	}
	if c.Off && c.Own {
		return configfield.Errorf("metrics.Port", "there are no metrics with %s", configfield.Field("metrics.Off"))
	}
	seen := map[string]bool{}
	for _, text := range c.TritonURLs {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return configfield.Errorf("metrics.TritonURLs", "%q is no URL such as http://localhost:8002/metrics", text)
		}
		if seen[u.Host] {
			return configfield.Errorf("metrics.TritonURLs", "%s is given twice", u.Host)
		}
		seen[u.Host] = true
	}
	if !startsName(c.GatewayPrefix) {
		return configfield.Errorf("metrics.GatewayPrefix", "%q can't begin a metric's name", c.GatewayPrefix)
	}
	return nil
}

// startsName is whether a text may begin the name of a metric.
func startsName(prefix string) bool {
	for i, r := range prefix {
		if letter := r == '_' || r == ':' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'; !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return prefix != ""
}

// Settings are read again while the program runs. They may be asked concurrently.
type Settings interface{ Reloads() Reloads }

// Reloads are what became of settings that were read again.
type Reloads struct {
	// Taken and Refused are how often; the start is none.
	Taken, Refused uint64
	// At is when the settings that count were read.
	At time.Time
	// Stale is whether later ones were refused.
	Stale bool
}

// Memory is that of the process. It may be asked concurrently.
type Memory interface{ Figures() memory.Figures }

// Path of the page.
const Path = "/metrics"

// maxScrapes bounds how many pages are made at once; more get 503.
const maxScrapes = 4

// Page serves the metrics. It may be used concurrently.
type Page struct {
	families *families
	registry *prometheus.Registry
	sources  []source
	log      *slog.Logger
	scrapes  chan struct{}

	mu      sync.Mutex
	failing map[string]bool // sources
}

// NewPage makes the page of the parts.
func NewPage(cfg Config, parts Parts, log *slog.Logger) (*Page, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &Page{
		families: newFamilies(cfg.GatewayPrefix), registry: prometheus.NewRegistry(), log: log,
		scrapes: make(chan struct{}, maxScrapes), failing: map[string]bool{},
	}
	own := &collector{families: p.families, Parts: parts, version: cfg.Version}
	for _, c := range []prometheus.Collector{own, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := p.registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	for _, e := range parts.Service.Catalog().Engines() {
		if able, ok := e.(inference.Metrics); ok {
			p.sources = append(p.sources, engineSource(able))
		}
	}
	for _, text := range cfg.TritonURLs {
		u, err := url.Parse(text)
		if err != nil {
			return nil, configfield.Errorf("metrics.TritonURLs", "%w", err)
		}
		p.sources = append(p.sources, urlSource(&http.Client{}, u.Host, text))
	}
	return p, nil
}

// ServeHTTP writes the page, by the format that the client asks for.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case p.scrapes <- struct{}{}:
		defer func() { <-p.scrapes }()
	default:
		http.Error(w, "metrics are being told to others", http.StatusServiceUnavailable)
		return
	}
	open := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...).FormatType() == expfmt.TypeOpenMetrics
	gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return p.gather(r.Context(), open) }) //nolint:contextcheck // it is the request's
	promhttp.HandlerFor(gather, promhttp.HandlerOpts{
		ErrorLog: errorLog{p.log}, ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true,
	}).ServeHTTP(w, r)
}

// errorLog takes promhttp's complaints.
type errorLog struct{ log *slog.Logger }

// Println implements [promhttp.Logger].
func (l errorLog) Println(v ...any) { l.log.Error("metrics", "error", fmt.Sprint(v...)) }

func (p *Page) gather(ctx context.Context, open bool) ([]*dto.MetricFamily, error) {
	answers := ask(ctx, p.sources)
	own, err := p.registry.Gather()
	usage, known := kvCacheUsage(answers)
	all, dropped := merge(own, answers)
	if open {
		keepNames(all)
	}
	about := prometheus.NewRegistry()
	if failed := about.Register(&sourceCollector{p.families, answers, dropped, usage, known}); failed != nil {
		return all, errors.Join(err, failed)
	}
	more, failed := about.Gather()
	all, _ = merge(more, []answer{{families: all}})
	p.report(answers)
	return all, errors.Join(err, failed)
}

// sourceCollector tells of a page's sources.
type sourceCollector struct {
	*families

	answers []answer
	dropped map[string]int
	usage   float64
	known   bool
}

// Describe implements [prometheus.Collector]: it is unchecked, as its metrics are
// described already.
func (*sourceCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements it.
func (c *sourceCollector) Collect(to chan<- prometheus.Metric) {
	out := sink(to)
	for _, a := range c.answers {
		out.value(c.sourceUp, number(a.err == nil), a.source)
		out.value(c.sourceDuration, a.took.Seconds(), a.source)
		out.value(c.sourceClashes, float64(c.dropped[a.source]), a.source)
	}
	if c.known {
		out.value(c.kvCache, c.usage)
	}
}

// report logs when a source stops or begins to answer, once each.
func (p *Page) report(answers []answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range answers {
		failing := a.err != nil
		if failing == p.failing[a.source] {
			continue
		}
		if p.failing[a.source] = failing; failing {
			p.log.Warn("no metrics of Triton's", "source", a.source, "error", a.err)
		} else {
			p.log.Info("metrics of Triton's again", "source", a.source)
		}
	}
}
