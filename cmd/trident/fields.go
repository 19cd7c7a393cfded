package main

import (
	"log/slog"

	"github.com/trident-inference/trident/services/configfield"
)

// fieldFlags returns the flags that set the fields of the services' configurations, keyed by
// the fields' names in errors. --no-NAME sets a field that NAME turns off.
func fieldFlags() map[configfield.Field]string { //nolint:funlen // one table
	return map[configfield.Field]string{
		"admission.BodyBytes":              "max-body-bytes-in-flight",
		"admission.Decoding":               "max-decoding",
		"admission.Models.InFlight":        "max-in-flight-per-model",
		"admission.Models.Queued":          "max-queued-per-model",
		"admission.Reading":                "max-reading",
		"admission.RequestTimeout":         "request-timeout",
		"admission.Server.Burst":           "burst",
		"admission.Server.InFlight":        "max-in-flight",
		"admission.Server.Queued":          "max-queued",
		"admission.Server.Rate":            "requests-per-second",
		"auth.APIKeys":                     "api-key",
		"auth.APIKeysFile":                 "api-keys-file",
		"auth.GRPCRestricted":              "grpc-restricted-protocol",
		"auth.HTTPRestricted":              "http-restricted-api",
		"auth.Restricted":                  "openai-restricted-api",
		"catalog.Splits":                   "alias-split",
		"cloud.SageMaker.Port":             "sagemaker-port",
		"cloud.VertexAI.Enabled":           "allow-vertex-ai",
		"cloud.VertexAI.Model":             "vertex-ai-default-model",
		"cloud.VertexAI.Port":              "vertex-ai-port",
		"contracts.First":                  "backend",
		"encoders.TEIModel":                "tei-model",
		"images.AllowURLs":                 "allow-image-urls",
		"images.FetchTimeout":              "image-fetch-timeout",
		"images.MaxBytes":                  "image-max-bytes",
		"images.MaxCount":                  "image-max-count",
		"images.MaxTotalBytes":             "image-max-total-bytes",
		"inference.SettingChatTemplate":    "chat-template",
		"inference.SettingReasoningParser": "reasoning-parser",
		"inference.SettingTokenizer":       "tokenizer",
		"inference.SettingToolParser":      "tool-call-parser",
		"kserve.AllowModelUpload":          "allow-model-upload",
		"kserve.AllowSharedMemory":         "allow-shared-memory",
		"kserve.Enabled":                   "enable-kserve-frontends",
		"kserve.GRPCForward":               "grpc-header-forward-pattern",
		"kserve.GRPCPort":                  "kserve-grpc-port",
		"kserve.HTTPForward":               "http-header-forward-pattern",
		"kserve.HTTPPort":                  "kserve-http-port",
		"kserve.MaxConnectionAge":          "grpc-max-connection-age",
		"kserve.MaxConnectionAgeGrace":     "grpc-max-connection-age-grace",
		"local.BackendDirectory":           "backend-directory",
		"local.ControlMode":                "model-control-mode",
		"local.ExitOnError":                "exit-on-error",
		"local.ExitTimeout":                "exit-timeout-secs",
		"local.FirstResponse":              "first-response-timeout",
		"local.Inactivity":                 "inactivity-timeout",
		"local.KeepAlive":                  "sse-header-timeout",
		"local.Library":                    "triton-library",
		"local.LoadModels":                 "load-model",
		"local.LoadTimeout":                "model-load-timeout",
		"local.Options.Backends":           "backend-config",
		"local.Options.CUDAMemoryPools":    "cuda-memory-pool-byte-size",
		"local.Options.CacheDirectory":     "cache-directory",
		"local.Options.Caches":             "cache-config",
		"local.Options.LogVerbose":         "tritonserver-log-verbose-level",
		"local.Options.Metrics":            "metrics-config",
		"local.Options.MetricsInterval":    "metrics-interval-ms",
		"local.Options.ModelLoadThreads":   "model-load-thread-count",
		"local.Options.PinnedMemoryPool":   "pinned-memory-pool-byte-size",
		"local.Options.RateLimit":          "rate-limit",
		"local.Options.RateLimitResources": "rate-limit-resource",
		"local.Repositories":               "model-repository",
		"memory.Limit":                     "memory-limit",
		"metrics.GatewayPrefix":            "inference-gateway-metrics-prefix",
		"metrics.Off":                      "no-allow-metrics",
		"metrics.Port":                     "metrics-port",
		"metrics.TritonURLs":               "triton-metrics-url",
		"state.Limits":                     "limits-store",
		"openai.ResponsesStore":            "responses-store",
		"openai.ResponsesStoreBytes":       "responses-store-bytes",
		"openai.ResponsesStoreSize":        "responses-store-size",
		"openai.ResponsesStoreTTL":         "responses-store-ttl",
		"openai.SealKeyFile":               "seal-key-file",
		"server.AllowedHosts":              "allowed-host",
		"server.CORSOrigins":               "cors-origin",
		"server.DrainDelay":                "drain-delay",
		"server.Host":                      "host",
		"server.MaxBody":                   "http-max-input-size",
		"server.MaxConnections":            "max-connections",
		"server.MaxConnectionsPerAddress":  "max-connections-per-address",
		"server.Port":                      "openai-port",
		"server.ProfileAddress":            "profile-address",
		"server.ShutdownTimeout":           "shutdown-timeout",
		"server.TLS.CertFile":              "tls-cert",
		"server.TLS.ClientCAFile":          "tls-client-ca",
		"server.TLS.KeyFile":               "tls-key",
		"server.WriteTimeout":              "write-timeout",
		"serving.DefaultMaxTokens":         "default-max-tokens",
		"serving.EncoderBatchDelay":        "encoder-batch-delay",
		"serving.EncoderQueueTokens":       "encoder-queue-tokens",
		"serving.MaxCallBytes":             "max-tool-call-parse-bytes",
		"tracing.Endpoint":                 "otlp-endpoint",
		"tracing.Protocol":                 "otlp-protocol",
		"tracing.SampleRatio":              "trace-sample-ratio",
		"triton.CAFile":                    "triton-tls-ca",
		"triton.CertFile":                  "triton-tls-cert",
		"triton.Endpoint":                  "triton-endpoint",
		"triton.FirstResponse":             "first-response-timeout",
		"triton.Inactivity":                "inactivity-timeout",
		"triton.KeepAlive":                 "sse-header-timeout",
		"triton.KeyFile":                   "triton-tls-key",
		"triton.MetricsPort":               "triton-metrics-port",
		"triton.Policy":                    "balance",
		"triton.StreamClient":              "triton-stream-client",
	}
}

// flagNames returns the flags of the fields as written on the command line. A field without a
// flag keeps its name.
func flagNames() *configfield.Names {
	names := map[configfield.Field]string{}
	for field, flag := range fieldFlags() {
		names[field] = "--" + flag
	}
	return configfield.NamesOf(names)
}

// flagged returns an error that names flags instead of err's fields.
func flagged(err error) error {
	if err == nil {
		return nil
	}
	return flaggedError{err, configfield.Text(err, flagNames().Of)}
}

// flaggedError is an error whose text names flags.
type flaggedError struct {
	error

	text string
}

// Error returns the error message with the names of flags.
func (e flaggedError) Error() string { return e.text }

// Unwrap returns the original error, which names configuration fields.
func (e flaggedError) Unwrap() error { return e.error }

// flaggedAttr makes the log name flags in errors that name fields.
func flaggedAttr(_ []string, attr slog.Attr) slog.Attr {
	if err, ok := attr.Value.Any().(error); ok {
		attr.Value = slog.AnyValue(flagged(err))
	}
	return attr
}
