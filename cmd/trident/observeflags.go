package main

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/metrics"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/tracing"
)

// observeFlags configure Trident's own metrics, logs and traces. The standard
// OpenTelemetry variables apply too, unless a flag overrides them.
type observeFlags struct {
	AllowMetrics                  bool     `default:"true" negatable:"" help:"Serve metrics at /metrics."`
	MetricsPort                   *int     `placeholder:"PORT" help:"Port of the metrics alone, 0 for a free one; ${metrics_port} with --enable-kserve-frontends, else none."`
	MetricsAddress                string   `placeholder:"HOST" help:"Address of that port, instead of --host."`
	TritonMetricsURL              []string `name:"triton-metrics-url" sep:"none" placeholder:"URL" help:"Put the metrics of a tritonserver, such as http://localhost:8002/metrics, on the same page; repeatable."`
	InferenceGatewayMetricsPrefix string   `default:"${gateway_prefix}" placeholder:"TEXT" help:"Begins the names of what an inference gateway asks for; vllm: for one that expects vLLM."`

	OTLPEndpoint     string   `name:"otlp-endpoint" placeholder:"URL" help:"Send traces to this collector, such as http://localhost:4317."`
	OTLPProtocol     string   `name:"otlp-protocol" placeholder:"NAME" help:"grpc or http/protobuf; by the port unless set."`
	TraceSampleRatio *float64 `placeholder:"PART" help:"Part of the requests that are traced, 0 to 1; those that come with a trace go by that."`

	RequiredModel []string `placeholder:"MODEL" help:"Model without which the server isn't ready; repeatable. Those of the start by default."`
}

// observeDefaults returns the default values that the struct tags refer to by name.
func observeDefaults() kong.Vars {
	m := metrics.Default()
	return kong.Vars{"metrics_port": strconv.Itoa(m.Port), "gateway_prefix": m.GatewayPrefix}
}

func (f *observeFlags) metrics(shared server.Config, kserveFrontends bool) metrics.Config {
	cfg := metrics.Default()
	cfg.Off, cfg.Own = !f.AllowMetrics, f.AllowMetrics && kserveFrontends
	cfg.Host, cfg.TritonURLs, cfg.GatewayPrefix, cfg.Version = shared.Host, f.TritonMetricsURL, f.InferenceGatewayMetricsPrefix, version
	cfg.Names = shared.Names
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
		return fmt.Errorf("%q is none of debug, info, warn and error", text)
	}
	return nil
}
