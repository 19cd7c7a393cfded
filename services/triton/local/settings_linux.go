//go:build cgo

package local

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"unsafe"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/extension"
)

// TraceSetting implements [inference.Settings] as tritonserver does: for a ready
// model, or for all models. The file is the one of [Config.Trace].
func (e *Engine) TraceSetting(ctx context.Context, req *kserve.TraceSettingRequest) (*kserve.TraceSettingResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.TraceSettingResponse, error) {
		if model := req.GetModelName(); model != "" {
			ready, err := c.modelReady(model, -1)
			if err != nil {
				return nil, err
			}
			if !ready {
				return nil, triton.FailureOf(inference.TritonInvalidArg, "Request for unknown model : "+model)
			}
		}
		return c.tracer.traces.Setting(req)
	})
}

// LogSettings implements [inference.Settings]. The library has one set of log
// settings, which apply until the next start.
func (e *Engine) LogSettings(ctx context.Context, req *kserve.LogSettingsRequest) (*kserve.LogSettingsResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.LogSettingsResponse, error) { return c.logs.Setting(req) })
}

// logValues returns the log settings of the configuration.
func (c *core) logValues() extension.LogValues {
	return extension.LogValues{
		Info:    c.config.LogInfo,
		Warning: true,
		Error:   true,
		Verbose: uint32(c.config.Options.LogVerbose),
		Format:  extension.LogFormatDefault,
	}
}

// startLogs applies the log settings of the configuration.
func (c *core) startLogs() error {
	values := c.logValues()
	c.logs = extension.NewLogs(values, applyLog)
	return applyLog(values)
}

// expectNoGPU reports once that the machine has no GPU, and keeps Triton from logging that
// as an error when it creates the server. The creation itself returns its other errors.
// restore, which isn't nil, must be called after the creation. With messages of Triton at level
// info, nothing changes.
func (c *core) expectNoGPU() (restore func() error, err error) {
	nothing := func() error { return nil }
	if hasGPU() || c.config.LogInfo || c.config.Options.LogVerbose > 0 {
		return nothing, nil
	}
	c.log.Info("no GPU found: in-process Triton reserves no pinned and no GPU memory; models run on the CPU")
	values := c.logValues()
	values.Error = false
	if err := applyLog(values); err != nil {
		return nothing, err
	}
	return func() error { return applyLog(c.logValues()) }, nil
}

func applyLog(v extension.LogValues) error {
	values := C.tr_log_values{info: C.bool(v.Info), warning: C.bool(v.Warning), error: C.bool(v.Error), verbose: C.int(v.Verbose)}
	if v.Format == extension.LogFormatISO8601 {
		values.format = 1
	}
	return failure(C.tr_log(&values))
}

// Metrics implements [inference.Metrics]. It returns the metrics of all Triton
// servers that this process has had.
func (e *Engine) Metrics(ctx context.Context) ([]byte, error) {
	return with(ctx, e, func(c *core) ([]byte, error) {
		var text *C.char
		var size C.size_t
		if err := failure(C.tr_metrics(c.server, &text, &size)); err != nil {
			return nil, err
		}
		defer C.free(unsafe.Pointer(text))
		return C.GoBytes(unsafe.Pointer(text), C.int(size)), nil
	})
}
