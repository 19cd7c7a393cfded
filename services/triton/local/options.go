package local

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/trident-inference/trident/services/configfield"
)

// RateLimit selects whether the models' instances compete for resources.
type RateLimit string

// Modes of tritonserver's flag --rate-limit.
const (
	// RateLimitOff runs a request as soon as an instance is free.
	RateLimitOff RateLimit = "off"
	// RateLimitExecutionCount runs a request when the resources that the
	// instance needs are free. The order is by priority and by the number of
	// executions.
	RateLimitExecutionCount RateLimit = "execution_count"
)

// Options are tritonserver's options, with the names of its flags in
// parentheses.
type Options struct {
	// Backends are settings of the backends (--backend-config).
	Backends []BackendSetting
	// Caches are settings of the response cache. At least one setting enables
	// the cache (--cache-config).
	Caches []CacheSetting
	// CacheDirectory has a folder for each kind of cache. If it is empty, the
	// directory that belongs to the library applies (--cache-directory).
	CacheDirectory string
	// RateLimit is the mode of the rate limiter. RateLimitResources has the
	// available amount of each resource. Of a resource that isn't listed, the
	// largest amount that an instance needs is available.
	RateLimit          RateLimit
	RateLimitResources []RateLimitResource
	// PinnedMemoryPool is the size of the host memory that is reserved for
	// transfers to GPUs, in bytes. CUDAMemoryPools has the reserved memory of
	// each GPU; the default is 64 MiB.
	PinnedMemoryPool int64
	CUDAMemoryPools  []MemoryPool
	// StrictModelConfig uses a model's configuration unchanged, without
	// auto-completion (--disable-auto-complete-config).
	StrictModelConfig bool
	// ModelLoadThreads is the maximum number of models that are loaded at the
	// same time.
	ModelLoadThreads int
	// LogVerbose is the level of detail of Triton's log. The value 0 turns
	// verbose messages off.
	LogVerbose int
	// GPUMetrics and CPUMetrics enable the metrics of GPUs and of the CPU. The
	// metrics are read once each MetricsInterval (whole milliseconds). Metrics
	// are further settings (--metrics-config).
	GPUMetrics, CPUMetrics bool
	MetricsInterval        time.Duration
	Metrics                []MetricsSetting
}

// DefaultOptions returns tritonserver's defaults.
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

// Validate returns an error for the first invalid field, which names the
// field's flag.
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
		return configfield.Errorf("local.Options.MetricsInterval", "must be at least 1 millisecond, not %s", o.MetricsInterval)
	case o.CacheDirectory != "" && len(o.Caches) == 0:
		return configfield.Errorf("local.Options.CacheDirectory", "needs %s, which enables the cache", configfield.Field("local.Options.Caches"))
	}
	return nil
}

// BackendSetting is a setting of a backend, or of all backends if Backend is
// empty.
type BackendSetting struct{ Backend, Key, Value string }

// UnmarshalText parses BACKEND,KEY=VALUE or KEY=VALUE. The value may contain
// commas.
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

// UnmarshalText parses CACHE,KEY=VALUE.
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

// MetricsSetting is a setting of Triton's metrics, as in the flag --metrics-config.
type MetricsSetting struct{ Key, Value string }

// UnmarshalText parses KEY=VALUE.
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

// setting splits NAME,KEY=VALUE or KEY=VALUE. Commas after the equals sign are
// part of the value.
func setting(text string) (name, key, value string, named, ok bool) {
	key, value, ok = strings.Cut(text, "=")
	if name, rest, found := strings.Cut(key, ","); found {
		return name, rest, value, true, ok && rest != "" && value != ""
	}
	return "", key, value, false, ok && key != "" && value != ""
}

// EveryDevice means all devices in a [RateLimitResource].
const EveryDevice = -1

// RateLimitResource is the available amount of a resource that instances need.
type RateLimitResource struct {
	Name   string
	Count  int
	Device int // a GPU, or EveryDevice
}

// UnmarshalText parses NAME:COUNT or NAME:COUNT:DEVICE.
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

// MemoryPool is GPU memory that Triton reserves.
type MemoryPool struct {
	Device int
	Bytes  uint64
}

// UnmarshalText parses DEVICE:SIZE.
func (p *MemoryPool) UnmarshalText(text []byte) error {
	device, size, found := strings.Cut(string(text), ":")
	n, badDevice := strconv.ParseUint(device, 10, 31)
	bytes, badSize := configfield.ParseSize(size)
	if !found || badDevice != nil || badSize != nil {
		return fmt.Errorf("must be DEVICE:SIZE, such as 0:64MiB, not %q", text)
	}
	p.Device, p.Bytes = int(n), uint64(bytes)
	return nil
}

// MarshalText is the reverse of UnmarshalText.
func (p MemoryPool) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d:%s", p.Device, configfield.SizeText(int64(p.Bytes))), nil
}
