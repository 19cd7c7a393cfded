//go:build cgo

package local

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"syscall"
	"unsafe"

	"github.com/trident-inference/trident/services/configfield"
)

// prefixSetting is the python backend's setting for the prefix of the names of
// its shared memory.
const (
	pythonBackend = "python"
	prefixSetting = "shm-region-prefix-name"
)

// prefixOf returns the prefix of the names of a server's shared memory: the
// user's prefix, and then a unique one. The unique prefix identifies the memory
// that a server leaves behind, so that it can be removed.
func (o Options) prefixOf(unique string) string {
	wanted := ""
	for _, backend := range []string{"", pythonBackend} { // the backend's own setting overrides the one for all backends
		for _, s := range o.Backends {
			if s.Backend == backend && s.Key == prefixSetting {
				wanted = s.Value
			}
		}
	}
	return wanted + unique
}

// options returns the options that the server starts with.
func (c *core) options(texts *cTexts) *C.tr_options {
	o := c.config.Options
	rateLimit := C.int(0)
	if o.RateLimit == RateLimitExecutionCount {
		rateLimit = 1
	}
	settings := c.settings(texts)
	memory := texts.alloc(len(settings) * C.sizeof_tr_option)
	copy(unsafe.Slice((*C.tr_option)(memory), len(settings)), settings)
	options := (*C.tr_options)(texts.alloc(C.sizeof_tr_options))
	*options = C.tr_options{
		repositories:        texts.list(c.config.Repositories),
		repository_count:    C.uint32_t(len(c.config.Repositories)),
		backend_directory:   texts.add(c.installation.backends),
		settings:            (*C.tr_option)(memory),
		setting_count:       C.uint32_t(len(settings)),
		exit_timeout:        C.uint(math.Ceil(c.config.ExitTimeout.Seconds())),
		load_threads:        C.uint(o.ModelLoadThreads),
		rate_limit:          rateLimit,
		strict_model_config: C.bool(o.StrictModelConfig),
	}
	return options
}

// settings returns the options that may be repeated, or that a library may
// lack. An option with its default value has no flag.
func (c *core) settings(texts *cTexts) []C.tr_option {
	o, usual := c.config.Options, DefaultOptions()
	name := func(field configfield.Field) *C.char { return texts.add(c.config.Names.Of(field)) }
	option := func(field configfield.Field, differs bool) *C.char {
		if !differs {
			return nil
		}
		return name(field)
	}
	boolean := func(b bool) C.uint64_t {
		if b {
			return 1
		}
		return 0
	}
	pinned := C.uint64_t(o.PinnedMemoryPool)
	if !hasGPU() { // Triton would warn that it can't allocate the memory
		pinned = 0
	}
	interval := C.uint64_t(o.MetricsInterval.Milliseconds())
	all := []C.tr_option{
		{
			kind: C.tr_option_pinned_memory_pool, number: pinned,
			flag: option("local.Options.PinnedMemoryPool", o.PinnedMemoryPool != usual.PinnedMemoryPool),
		},
		{kind: C.tr_option_metrics, number: 1, flag: option("local.Options.Metrics", len(o.Metrics) > 0)},
		{kind: C.tr_option_gpu_metrics, number: boolean(o.GPUMetrics && hasDriver())},
		{kind: C.tr_option_cpu_metrics, number: boolean(o.CPUMetrics)},
		{kind: C.tr_option_metrics_interval, number: interval, flag: option("local.Options.MetricsInterval", o.MetricsInterval != usual.MetricsInterval)},
	}
	for _, m := range o.Metrics {
		all = append(all, C.tr_option{kind: C.tr_option_metrics_setting, flag: name("local.Options.Metrics"), key: texts.add(m.Key), text: texts.add(m.Value)})
	}
	for _, p := range o.CUDAMemoryPools {
		all = append(all, C.tr_option{
			kind: C.tr_option_cuda_memory_pool, flag: name("local.Options.CUDAMemoryPools"), number: C.uint64_t(p.Bytes), device: C.int(p.Device),
		})
	}
	for _, r := range o.RateLimitResources {
		all = append(all, C.tr_option{
			kind: C.tr_option_rate_limit_resource, flag: name("local.Options.RateLimitResources"), name: texts.add(r.Name), number: C.uint64_t(r.Count), device: C.int(r.Device),
		})
	}
	return append(append(all, c.backendSettings(texts)...), c.cacheSettings(texts)...)
}

// hasDriver reports whether NVIDIA's driver is installed. Without it, the library
// that reads GPU metrics writes an error to the terminal.
func hasDriver() bool { return exists("/dev/nvidiactl") || exists("/dev/dxg") }

// hasGPU reports whether the machine has a GPU for CUDA. Jetson's has a driver of
// its own.
func hasGPU() bool { return hasDriver() || exists("/dev/nvmap") }

// backendSettings returns the backends' settings. The prefix of the shared
// memory is the last one, because of equal settings Triton uses the last.
func (c *core) backendSettings(texts *cTexts) []C.tr_option {
	flag := texts.add(c.config.Names.Of("local.Options.Backends"))
	var all []C.tr_option
	for _, s := range append(slices.Clip(c.config.Options.Backends), BackendSetting{pythonBackend, prefixSetting, c.prefix}) {
		all = append(all, C.tr_option{
			kind: C.tr_option_backend, flag: flag, name: texts.add(s.Backend), key: texts.add(s.Key), text: texts.add(s.Value),
		})
	}
	return all
}

// cacheSettings returns the settings of each cache as JSON.
func (c *core) cacheSettings(texts *cTexts) []C.tr_option {
	flag := texts.add(c.config.Names.Of("local.Options.Caches"))
	caches := map[string]map[string]string{}
	for _, s := range c.config.Options.Caches {
		if caches[s.Cache] == nil {
			caches[s.Cache] = map[string]string{}
		}
		caches[s.Cache][s.Key] = s.Value
	}
	var all []C.tr_option
	if len(caches) > 0 && c.installation.caches != "" {
		all = append(all, C.tr_option{kind: C.tr_option_cache_directory, flag: flag, text: texts.add(c.installation.caches)})
	}
	for name, settings := range caches {
		text, _ := json.Marshal(settings) //nolint:errchkjson // a map of strings always marshals
		all = append(all, C.tr_option{kind: C.tr_option_cache, flag: flag, name: texts.add(name), text: texts.add(string(text))})
	}
	return all
}

// Path of the shared memory through which Python models and their backend
// exchange tensors, and its recommended minimum size in bytes.
const (
	sharedMemory    = "/dev/shm"
	minSharedMemory = 1 << 30
)

// warnSharedMemory logs a warning if the file system for shared memory is so
// small that Python models may fail.
func warnSharedMemory(path string, least uint64, log *slog.Logger) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		log.Warn("the size of the shared memory can't be read: Python models may fail if it is small", "path", path, "error", err)
		return
	}
	if size := fs.Blocks * uint64(fs.Bsize); size < least {
		log.Warn("shared memory is small: Python models may fail at start or with large tensors; increase its size (docker run --shm-size=1g, "+
			"in Kubernetes an emptyDir of medium Memory, or without a container mount -o remount,size=1g)",
			"path", path, "size", fmt.Sprintf("%d MiB", size>>20))
	}
}
