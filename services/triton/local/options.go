package local

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/trident-inference/trident/services/configfield"
)

// RateLimit says whether the models' instances compete for resources.
type RateLimit string

// The modes of tritonserver's flag --rate-limit.
const (
	// RateLimitOff runs a request as soon as an instance is free.
	RateLimitOff RateLimit = "off"
	// RateLimitExecutionCount runs it when the resources are there that the
	// instance wants, by priority and the number of executions.
	RateLimitExecutionCount RateLimit = "execution_count"
)

// Options are tritonserver's, by the names of its flags.
type Options struct {
	// Backends are settings of the backends (--backend-config).
	Backends []BackendSetting
	// Caches are settings of the response cache; one of them turns it on
	// (--cache-config).
	Caches []CacheSetting
	// CacheDirectory holds a folder for each kind of cache; empty for the one that
	// belongs to the library (--cache-directory).
	CacheDirectory string
	// RateLimit is the mode of the rate limiter, and RateLimitResources what there
	// is of each resource; of others there is as much as an instance wants.
	RateLimit          RateLimit
	RateLimitResources []RateLimitResource
	// PinnedMemoryPool is how much host memory is kept for transfers to GPUs, in
	// bytes; CUDAMemoryPools is how much of a GPU's (64 MiB where it isn't said).
	PinnedMemoryPool int64
	CUDAMemoryPools  []MemoryPool
	// StrictModelConfig takes a model's configuration as it is: nothing is
	// completed (--disable-auto-complete-config).
	StrictModelConfig bool
	// ModelLoadThreads is how many models are loaded at a time.
	ModelLoadThreads int
	// LogVerbose is the level of detail of Triton's log, 0 for none.
	LogVerbose int
	// GPUMetrics and CPUMetrics are among the metrics, read once in each
	// MetricsInterval (whole milliseconds). Metrics are further settings
	// (--metrics-config).
	GPUMetrics, CPUMetrics bool
	MetricsInterval        time.Duration
	Metrics                []MetricsSetting
}

// DefaultOptions are tritonserver's.
func DefaultOptions() Options {
	return Options{
		RateLimit:        RateLimitOff,
		PinnedMemoryPool: 256 << 20,
		ModelLoadThreads: 4,
		GPUMetrics:       true,
		CPUMetrics:       true,
		MetricsInterval:  2 * time.Second,
	}
}

// Validate names the first flag that can't work.
func (o Options) Validate() error {
	switch {
	case o.RateLimit != RateLimitOff && o.RateLimit != RateLimitExecutionCount:
		return configfield.Errorf("local.Options.RateLimit", "must be %s or %s, not %q", RateLimitOff, RateLimitExecutionCount, o.RateLimit)
	case o.RateLimit == RateLimitOff && len(o.RateLimitResources) > 0:
		return configfield.Errorf("local.Options.RateLimitResources", "needs %s=%s", configfield.Field("local.Options.RateLimit"), RateLimitExecutionCount)
	case o.PinnedMemoryPool < 0:
		return configfield.Errorf("local.Options.PinnedMemoryPool", "must not be less than 0, but it is %d", o.PinnedMemoryPool)
	case o.ModelLoadThreads < 1:
		return configfield.Errorf("local.Options.ModelLoadThreads", "must be at least 1, not %d", o.ModelLoadThreads)
	case o.LogVerbose < 0:
		return configfield.Errorf("local.Options.LogVerbose", "must not be less than 0, but it is %d", o.LogVerbose)
	case o.MetricsInterval < time.Millisecond:
		return configfield.Errorf("local.Options.MetricsInterval", "must be at least 1, not %d", o.MetricsInterval.Milliseconds())
	case o.CacheDirectory != "" && len(o.Caches) == 0:
		return configfield.Errorf("local.Options.CacheDirectory", "needs %s, which turns the cache on", configfield.Field("local.Options.Caches"))
	}
	return nil
}

// BackendSetting is a setting of a backend, or of all without a name.
type BackendSetting struct{ Backend, Key, Value string }

// UnmarshalText reads BACKEND,KEY=VALUE or KEY=VALUE. The value may hold commas.
func (s *BackendSetting) UnmarshalText(text []byte) error {
	var named, ok bool
	s.Backend, s.Key, s.Value, named, ok = setting(string(text))
	if !ok || named && s.Backend == "" {
		return fmt.Errorf("must be BACKEND,KEY=VALUE, or KEY=VALUE for all backends, not %q", text)
	}
	return nil
}

// MarshalText is the reverse of UnmarshalText.
func (s BackendSetting) MarshalText() ([]byte, error) { return settingText(s.Backend, s.Key, s.Value) }

// CacheSetting is a setting of a cache implementation, such as local or redis.
type CacheSetting struct{ Cache, Key, Value string }

// UnmarshalText reads CACHE,KEY=VALUE.
func (s *CacheSetting) UnmarshalText(text []byte) error {
	var ok bool
	s.Cache, s.Key, s.Value, _, ok = setting(string(text))
	if !ok || s.Cache == "" {
		return fmt.Errorf("must be CACHE,KEY=VALUE, such as local,size=1048576, not %q", text)
	}
	return nil
}

// MarshalText is the reverse of UnmarshalText.
func (s CacheSetting) MarshalText() ([]byte, error) { return settingText(s.Cache, s.Key, s.Value) }

// MetricsSetting is a setting of the metrics.
type MetricsSetting struct{ Key, Value string }

// UnmarshalText reads KEY=VALUE.
func (s *MetricsSetting) UnmarshalText(text []byte) error {
	var named, ok bool
	_, s.Key, s.Value, named, ok = setting(string(text))
	if !ok || named {
		return fmt.Errorf("must be KEY=VALUE, such as summary_latencies=true, not %q", text)
	}
	return nil
}

// MarshalText is the reverse of UnmarshalText.
func (s MetricsSetting) MarshalText() ([]byte, error) { return settingText("", s.Key, s.Value) }

func settingText(name, key, value string) ([]byte, error) {
	if name != "" {
		key = name + "," + key
	}
	return []byte(key + "=" + value), nil
}

// setting takes NAME,KEY=VALUE or KEY=VALUE apart. Commas behind the equals sign
// are the value's.
func setting(text string) (name, key, value string, named, ok bool) {
	key, value, ok = strings.Cut(text, "=")
	if name, rest, found := strings.Cut(key, ","); found {
		return name, rest, value, true, ok && rest != "" && value != ""
	}
	return "", key, value, false, ok && key != "" && value != ""
}

// EveryDevice stands for all devices in a [RateLimitResource].
const EveryDevice = -1

// RateLimitResource is how much there is of a resource that instances want.
type RateLimitResource struct {
	Name   string
	Count  int
	Device int // a GPU, or EveryDevice
}

// UnmarshalText reads NAME:COUNT or NAME:COUNT:DEVICE.
func (r *RateLimitResource) UnmarshalText(text []byte) error {
	wrong := fmt.Errorf("must be NAME:COUNT or NAME:COUNT:DEVICE, not %q", text)
	parts := strings.Split(string(text), ":")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return wrong
	}
	r.Name, r.Device = parts[0], EveryDevice
	var err error
	if r.Count, err = strconv.Atoi(parts[1]); err != nil || r.Count < 0 {
		return wrong
	}
	if len(parts) == 3 {
		if r.Device, err = strconv.Atoi(parts[2]); err != nil || r.Device < 0 {
			return wrong
		}
	}
	return nil
}

// MarshalText is the reverse of UnmarshalText.
func (r RateLimitResource) MarshalText() ([]byte, error) {
	if r.Device == EveryDevice {
		return fmt.Appendf(nil, "%s:%d", r.Name, r.Count), nil
	}
	return fmt.Appendf(nil, "%s:%d:%d", r.Name, r.Count, r.Device), nil
}

// MemoryPool is memory of a GPU that Triton keeps.
type MemoryPool struct {
	Device int
	Bytes  uint64
}

// UnmarshalText reads DEVICE:BYTES.
func (p *MemoryPool) UnmarshalText(text []byte) error {
	device, size, found := strings.Cut(string(text), ":")
	n, badDevice := strconv.ParseUint(device, 10, 31)
	bytes, badSize := strconv.ParseUint(size, 10, 64)
	if !found || badDevice != nil || badSize != nil {
		return fmt.Errorf("must be DEVICE:BYTES, such as 0:67108864, not %q", text)
	}
	p.Device, p.Bytes = int(n), bytes
	return nil
}

// MarshalText is the reverse of UnmarshalText.
func (p MemoryPool) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d:%d", p.Device, p.Bytes), nil
}
