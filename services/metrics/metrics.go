// Package metrics serves Trident's metrics and Triton's own metrics on one page, in
// the formats of Prometheus and OpenMetrics. It counts nothing itself: it reads the
// counters of the service and of the ports. Counting belongs to package metering
// and to the packages that own the counters.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
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

// Config configures the metrics.
type Config struct {
	// Off disables the metrics on all ports.
	Off bool
	// Own opens a separate port for the metrics, Port of Host, in addition to the page
	// on the shared port. Port 0 takes a free port.
	Own  bool
	Host string
	Port int
	// TritonURLs are the URLs of the metrics of remote tritonservers.
	TritonURLs []string
	// GatewayPrefix is the prefix of the names of the metrics that an inference
	// gateway reads.
	GatewayPrefix string
	// Version is the version of the program.
	Version string
	// Names are the operators' names of the fields; nil for the fields' own names.
	Names *configfield.Names
}

// Default returns the configuration without flags. The port is tritonserver's.
func Default() Config { return Config{Host: "0.0.0.0", Port: 8002, GatewayPrefix: "trident_"} }

// Validate returns an error that names the invalid field.
func (c Config) Validate() error {
	if c.Port < 0 || c.Port > 65535 {
		return configfield.Errorf("metrics.Port", "%d is not a port: give a number from 0 to 65535", c.Port)
	}
	if c.Off && c.Own {
		return configfield.Errorf("metrics.Port", "the port of metrics can't be combined with %s: remove one of the two", configfield.Field("metrics.Off"))
	}
	seen := map[string]bool{}
	for _, text := range c.TritonURLs {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return configfield.Errorf("metrics.TritonURLs", "%q is not a URL such as http://localhost:8002/metrics", text)
		}
		if seen[u.Host] {
			return configfield.Errorf("metrics.TritonURLs", "the server %s is given twice: give each server once", u.Host)
		}
		seen[u.Host] = true
	}
	if !startsName(c.GatewayPrefix) {
		return configfield.Errorf("metrics.GatewayPrefix", "%q can't be the prefix of a metric name: use letters, digits, _ and :, and no digit first", c.GatewayPrefix)
	}
	return nil
}

// startsName reports whether a string can be the prefix of a metric's name.
func startsName(prefix string) bool {
	for i, r := range prefix {
		if letter := r == '_' || r == ':' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'; !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return prefix != ""
}

// Settings reports the reloads of the settings. It may be used concurrently.
type Settings interface{ Reloads() Reloads }

// Reloads are the results of reloading the settings.
type Reloads struct {
	// Taken and Refused are the numbers of reloads; the read at startup isn't
	// included.
	Taken, Refused uint64
	// At is the time at which the current settings were read.
	At time.Time
	// Stale reports whether later settings were refused.
	Stale bool
}

// Memory reports the memory of the process. It may be used concurrently.
type Memory interface{ Figures() memory.Figures }

// Path is the path of the page.
const Path = "/metrics"

// maxScrapes limits the number of concurrent scrapes; others get 503.
const maxScrapes = 4

// Page serves the metrics. It may be used concurrently.
type Page struct {
	families *families
	registry *prometheus.Registry
	sources  []source
	engines  []inference.Engine // the servers of some of them are further sources
	client   *http.Client
	log      *slog.Logger
	scrapes  chan struct{}

	mu      sync.Mutex
	failing map[string]bool // by the source's name: true if the last read of the source failed
}

// NewPage returns a page of the metrics of the parts.
func NewPage(cfg Config, parts Parts, log *slog.Logger) (*Page, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &Page{
		families: newFamilies(cfg), registry: prometheus.NewRegistry(), client: &http.Client{}, log: log,
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
		p.sources = append(p.sources, urlSource(p.client, u.Host, text))
	}
	p.engines = parts.Service.Catalog().Engines()
	return p, nil
}

// ServeHTTP writes the page in the format that the client accepts.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case p.scrapes <- struct{}{}:
		defer func() { <-p.scrapes }()
	default:
		http.Error(w, "too many scrapes of the metrics are in progress: try again later", http.StatusServiceUnavailable)
		return
	}
	open := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...).FormatType() == expfmt.TypeOpenMetrics
	gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return p.gather(r.Context(), open) }) //nolint:contextcheck // the request's context
	promhttp.HandlerFor(gather, promhttp.HandlerOpts{
		ErrorLog: errorLog{p.log}, ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true,
	}).ServeHTTP(w, r)
}

// errorLog logs promhttp's errors.
type errorLog struct{ log *slog.Logger }

// Println implements [promhttp.Logger].
func (l errorLog) Println(v ...any) {
	l.log.Error("can't write the metrics page", "error", fmt.Sprint(v...))
}

func (p *Page) gather(ctx context.Context, open bool) ([]*dto.MetricFamily, error) {
	answers := ask(ctx, p.allSources())
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

// allSources returns the sources with those of the servers that engines have now.
func (p *Page) allSources() []source {
	all := slices.Clone(p.sources)
	for _, e := range p.engines {
		several, ok := e.(inference.EndpointReporter)
		if !ok {
			continue
		}
		for _, server := range several.Endpoints().Endpoints {
			u, err := url.Parse(server.MetricsURL)
			if given := func(s source) bool { return s.name == u.Host }; err != nil || u.Host == "" || slices.ContainsFunc(all, given) {
				continue
			}
			all = append(all, urlSource(p.client, u.Host, server.MetricsURL))
		}
	}
	return all
}

// sourceCollector collects the metrics about a page's sources.
type sourceCollector struct {
	*families

	answers []answer
	dropped map[string]int
	usage   float64
	known   bool
}

// Describe implements [prometheus.Collector]. It sends nothing, since [collector]
// describes these metrics already; the collector is thus unchecked.
func (*sourceCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
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

// report logs once when a source starts to fail and once when it recovers.
func (p *Page) report(answers []answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range answers {
		failing := a.err != nil
		if failing == p.failing[a.source] {
			continue
		}
		if p.failing[a.source] = failing; failing {
			p.log.Warn("the metrics of Triton can't be read", "source", a.source, "error", a.err)
		} else {
			p.log.Info("the metrics of Triton can be read again", "source", a.source)
		}
	}
}
