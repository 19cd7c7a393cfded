package main

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/metrics"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/tracing"
	"github.com/trident-inference/trident/services/triton/fleet"
)

// observeFlags configure Trident's own metrics, logs and traces. The standard
// OpenTelemetry variables apply too, unless a flag overrides them.
type observeFlags struct {
	AllowMetrics                  bool     `default:"true" negatable:"" help:"Serve Prometheus metrics at /metrics on --openai-port and, if set, on --metrics-port."`
	MetricsPort                   *int     `placeholder:"PORT" help:"TCP port that serves only /metrics, in addition to --openai-port; 0 takes a free port. Default: ${metrics_port} with --enable-kserve-frontends, otherwise no such port."`
	MetricsAddress                string   `placeholder:"HOST" help:"Address on which --metrics-port listens. Default: --host."`
	TritonMetricsURL              []string `name:"triton-metrics-url" sep:"none" placeholder:"URL" help:"URL of a tritonserver's metrics, such as http://localhost:8002/metrics. Trident's /metrics then includes these metrics; repeatable."`
	TritonMetricsPort             int      `name:"triton-metrics-port" default:"0" placeholder:"PORT" help:"TCP port on which each server of --triton-endpoint serves its metrics by HTTP, usually 8002. Trident's /metrics then includes these metrics. 0 means that Trident doesn't read them."`
	InferenceGatewayMetricsPrefix string   `default:"${gateway_prefix}" placeholder:"TEXT" help:"Prefix of the names of the metrics that an inference gateway reads; set vllm: for a gateway that expects vLLM's names."`

	OTLPEndpoint     string   `name:"otlp-endpoint" placeholder:"URL" help:"URL of the OpenTelemetry collector that receives traces by OTLP, such as http://localhost:4317. Default: the variable OTEL_EXPORTER_OTLP_ENDPOINT, or no traces."`
	OTLPProtocol     string   `name:"otlp-protocol" placeholder:"NAME" help:"Protocol of --otlp-endpoint: grpc or http/protobuf. Default: the variable OTEL_EXPORTER_OTLP_PROTOCOL, or grpc for port 4317 and http/protobuf for other ports."`
	TraceSampleRatio *float64 `placeholder:"PART" help:"Fraction of requests that are traced, from 0 to 1. Requests with a trace context follow that context's sampling decision. Default: the sampler of the variable OTEL_TRACES_SAMPLER, or 1."`

	RequiredModel []string `placeholder:"MODEL" help:"Model that must be ready for the readiness probe /health/ready to succeed; repeatable. Default: the models that were ready when the server first became ready."`
}

// observeDefaults returns the default values that the struct tags refer to by name.
func observeDefaults() kong.Vars {
	m := metrics.Default()
	return kong.Vars{"metrics_port": strconv.Itoa(m.Port), "gateway_prefix": m.GatewayPrefix}
}

// metrics returns the configuration of the metrics. endpoint is the only fixed address of a
// tritonserver; several servers report the addresses of their metrics themselves.
func (f *flags) metrics(shared server.Config, endpoint string) metrics.Config {
	cfg := metrics.Default()
	cfg.Off, cfg.Own = !f.AllowMetrics, f.AllowMetrics && f.EnableKServeFrontends
	cfg.Host, cfg.TritonURLs, cfg.GatewayPrefix, cfg.Version = shared.Host, f.TritonMetricsURL, f.InferenceGatewayMetricsPrefix, version
	cfg.Names = shared.Names
	if endpoint != "" && f.TritonMetricsPort != 0 {
		host, _ := fleet.HostPort(endpoint)
		cfg.TritonURLs = append(slices.Clone(cfg.TritonURLs), "http://"+net.JoinHostPort(host, strconv.Itoa(f.TritonMetricsPort))+metrics.Path)
	}
	if f.MetricsPort != nil {
		cfg.Own, cfg.Port = true, *f.MetricsPort
	}
	if f.MetricsAddress != "" {
		cfg.Host = f.MetricsAddress
	}
	return cfg
}

func (f *observeFlags) tracing(getenv func(string) string) tracing.Config {
	return tracing.Config{Endpoint: f.OTLPEndpoint, Protocol: f.OTLPProtocol, SampleRatio: f.TraceSampleRatio, Version: version, Getenv: getenv}
}

// logLevel is one of slog's levels. uvicorn's names are accepted too.
type logLevel slog.Level

// MarshalText returns slog's name.
func (l logLevel) MarshalText() ([]byte, error) { //nolint:unparam // the interface requires an error
	return []byte(strings.ToLower(slog.Level(l).String())), nil
}

// UnmarshalText reads a level's name.
func (l *logLevel) UnmarshalText(text []byte) error {
	name := strings.ToLower(string(text))
	for uvicorn, ours := range map[string]string{"critical": "error", "warning": "warn", "trace": "debug"} {
		if name == uvicorn {
			name = ours
		}
	}
	if err := (*slog.Level)(l).UnmarshalText([]byte(name)); err != nil {
		return fmt.Errorf("must be debug, info, warn or error, not %q", text)
	}
	return nil
}
