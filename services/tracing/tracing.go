// Package tracing sends spans to a collector by OTLP. OpenTelemetry's own environment variables
// apply where flags aren't set. OpenTelemetry's interceptors aren't used, because they are called
// for each message. The core starts the spans, and starts none per token. Starting and ending
// spans belongs to the packages that do the work.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/trident-inference/trident/services/configfield"
)

// Config is the configuration of the traces. The zero value sends none.
type Config struct {
	// Endpoint is the collector's URL. If it is empty, the environment's endpoint applies. Without
	// either, there are no traces.
	Endpoint string
	// Protocol is ProtocolGRPC or ProtocolHTTP. If it is empty, the environment's protocol applies,
	// or else the protocol of the endpoint's port.
	Protocol string
	// SampleRatio is the fraction of traced requests among those without a trace context. If it is
	// nil, the environment's sampler applies, whose default traces all.
	SampleRatio *float64
	// Version of the program.
	Version string
	// Getenv reads the environment; nil reads nothing. The exporters read further variables
	// themselves.
	Getenv func(string) string
}

// The protocols for the export of traces, as values of OpenTelemetry's environment variables.
const (
	ProtocolGRPC = "grpc"
	ProtocolHTTP = "http/protobuf"
)

// Validate returns an error that names the first invalid field.
func (c Config) Validate() error {
	if u, err := url.Parse(c.Endpoint); c.Endpoint != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return configfield.Errorf("tracing.Endpoint", "%q is not a URL such as http://localhost:4317", c.Endpoint)
	}
	switch p := c.protocol(); p {
	case ProtocolGRPC, ProtocolHTTP:
	default:
		return configfield.Textf("%s, OTEL_EXPORTER_OTLP_PROTOCOL: %q is not a supported protocol: use %s or %s", configfield.Field("tracing.Protocol"), p, ProtocolGRPC, ProtocolHTTP)
	}
	if r := c.SampleRatio; r != nil && (*r < 0 || *r > 1) {
		return configfield.Errorf("tracing.SampleRatio", "%v is not a fraction between 0 and 1", *r)
	}
	return nil
}

func (c Config) env(names ...string) string {
	for _, name := range names {
		if c.Getenv != nil && c.Getenv(name) != "" {
			return c.Getenv(name)
		}
	}
	return ""
}

// on reports whether traces are enabled and have an endpoint.
func (c Config) on() bool {
	if strings.EqualFold(c.env("OTEL_SDK_DISABLED"), "true") || c.env("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return c.endpoint() != ""
}

func (c Config) endpoint() string {
	if c.Endpoint != "" {
		return c.Endpoint
	}
	return c.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
}

func (c Config) protocol() string {
	if c.Protocol != "" {
		return c.Protocol
	}
	if p := c.env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); p != "" {
		return p
	}
	if u, err := url.Parse(c.endpoint()); err == nil && u.Port() == "4317" {
		return ProtocolGRPC
	}
	return ProtocolHTTP
}

// Provider creates spans and sends them. Methods may be called concurrently.
type Provider struct {
	cfg      Config
	log      *slog.Logger
	exporter *exporter                // nil if there are no traces
	provider *sdktrace.TracerProvider // nil if there are no traces
}

// New returns a provider. It sends nothing before Start.
func New(cfg Config, log *slog.Logger) (*Provider, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &Provider{cfg: cfg, log: log}
	if !cfg.on() {
		return p, nil
	}
	attributes, err := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", "trident"), attribute.String("service.version", cfg.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(attributes)}
	if r := cfg.SampleRatio; r != nil {
		options = append(options, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(*r))))
	}
	p.exporter = &exporter{Exporter: otlptrace.NewUnstarted(cfg.client()), log: log}
	p.provider = sdktrace.NewTracerProvider(options...)
	return p, nil
}

// client returns a client for the protocol and the endpoint. The exporter reads headers, timeout,
// certificates and compression from the environment.
func (c Config) client() otlptrace.Client {
	u, _ := url.Parse(c.Endpoint) // can't fail: Validate has checked the URL
	if c.protocol() == ProtocolGRPC {
		var options []otlptracegrpc.Option
		if c.Endpoint != "" {
			options = append(options, otlptracegrpc.WithEndpointURL(c.Endpoint))
		}
		return otlptracegrpc.NewClient(options...)
	}
	var options []otlptracehttp.Option
	if c.Endpoint != "" {
		if u.Path == "" || u.Path == "/" {
			u.Path = "/v1/traces"
		}
		options = append(options, otlptracehttp.WithEndpointURL(u.String()))
	}
	return otlptracehttp.NewClient(options...)
}

// Tracers returns the provider of tracers, or nil if there are no traces.
func (p *Provider) Tracers() trace.TracerProvider {
	if p.provider == nil {
		return nil
	}
	return p.provider
}

// Start starts to send spans. An unreachable collector isn't an error.
func (p *Provider) Start(ctx context.Context) error {
	if p.provider == nil {
		return nil
	}
	if err := p.exporter.Start(ctx); err != nil {
		return fmt.Errorf("start the export of traces: %w", err)
	}
	p.provider.RegisterSpanProcessor(sdktrace.NewBatchSpanProcessor(p.exporter))
	p.log.Info("exporting traces by OTLP", "protocol", p.cfg.protocol())
	return nil
}

// Stop sends the remaining spans and stops.
func (p *Provider) Stop(ctx context.Context) error {
	if p.provider == nil {
		return nil
	}
	if err := p.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		p.log.Warn("the remaining traces couldn't be exported at the stop and are lost", "error", err)
	}
	return nil
}

// exporter logs when the export of spans starts to fail and when it recovers, once each.
type exporter struct {
	*otlptrace.Exporter

	log     *slog.Logger
	failing atomic.Bool
}

// ExportSpans implements [sdktrace.SpanExporter].
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.Exporter.ExportSpans(ctx, spans)
	switch failing := err != nil; {
	case e.failing.Swap(failing) == failing:
	case failing:
		e.log.Warn("the export of traces to the collector fails: traces are lost", "error", err)
	default:
		e.log.Info("the export of traces to the collector works again")
	}
	return nil
}
