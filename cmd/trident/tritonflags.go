package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/triton/extension"
	"github.com/trident-inference/trident/services/triton/local"
)

// tritonFlags are tritonserver's own flags, for in-process Triton. In the
// environment variable of a repeatable flag, each line is a value. kong has no
// type "lines"; the name only removes the separator from --help.
type tritonFlags struct {
	TritonLibrary    string   `placeholder:"PATH" help:"Path of libtritonserver.so or of its folder, for in-process Triton. Default: the usual installation folders are searched."`
	ModelControlMode string   `default:"${model_control_mode}" enum:"none,explicit" help:"Models that in-process Triton loads. With the value none, Triton loads all models of the repositories at start, and refuses to load or unload models later. With explicit, Triton loads the models of --load-model at start, and other models on request."`
	LoadModel        nameList `placeholder:"MODEL" help:"Name of a model that in-process Triton loads at start, or * for all; repeatable. Needs --model-control-mode=explicit."`
	ExitOnError      bool     `default:"${exit_on_error}" negatable:"" help:"Exit with an error if in-process Triton can't load a model at start. If false, Trident serves the other models."`

	ModelLoadTimeout          time.Duration `default:"${model_load_timeout}" help:"Time limit for loading a model of in-process Triton. After this time, the model's Python processes are killed so that the load fails; a load at start is then tried again."`
	DisableAutoCompleteConfig bool          `help:"Disable the auto-completion of model configurations: in-process Triton uses each config.pbtxt unchanged and adds no missing fields."`
	ModelLoadThreadCount      int           `default:"${model_load_thread_count}" help:"Maximum number of models that in-process Triton loads at the same time."`
	ExitTimeoutSecs           seconds       `default:"${exit_timeout_secs}" help:"Time limit for the stop of in-process Triton, in seconds or with a unit such as 30s. It starts after --shutdown-timeout, and covers requests that their models haven't ended and the unloading of models. After this time, the models' Python processes are killed."`

	BackendDirectory string                 `placeholder:"DIR" help:"Folder with the backends of in-process Triton. Default: the folder that belongs to the library of --triton-library."`
	BackendConfig    []local.BackendSetting `sep:"\n" type:"lines" placeholder:"BACKEND,KEY=VALUE" help:"Setting of a backend of in-process Triton, such as python,shm-default-byte-size=1048576; KEY=VALUE applies to all backends; repeatable."`
	CacheDirectory   string                 `placeholder:"DIR" help:"Folder with the response cache implementations of in-process Triton. Default: the folder caches next to --backend-directory. Needs --cache-config."`
	CacheConfig      []local.CacheSetting   `sep:"\n" type:"lines" placeholder:"CACHE,KEY=VALUE" help:"Setting of a response cache of in-process Triton, such as local,size=1048576; repeatable. The first setting enables the cache."`

	RateLimit         string                    `default:"${rate_limit}" enum:"off,execution_count" help:"Rate limiter of in-process Triton: off runs a request as soon as a model instance is free; execution_count also waits for the resources that the instance needs. See --rate-limit-resource."`
	RateLimitResource []local.RateLimitResource `sep:"\n" type:"lines" placeholder:"NAME:COUNT[:DEVICE]" help:"Available amount of a resource, for --rate-limit=execution_count; repeatable. slots:4:0 sets 4 units of the resource slots on GPU 0; slots:4 sets 4 units on each GPU."`

	PinnedMemoryPoolByteSize size               `default:"${pinned_memory_pool_byte_size}" help:"Size of the pinned host memory that in-process Triton reserves for transfers to GPUs, in bytes or with a unit such as 256MiB. On a machine without a GPU, no memory is reserved."`
	CUDAMemoryPoolByteSize   []local.MemoryPool `name:"cuda-memory-pool-byte-size" sep:"\n" type:"lines" placeholder:"DEVICE:SIZE" help:"Size of the memory that in-process Triton reserves on a GPU: the GPU's number and a size in bytes or with a unit, such as 0:64MiB; repeatable. Default: 64 MiB on each GPU."`

	AllowGPUMetrics   bool                   `name:"allow-gpu-metrics" default:"true" negatable:"" help:"Include Triton's metrics of the GPUs in /metrics, for in-process Triton."`
	AllowCPUMetrics   bool                   `name:"allow-cpu-metrics" default:"true" negatable:"" help:"Include Triton's metrics of the CPU and of the host memory in /metrics, for in-process Triton."`
	MetricsIntervalMs milliseconds           `default:"${metrics_interval_ms}" help:"Interval, in milliseconds or with a unit such as 2s, at which in-process Triton reads the metrics of --allow-gpu-metrics and --allow-cpu-metrics."`
	MetricsConfig     []local.MetricsSetting `sep:"\n" type:"lines" placeholder:"KEY=VALUE" help:"Setting of the metrics of in-process Triton, such as summary_latencies=true; repeatable."`

	TraceConfig                 []string `sep:"\n" type:"lines" placeholder:"[triton,]KEY=VALUE" help:"Setting of the request traces that in-process Triton writes to a file; repeatable. The settings are level=TIMESTAMPS or level=TENSORS, rate=N, count=N, triton,file=PATH and triton,log-frequency=N."`
	TritonserverLogVerboseLevel int      `default:"0" help:"Level of detail of in-process Triton's verbose log messages; 0 turns verbose messages off."`
}

// nameList is a list of names, separated by commas. Unlike a list of strings it keeps an empty value
// as an empty name, which is rejected later: without a name no model would be loaded.
type nameList []string

// Decode implements [kong.MapperValue].
func (f *nameList) Decode(ctx *kong.DecodeContext) error {
	token := ctx.Scan.Pop()
	if token.IsEOL() {
		return errors.New("the name of a model is missing: give one as the value of the flag")
	}
	if list, ok := token.Value.([]any); ok { // the settings file has a list of names
		for _, item := range list {
			*f = append(*f, fmt.Sprint(item))
		}
		return nil
	}
	if text := fmt.Sprint(token.Value); text != "" {
		*f = append(*f, kong.SplitEscaped(text, ctx.Value.Tag.Sep)...)
	} else {
		*f = append(*f, "")
	}
	return nil
}

// tritonDefaults returns the default values that the struct tags refer to by
// name.
func tritonDefaults() kong.Vars {
	l := local.Default()
	return kong.Vars{
		"model_control_mode":           string(l.ControlMode),
		"exit_on_error":                strconv.FormatBool(l.ExitOnError),
		"model_load_timeout":           durationText(l.LoadTimeout),
		"model_load_thread_count":      strconv.Itoa(l.Options.ModelLoadThreads),
		"exit_timeout_secs":            durationText(l.ExitTimeout),
		"rate_limit":                   string(l.Options.RateLimit),
		"pinned_memory_pool_byte_size": configfield.SizeText(l.Options.PinnedMemoryPool),
		"metrics_interval_ms":          durationText(l.Options.MetricsInterval),
	}
}

// config returns the engine's configuration, except for the repositories and the
// flags that apply to all engines.
func (f *tritonFlags) config() (local.Config, error) {
	l := local.Default()
	l.Library, l.BackendDirectory, l.ExitTimeout = f.TritonLibrary, f.BackendDirectory, time.Duration(f.ExitTimeoutSecs)
	l.ControlMode, l.LoadModels, l.ExitOnError = local.ControlMode(f.ModelControlMode), f.LoadModel, f.ExitOnError
	l.LoadTimeout = f.ModelLoadTimeout
	l.Options = local.Options{
		Backends:           f.BackendConfig,
		Caches:             f.CacheConfig,
		CacheDirectory:     f.CacheDirectory,
		RateLimit:          local.RateLimit(f.RateLimit),
		RateLimitResources: f.RateLimitResource,
		PinnedMemoryPool:   int64(f.PinnedMemoryPoolByteSize),
		CUDAMemoryPools:    f.CUDAMemoryPoolByteSize,
		StrictModelConfig:  f.DisableAutoCompleteConfig,
		ModelLoadThreads:   f.ModelLoadThreadCount,
		LogVerbose:         f.TritonserverLogVerboseLevel,
		GPUMetrics:         f.AllowGPUMetrics,
		CPUMetrics:         f.AllowCPUMetrics,
		MetricsInterval:    time.Duration(f.MetricsIntervalMs),
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
		{"--exit-timeout-secs", time.Duration(f.ExitTimeoutSecs) != usual.ExitTimeout},
		{"--backend-directory", f.BackendDirectory != ""},
		{"--backend-config", len(f.BackendConfig) > 0},
		{"--cache-directory", f.CacheDirectory != ""},
		{"--cache-config", len(f.CacheConfig) > 0},
		{"--rate-limit", f.RateLimit != string(o.RateLimit)},
		{"--rate-limit-resource", len(f.RateLimitResource) > 0},
		{"--pinned-memory-pool-byte-size", int64(f.PinnedMemoryPoolByteSize) != o.PinnedMemoryPool},
		{"--cuda-memory-pool-byte-size", len(f.CUDAMemoryPoolByteSize) > 0},
		{"--allow-gpu-metrics", f.AllowGPUMetrics != o.GPUMetrics},
		{"--allow-cpu-metrics", f.AllowCPUMetrics != o.CPUMetrics},
		{"--metrics-interval-ms", time.Duration(f.MetricsIntervalMs) != o.MetricsInterval},
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
	return fmt.Errorf("%s: applies only to in-process Triton, which needs --model-repository", strings.Join(given, ", "))
}
