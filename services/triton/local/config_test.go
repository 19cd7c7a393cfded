package local

import (
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   string // start of the error, empty for none
	}{
		{"default with a repository", func(*Config) {}, ""},
		{"no repository", func(c *Config) { c.Repositories = nil }, "--model-repository: must name"},
		{"empty repository", func(c *Config) { c.Repositories = []string{"a", ""} }, "--model-repository: must not be empty"},
		{"unknown mode", func(c *Config) { c.ControlMode = "poll" }, `--model-control-mode: must be none or explicit, not "poll"`},
		{"models without explicit", func(c *Config) { c.LoadModels = []string{"a"} }, "--load-model: needs --model-control-mode=explicit"},
		{"models", func(c *Config) { c.ControlMode, c.LoadModels = ControlExplicit, []string{"a", "b"} }, ""},
		{"all models", func(c *Config) { c.ControlMode, c.LoadModels = ControlExplicit, []string{"*"} }, ""},
		{"all models and one", func(c *Config) { c.ControlMode, c.LoadModels = ControlExplicit, []string{"a", "*"} }, "--load-model: must be * alone"},
		{"empty model", func(c *Config) { c.ControlMode, c.LoadModels = ControlExplicit, []string{""} }, "--load-model: must not be empty"},
		{"no keep-alive", func(c *Config) { c.KeepAlive = 0 }, "--sse-header-timeout: must be longer than 0"},
		{"no first response", func(c *Config) { c.FirstResponse = 0 }, "--first-response-timeout: must be longer than 0"},
		{"no inactivity", func(c *Config) { c.Inactivity = 0 }, "--inactivity-timeout: must be longer than 0"},
		{"no load timeout", func(c *Config) { c.LoadTimeout = -1 }, "--model-load-timeout: must be longer than 0"},
		{"no exit timeout", func(c *Config) { c.ExitTimeout = 1 }, "--exit-timeout-secs: must be at least 1, not 1e-09"},
		{"no queue", func(c *Config) { c.QueueBytes = 0 }, "QueueBytes must be more than 0"},
		{"total below a stream's queue", func(c *Config) { c.TotalQueueBytes = c.QueueBytes - 1 }, "QueueBytes must be more than 0, not 268435456, and TotalQueueBytes not less"},
		{"unknown rate limit", func(c *Config) { c.Options.RateLimit = "on" }, `--rate-limit: must be off or execution_count, not "on"`},
		{"resource without rate limit", func(c *Config) { c.Options.RateLimitResources = []RateLimitResource{{"r", 1, EveryDevice}} }, "--rate-limit-resource: needs --rate-limit=execution_count"},
		{"negative pinned memory", func(c *Config) { c.Options.PinnedMemoryPool = -1 }, "--pinned-memory-pool-byte-size: must not be less than 0"},
		{"no pinned memory", func(c *Config) { c.Options.PinnedMemoryPool = 0 }, ""},
		{"no threads", func(c *Config) { c.Options.ModelLoadThreads = 0 }, "--model-load-thread-count: must be at least 1"},
		{"negative verbosity", func(c *Config) { c.Options.LogVerbose = -1 }, "--tritonserver-log-verbose-level: must not be less than 0"},
		{"no metrics interval", func(c *Config) { c.Options.MetricsInterval = 0 }, "--metrics-interval-ms: must be at least 1"},
		{"cache directory without a cache", func(c *Config) { c.Options.CacheDirectory = "caches" }, "--cache-directory: needs --cache-config"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config := Default()
			config.Repositories = []string{"models"}
			test.change(&config)
			err := config.Validate()
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got %v", err)
			case test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)):
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
