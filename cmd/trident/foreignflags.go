package main

import "strings"

// Reasons and remedies that several flags share.
const (
	noPool       = "Trident has no such pool"
	tlsUnused    = "it applies only with --grpc-use-ssl"
	tlsRemedy    = "TLS applies to all ports of Trident: set --tls-cert and --tls-key, and --tls-client-ca for mutual TLS; clients of REST then need https"
	noReuse      = "give each server a port of its own behind a balancer"
	behindRemedy = "start tritonserver with it, and in front of that trident --triton-endpoint=HOST:PORT"
	pingRemedy   = "leave it out: Trident sends no pings, and clients may ping every 10 seconds, with calls and without"
)

// tritonserverFlags returns the flags of tritonserver up to its commit e1db8a603 of 2026-08-19
// (2.73.0dev), from src/command_line_parser.cc of triton-inference-server/server.
func tritonserverFlags() []foreignFlag {
	same := func(kind foreignKind, names ...string) []foreignFlag {
		var all []foreignFlag
		for _, name := range names {
			all = append(all, foreignFlag{name: name, kind: kind})
		}
		return all
	}
	flags := same(foreignValue, "model-repository", "model-store", "load-model", "exit-timeout-secs", "model-load-thread-count",
		"backend-directory", "backend-config", "cache-directory", "cache-config", "rate-limit-resource", "pinned-memory-pool-byte-size",
		"cuda-memory-pool-byte-size", "metrics-address", "metrics-port", "metrics-interval-ms", "metrics-config", "trace-config",
		"http-header-forward-pattern", "grpc-header-forward-pattern", "http-restricted-api", "grpc-restricted-protocol", "http-max-input-size",
		"grpc-max-connection-age", "grpc-max-connection-age-grace", "sagemaker-port", "vertex-ai-port", "vertex-ai-default-model")
	flags = append(flags, same(foreignSwitch, "exit-on-error", "allow-metrics", "allow-gpu-metrics", "allow-cpu-metrics", "allow-sagemaker", "allow-vertex-ai")...)
	flags = append(flags, same(foreignAlone, "disable-auto-complete-config")...)
	flags = append(flags, convertedFlags()...)
	flags = append(flags, traceFlags()...)
	return append(flags, refusedFlags()...)
}

// convertedFlags returns the flags of tritonserver that Trident has under another name or in another form.
func convertedFlags() []foreignFlag {
	lower := func(name string) func(string) []string {
		return func(value string) []string { return []string{"--" + name + "=" + strings.ToLower(value)} }
	}
	when := func(wanted string, args ...string) func(string) []string {
		return func(value string) []string {
			if value == wanted {
				return args
			}
			return nil
		}
	}
	return []foreignFlag{
		{name: "model-control-mode", ours: "--model-control-mode", to: lower("model-control-mode")},
		{name: "rate-limit", ours: "--rate-limit", to: lower("rate-limit")},
		{name: "http-port", ours: "--kserve-http-port=PORT with --enable-kserve-frontends", as: "kserve-http-port"},
		{name: "grpc-port", ours: "--kserve-grpc-port=PORT with --enable-kserve-frontends", as: "kserve-grpc-port"},
		{name: "allow-http", kind: foreignSwitch, ours: "--enable-kserve-frontends", later: true},
		{name: "allow-grpc", kind: foreignSwitch, ours: "--enable-kserve-frontends", later: true},
		{name: "http-address", ours: "--host=ADDRESS", later: true},
		{name: "grpc-address", ours: "--host=ADDRESS", later: true},
		{name: "allow-client-shm", kind: foreignSwitch, ours: "--allow-shared-memory", to: when("true", "--allow-shared-memory")},
		{name: "strict-model-config", kind: foreignSwitch, ours: "--disable-auto-complete-config", to: when("true", "--disable-auto-complete-config")},
		{name: "response-cache-byte-size", ours: "--cache-config=local,size=BYTES", to: func(value string) []string { return []string{"--cache-config=local,size=" + value} }},
		{name: "log-info", kind: foreignSwitch, ours: "--log-level=LEVEL", later: true},
		{name: "log-warning", kind: foreignSwitch, ours: "--log-level=LEVEL", later: true},
		{name: "log-error", kind: foreignSwitch, usual: []string{"true"}, unused: "errors are always logged"},
		{name: "log-format", ours: "--log-format=text", usual: []string{"default", "ISO8601"}},
		{name: "log-verbose", ours: "--tritonserver-log-verbose-level=LEVEL", to: func(value string) []string {
			switch strings.ToLower(value) {
			case "true":
				value = "1"
			case "false":
				value = "0"
			}
			return []string{"--tritonserver-log-verbose-level=" + value}
		}},
	}
}

// traceFlags returns the flags of tritonserver that --trace-config has replaced.
func traceFlags() []foreignFlag {
	trace := func(name, setting string) foreignFlag {
		return foreignFlag{name: name, ours: "--trace-config=" + setting + "=VALUE", to: func(value string) []string {
			return []string{"--trace-config=" + setting + "=" + value}
		}}
	}
	level := foreignFlag{name: "trace-level", ours: "--trace-config=level=LEVEL", to: func(value string) []string {
		switch value = strings.ToUpper(value); value {
		case "TRUE", "ON", "MIN", "MAX":
			value = "TIMESTAMPS"
		case "FALSE":
			value = "OFF"
		}
		return []string{"--trace-config=level=" + value}
	}}
	return []foreignFlag{level, trace("trace-file", "triton,file"), trace("trace-rate", "rate"), trace("trace-count", "count"), trace("trace-log-frequency", "triton,log-frequency")}
}

// refusedFlags returns the flags of tritonserver that have no effect in Trident, or that it refuses.
func refusedFlags() []foreignFlag {
	return []foreignFlag{
		{name: "http-thread-count", unused: noPool},
		{name: "grpc-infer-thread-count", unused: noPool},
		{name: "grpc-infer-allocation-pool-size", unused: noPool},
		{name: "grpc-max-response-pool-size", unused: noPool},
		{name: "buffer-manager-thread-count", unused: noPool},
		{name: "sagemaker-thread-count", unused: noPool},
		{name: "vertex-ai-thread-count", unused: noPool},
		{name: "sagemaker-safe-port-range", unused: "ports are what their flags say"},
		{name: "repository-poll-secs", unused: "it applies only with --model-control-mode=poll, which Trident doesn't have"},
		{name: "grpc-use-ssl", kind: foreignSwitch, usual: []string{"false"}, remedy: tlsRemedy},
		{name: "grpc-use-ssl-mutual", kind: foreignSwitch, usual: []string{"false"}, remedy: tlsRemedy},
		{name: "grpc-server-cert", unused: tlsUnused},
		{name: "grpc-server-key", unused: tlsUnused},
		{name: "grpc-root-cert", unused: tlsUnused},
		{name: "grpc-infer-response-compression-level", usual: []string{"none"}, remedy: "leave it out: responses are compressed as their requests are"},
		{name: "grpc-keepalive-time", usual: []string{"7200000"}, remedy: pingRemedy},
		{name: "grpc-keepalive-timeout", usual: []string{"20000"}, remedy: pingRemedy},
		{name: "grpc-keepalive-permit-without-calls", kind: foreignSwitch, usual: []string{"true", "false"}, remedy: pingRemedy},
		{name: "grpc-http2-max-pings-without-data", usual: []string{"2"}, remedy: pingRemedy},
		{name: "grpc-http2-min-recv-ping-interval-without-data", usual: []string{"300000"}, remedy: pingRemedy},
		{name: "grpc-http2-max-ping-strikes", usual: []string{"2"}, remedy: pingRemedy},
		{name: "reuse-http-port", kind: foreignSwitch, usual: []string{"false"}, remedy: noReuse},
		{name: "reuse-grpc-port", kind: foreignSwitch, usual: []string{"false"}, remedy: noReuse},
		{name: "log-file", remedy: "the log goes to standard error: redirect it by 2>>FILE"},
		{name: "id", usual: []string{"triton"}, remedy: behindRemedy},
		{name: "strict-readiness", kind: foreignSwitch, usual: []string{"true"}, remedy: "name the models that readiness needs by --required-model"},
		{name: "model-config-name", remedy: behindRemedy},
		{name: "model-load-retry-count", usual: []string{"0"}, remedy: behindRemedy},
		{name: "model-namespacing", kind: foreignSwitch, usual: []string{"false"}, remedy: behindRemedy},
		{name: "enable-peer-access", kind: foreignSwitch, usual: []string{"true"}, remedy: behindRemedy},
		{name: "repoagent-directory", usual: []string{"/opt/tritonserver/repoagents"}, remedy: behindRemedy},
		{name: "cuda-virtual-address-size", remedy: behindRemedy},
		{name: "min-supported-compute-capability", remedy: behindRemedy},
		{name: "host-policy", remedy: behindRemedy},
		{name: "model-load-gpu-limit", remedy: behindRemedy},
	}
}

// tritonopenaiserverFlags returns the flags of the proxy of visitsb/triton-inference-server-openai-api
// that Trident doesn't have by the same name. Trident has all flags of Triton's OpenAI frontend by
// their names.
func tritonopenaiserverFlags() []foreignFlag {
	return []foreignFlag{
		{name: "triton_http_proto", ours: "--triton-endpoint=HOST:PORT", later: true},
		{name: "triton_http_host", ours: "--triton-endpoint=HOST:PORT", later: true},
		{name: "triton_http_port", ours: "--triton-endpoint=HOST:PORT", later: true},
		{name: "verbose", ours: "--log-level=debug", to: func(value string) []string {
			if value == "" {
				return nil
			}
			return []string{"--log-level=debug"}
		}},
	}
}
