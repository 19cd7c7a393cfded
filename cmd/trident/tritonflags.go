package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/triton/extension"
	"github.com/trident-inference/trident/services/triton/local"
)

// tritonFlags are tritonserver's own flags, for in-process Triton. In the
// environment variable of a repeatable flag, each line is a value. kong has no
// type "lines"; the name only removes the separator from --help.
type tritonFlags struct {
	TritonLibrary    string   `placeholder:"PATH" help:"libtritonserver.so or its folder, instead of the usual places."`
	ModelControlMode string   `default:"${model_control_mode}" enum:"none,explicit" help:"none loads all models at start, explicit those of --load-model and others on request."`
	LoadModel        []string `placeholder:"MODEL" help:"Model to load at start, or * for all; repeatable. Needs --model-control-mode=explicit."`
	ExitOnError      bool     `default:"${exit_on_error}" negatable:"" help:"End when a model can't be loaded at start."`

	ModelLoadTimeout          time.Duration `default:"${model_load_timeout}" help:"Give a model in this process up that takes longer than this to load; it is tried again."`
	DisableAutoCompleteConfig bool          `help:"Take models' configurations as they are: nothing that is missing is found out."`
	ModelLoadThreadCount      int           `default:"${model_load_thread_count}" help:"Models loaded at a time."`
	ExitTimeoutSecs           int           `default:"${exit_timeout_secs}" help:"Seconds that models get, after the drain, to end what they are at."`

	BackendDirectory string                 `placeholder:"DIR" help:"Folder of Triton's backends, instead of the one beside the library."`
	BackendConfig    []local.BackendSetting `sep:"\n" type:"lines" placeholder:"BACKEND,KEY=VALUE" help:"Setting of a backend, or of all by KEY=VALUE; repeatable."`
	CacheDirectory   string                 `placeholder:"DIR" help:"Folder of the response cache's kinds, instead of the one beside the backends."`
	CacheConfig      []local.CacheSetting   `sep:"\n" type:"lines" placeholder:"CACHE,KEY=VALUE" help:"Setting of a response cache, which turns it on, such as local,size=1048576; repeatable."`

	RateLimit         string                    `default:"${rate_limit}" enum:"off,execution_count" help:"off, or execution_count: model instances wait for the resources that they want."`
	RateLimitResource []local.RateLimitResource `sep:"\n" type:"lines" placeholder:"NAME:COUNT[:DEVICE]" help:"How much there is of a resource, for each GPU or one; repeatable."`

	PinnedMemoryPoolByteSize int64              `default:"${pinned_memory_pool_byte_size}" help:"Host memory kept for transfers to GPUs, in bytes."`
	CUDAMemoryPoolByteSize   []local.MemoryPool `name:"cuda-memory-pool-byte-size" sep:"\n" type:"lines" placeholder:"DEVICE:BYTES" help:"Memory kept on a GPU, 64 MiB where it isn't said; repeatable."`

	AllowGPUMetrics   bool                   `name:"allow-gpu-metrics" default:"true" negatable:"" help:"Have metrics of the GPUs."`
	AllowCPUMetrics   bool                   `name:"allow-cpu-metrics" default:"true" negatable:"" help:"Have metrics of the CPU and its memory."`
	MetricsIntervalMs int                    `default:"${metrics_interval_ms}" help:"Milliseconds between two readings of those."`
	MetricsConfig     []local.MetricsSetting `sep:"\n" type:"lines" placeholder:"KEY=VALUE" help:"Setting of Triton's metrics, such as summary_latencies=true; repeatable."`

	TraceConfig                 []string `sep:"\n" type:"lines" placeholder:"[triton,]KEY=VALUE" help:"Trace requests: level=TIMESTAMPS or TENSORS, rate=N, count=N, triton,file=PATH, triton,log-frequency=N; repeatable."`
	TritonserverLogVerboseLevel int      `default:"0" help:"Detail of Triton's log, 0 for none."`
}

// tritonDefaults returns the default values that the struct tags refer to by
// name.
func tritonDefaults() kong.Vars {
	l := local.Default()
	return kong.Vars{
		"model_control_mode":           string(l.ControlMode),
		"exit_on_error":                strconv.FormatBool(l.ExitOnError),
		"model_load_timeout":           l.LoadTimeout.String(),
		"model_load_thread_count":      strconv.Itoa(l.Options.ModelLoadThreads),
		"exit_timeout_secs":            strconv.Itoa(int(l.ExitTimeout / time.Second)),
		"rate_limit":                   string(l.Options.RateLimit),
		"pinned_memory_pool_byte_size": strconv.FormatInt(l.Options.PinnedMemoryPool, 10),
		"metrics_interval_ms":          strconv.FormatInt(l.Options.MetricsInterval.Milliseconds(), 10),
	}
}

// config returns the engine's configuration, except for the repositories and the
// flags that apply to all engines.
func (f *tritonFlags) config() (local.Config, error) {
	l := local.Default()
	l.Library, l.BackendDirectory, l.ExitTimeout = f.TritonLibrary, f.BackendDirectory, time.Duration(f.ExitTimeoutSecs)*time.Second
	l.ControlMode, l.LoadModels, l.ExitOnError = local.ControlMode(f.ModelControlMode), f.LoadModel, f.ExitOnError
	l.LoadTimeout = f.ModelLoadTimeout
	l.Options = local.Options{
		Backends:           f.BackendConfig,
		Caches:             f.CacheConfig,
		CacheDirectory:     f.CacheDirectory,
		RateLimit:          local.RateLimit(f.RateLimit),
		RateLimitResources: f.RateLimitResource,
		PinnedMemoryPool:   f.PinnedMemoryPoolByteSize,
		CUDAMemoryPools:    f.CUDAMemoryPoolByteSize,
		StrictModelConfig:  f.DisableAutoCompleteConfig,
		ModelLoadThreads:   f.ModelLoadThreadCount,
		LogVerbose:         f.TritonserverLogVerboseLevel,
		GPUMetrics:         f.AllowGPUMetrics,
		CPUMetrics:         f.AllowCPUMetrics,
		MetricsInterval:    time.Duration(f.MetricsIntervalMs) * time.Millisecond,
		Metrics:            f.MetricsConfig,
	}
	var err error
	if l.Trace, err = extension.ParseTraceConfig(f.TraceConfig); err != nil {
		return l, fmt.Errorf("--trace-config: %w", err)
	}
	return l, nil
}

// errNeedRepository rejects flags that differ from their defaults, because they
// have no effect without a repository.
func (f *tritonFlags) errNeedRepository() error {
	usual := local.Default()
	o := usual.Options
	var given []string
	for _, row := range []struct {
		flag  string
		given bool
	}{
		{"--triton-library", f.TritonLibrary != ""},
		{"--model-control-mode", f.ModelControlMode != string(usual.ControlMode)},
		{"--load-model", len(f.LoadModel) > 0},
		{"--exit-on-error", f.ExitOnError != usual.ExitOnError},
		{"--model-load-timeout", f.ModelLoadTimeout != usual.LoadTimeout},
		{"--disable-auto-complete-config", f.DisableAutoCompleteConfig},
		{"--model-load-thread-count", f.ModelLoadThreadCount != o.ModelLoadThreads},
		{"--exit-timeout-secs", time.Duration(f.ExitTimeoutSecs)*time.Second != usual.ExitTimeout},
		{"--backend-directory", f.BackendDirectory != ""},
		{"--backend-config", len(f.BackendConfig) > 0},
		{"--cache-directory", f.CacheDirectory != ""},
		{"--cache-config", len(f.CacheConfig) > 0},
		{"--rate-limit", f.RateLimit != string(o.RateLimit)},
		{"--rate-limit-resource", len(f.RateLimitResource) > 0},
		{"--pinned-memory-pool-byte-size", f.PinnedMemoryPoolByteSize != o.PinnedMemoryPool},
		{"--cuda-memory-pool-byte-size", len(f.CUDAMemoryPoolByteSize) > 0},
		{"--allow-gpu-metrics", f.AllowGPUMetrics != o.GPUMetrics},
		{"--allow-cpu-metrics", f.AllowCPUMetrics != o.CPUMetrics},
		{"--metrics-interval-ms", time.Duration(f.MetricsIntervalMs)*time.Millisecond != o.MetricsInterval},
		{"--metrics-config", len(f.MetricsConfig) > 0},
		{"--trace-config", len(f.TraceConfig) > 0},
		{"--tritonserver-log-verbose-level", f.TritonserverLogVerboseLevel != o.LogVerbose},
	} {
		if row.given {
			given = append(given, row.flag)
		}
	}
	if len(given) == 0 {
		return nil
	}
	return fmt.Errorf("%s: needs --model-repository, as it is for Triton in this process", strings.Join(given, ", "))
}
