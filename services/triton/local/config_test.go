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
		{"no repository", func(c *Config) { c.Repositories = nil }, "local.Repositories: must name"},
		{"empty repository", func(c *Config) { c.Repositories = []string{"a", ""} }, "local.Repositories: must not be empty"},
		{"unknown mode", func(c *Config) { c.ControlMode = "poll" }, `local.ControlMode: must be none or explicit, not "poll"`},
		{"models without explicit", func(c *Config) { c.LoadModels = []string{"a"} }, "local.LoadModels: needs local.ControlMode=explicit"},
		{"models", func(c *Config) { c.ControlMode, c.LoadModels = ControlExplicit, []string{"a", "b"} }, ""},
		{"all models", func(c *Config) { c.ControlMode, c.LoadModels = ControlExplicit, []string{"*"} }, ""},
		{"all models and one", func(c *Config) { c.ControlMode, c.LoadModels = ControlExplicit, []string{"a", "*"} }, "local.LoadModels: must be either * alone"},
		{"empty model", func(c *Config) { c.ControlMode, c.LoadModels = ControlExplicit, []string{""} }, "local.LoadModels: must not be empty"},
		{"no keep-alive", func(c *Config) { c.KeepAlive = 0 }, "local.KeepAlive: must be longer than 0"},
		{"no first response", func(c *Config) { c.FirstResponse = 0 }, "local.FirstResponse: must be longer than 0"},
		{"no inactivity", func(c *Config) { c.Inactivity = 0 }, "local.Inactivity: must be longer than 0"},
		{"no load timeout", func(c *Config) { c.LoadTimeout = -1 }, "local.LoadTimeout: must be longer than 0"},
		{"no exit timeout", func(c *Config) { c.ExitTimeout = 1 }, "local.ExitTimeout: must be at least 1 second, not 1ns"},
		{"no queue", func(c *Config) { c.QueueBytes = 0 }, "local.QueueBytes must be more than 0, but it is 0"},
		{"total below a stream's queue", func(c *Config) { c.TotalQueueBytes = c.QueueBytes - 1 }, "local.TotalQueueBytes must be at least local.QueueBytes (268435456), but it is 268435455"},
		{"unknown rate limit", func(c *Config) { c.Options.RateLimit = "on" }, `local.Options.RateLimit: must be off or execution_count, not "on"`},
		{"resource without rate limit", func(c *Config) { c.Options.RateLimitResources = []RateLimitResource{{"r", 1, EveryDevice}} }, "local.Options.RateLimitResources: needs local.Options.RateLimit=execution_count"},
		{"negative pinned memory", func(c *Config) { c.Options.PinnedMemoryPool = -1 }, "local.Options.PinnedMemoryPool: must not be less than 0"},
		{"no pinned memory", func(c *Config) { c.Options.PinnedMemoryPool = 0 }, ""},
		{"no threads", func(c *Config) { c.Options.ModelLoadThreads = 0 }, "local.Options.ModelLoadThreads: must be at least 1"},
		{"negative verbosity", func(c *Config) { c.Options.LogVerbose = -1 }, "local.Options.LogVerbose: must not be less than 0"},
		{"no metrics interval", func(c *Config) { c.Options.MetricsInterval = 0 }, "local.Options.MetricsInterval: must be at least 1"},
		{"cache directory without a cache", func(c *Config) { c.Options.CacheDirectory = "caches" }, "local.Options.CacheDirectory: needs local.Options.Caches"},
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
