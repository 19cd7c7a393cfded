//go:build cgo && linux

package local

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

// indexReady restricts the index to ready models (TRITONSERVER_ModelIndexFlag).
const indexReady = 1

// with calls a function with the running server.
func with[T any](ctx context.Context, e *Engine, call func(*core) (T, error)) (answer T, err error) {
	if ctx.Err() != nil {
		return answer, triton.Ended(ctx, ctx.Err())
	}
	c, err := e.enter()
	if err != nil {
		return answer, err
	}
	defer c.users.Done()
	return call(c)
}

// describe decodes a message that Triton returns as JSON. The JSON's fields are
// those of the protobuf message. The index is a list without the enclosing
// object.
func describe[T proto.Message](c *core, what C.tr_what, model string, version C.int64_t, into T) (T, error) {
	name := C.CString(model)
	defer C.free(unsafe.Pointer(name))
	var text *C.char
	var size C.size_t
	if err := failure(C.tr_describe(c.server, what, name, version, &text, &size)); err != nil {
		return into, err
	}
	defer C.free(unsafe.Pointer(text))
	json := unsafe.Slice((*byte)(unsafe.Pointer(text)), size)
	if what == C.tr_index {
		json = slices.Concat([]byte(`{"models":`), json, []byte(`}`))
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(json, into); err != nil {
		return into, fmt.Errorf("decode Triton's JSON as %s: %w", into.ProtoReflect().Descriptor().Name(), err)
	}
	return into, nil
}

// versioned is a request with a model and its version.
type versioned interface {
	GetName() string
	GetVersion() string
}

// describeModel decodes a message about a model in the version that the
// client's request names.
func describeModel[T proto.Message](ctx context.Context, e *Engine, what C.tr_what, req versioned, into T) (T, error) {
	return with(ctx, e, func(c *core) (T, error) {
		number, err := parseVersion(req.GetVersion())
		if err != nil {
			return into, err
		}
		return describe(c, what, req.GetName(), number, into)
	})
}

// ServerLive implements [inference.Describer].
func (e *Engine) ServerLive(ctx context.Context, _ *kserve.ServerLiveRequest) (*kserve.ServerLiveResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.ServerLiveResponse, error) {
		var live C.bool
		err := failure(C.tr_is_live(c.server, &live))
		return &kserve.ServerLiveResponse{Live: bool(live)}, err
	})
}

// ServerReady implements [inference.Describer].
func (e *Engine) ServerReady(ctx context.Context, _ *kserve.ServerReadyRequest) (*kserve.ServerReadyResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.ServerReadyResponse, error) {
		var ready C.bool
		err := failure(C.tr_is_ready(c.server, &ready))
		return &kserve.ServerReadyResponse{Ready: bool(ready)}, err
	})
}

// ModelReady implements [inference.Describer]. For a model that Triton doesn't serve it returns
// "not ready" and no error.
func (e *Engine) ModelReady(ctx context.Context, req *kserve.ModelReadyRequest) (*kserve.ModelReadyResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.ModelReadyResponse, error) {
		version, err := parseVersion(req.GetVersion())
		if err != nil {
			return nil, err
		}
		ready, err := c.modelReady(req.GetName(), version)
		if triton.IsAbsent(err) {
			err = nil
		}
		working := c.health.check(req.GetName()) == nil
		return &kserve.ModelReadyResponse{Ready: ready && working}, err
	})
}

// modelReady reports whether Triton considers a version of a model ready.
func (c *core) modelReady(model string, version C.int64_t) (bool, error) {
	name := C.CString(model)
	defer C.free(unsafe.Pointer(name))
	var ready C.bool
	err := failure(C.tr_model_is_ready(c.server, name, version, &ready))
	return bool(ready), err
}

// ServerMetadata implements [inference.Describer].
func (e *Engine) ServerMetadata(ctx context.Context, _ *kserve.ServerMetadataRequest) (*kserve.ServerMetadataResponse, error) {
	return describeModel(ctx, e, C.tr_server_metadata, &kserve.ModelMetadataRequest{}, &kserve.ServerMetadataResponse{})
}

// ModelMetadata implements [inference.Describer].
func (e *Engine) ModelMetadata(ctx context.Context, req *kserve.ModelMetadataRequest) (*kserve.ModelMetadataResponse, error) {
	return describeModel(ctx, e, C.tr_model_metadata, req, &kserve.ModelMetadataResponse{})
}

// ModelConfig implements [inference.Describer].
func (e *Engine) ModelConfig(ctx context.Context, req *kserve.ModelConfigRequest) (*kserve.ModelConfigResponse, error) {
	config, err := describeModel(ctx, e, C.tr_model_config, req, &kserve.ModelConfig{})
	return &kserve.ModelConfigResponse{Config: config}, err
}

// ModelStatistics implements [inference.StatisticsReporter].
func (e *Engine) ModelStatistics(ctx context.Context, req *kserve.ModelStatisticsRequest) (*kserve.ModelStatisticsResponse, error) {
	return describeModel(ctx, e, C.tr_model_statistics, req, &kserve.ModelStatisticsResponse{})
}

// RepositoryIndex implements [inference.Repository]. Triton merges all
// repositories, so the request must not name one.
func (e *Engine) RepositoryIndex(ctx context.Context, req *kserve.RepositoryIndexRequest) (*kserve.RepositoryIndexResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.RepositoryIndexResponse, error) {
		if req.GetRepositoryName() != "" {
			return nil, errRepositoryName()
		}
		return c.index(req.GetReady())
	})
}

func errRepositoryName() error {
	return unsupported("'repository_name' specification is not supported")
}

// index returns Triton's index, in which broken models are marked as not ready.
func (c *core) index(ready bool) (*kserve.RepositoryIndexResponse, error) {
	index, err := c.describeIndex(ready)
	if err == nil {
		c.health.faults().Mark(index, ready)
	}
	return index, err
}

func (c *core) describeIndex(ready bool) (*kserve.RepositoryIndexResponse, error) {
	flags := C.int64_t(0)
	if ready {
		flags = indexReady
	}
	return describe(c, C.tr_index, "", flags, &kserve.RepositoryIndexResponse{})
}

// Models returns the models of the repositories by name, with the configurations
// of ready models.
func (e *Engine) Models(ctx context.Context) ([]inference.Model, error) {
	return with(ctx, e, func(c *core) ([]inference.Model, error) {
		index, err := c.index(false)
		if err != nil {
			return nil, err
		}
		models := triton.FromIndex(index.GetModels())
		faults := c.health.faults()
		for i := range models {
			models[i].Recovering = faults[models[i].Name] != ""
			if m := &models[i]; m.State == inference.ModelReady {
				if err := c.configure(m); err != nil {
					return nil, err
				}
			}
		}
		return models, nil
	})
}

// configure reads a model's configuration. A model that was unloaded meanwhile
// is listed as unavailable.
func (c *core) configure(m *inference.Model) error {
	version, err := parseVersion(m.Version)
	if err != nil {
		return err
	}
	config, err := describe(c, C.tr_model_config, m.Name, version, &kserve.ModelConfig{})
	var failed *inference.Error
	switch {
	case err == nil:
		m.Config = config
	case errors.As(err, &failed) && (failed.Reason == inference.ReasonModelNotFound || failed.Reason == inference.ReasonModelNotReady):
		m.State, m.Reason = inference.ModelUnavailable, failed.Message
	default:
		return err
	}
	return nil
}

// RepositoryModelLoad implements [inference.Repository]. It returns after the
// model has been loaded, which may take minutes.
func (e *Engine) RepositoryModelLoad(ctx context.Context, req *kserve.RepositoryModelLoadRequest) (*kserve.RepositoryModelLoadResponse, error) {
	if req.GetRepositoryName() != "" {
		return nil, errRepositoryName()
	}
	overrides, err := overridesOf(req)
	if err != nil {
		return nil, err
	}
	err = e.control(ctx, func(c *core) error { return c.health.loadModel(req.GetModelName(), overrides) })
	return &kserve.RepositoryModelLoadResponse{}, err
}

// RepositoryModelUnload implements [inference.Repository]. It returns when Triton
// has started the unload. Requests in flight end first.
func (e *Engine) RepositoryModelUnload(ctx context.Context, req *kserve.RepositoryModelUnloadRequest) (*kserve.RepositoryModelUnloadResponse, error) {
	if req.GetRepositoryName() != "" {
		return nil, errRepositoryName()
	}
	dependents := req.GetParameters()["unload_dependents"].GetBoolParam()
	err := e.control(ctx, func(c *core) error { return c.health.unloadModel(req.GetModelName(), dependents) })
	return &kserve.RepositoryModelUnloadResponse{}, err
}

// control calls a function that changes the loaded models, if the control mode
// allows that. Triton can't interrupt a change. When the context ends, the
// change continues in the background, and Stop waits for it.
func (e *Engine) control(ctx context.Context, change func(*core) error) error {
	if e.config.ControlMode != ControlExplicit {
		refused := triton.Failure(inference.CodeUnsupported, "explicit model load / unload is not allowed if polling is enabled")
		refused.Message += fmt.Sprintf(": start the inference server with %s=%s", e.config.Names.Of("local.ControlMode"), ControlExplicit)
		refused.Triton = inference.TritonUnavailable // Triton's own code for this error
		return refused
	}
	if ctx.Err() != nil {
		return triton.Ended(ctx, ctx.Err())
	}
	c, err := e.enter()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.config.LoadTimeout+2*killTime, errLoadTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer c.users.Done()
		done <- change(c)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return triton.Ended(ctx, ctx.Err())
	}
}

// override is a parameter of a request to load a model.
type override struct {
	name  string
	value []byte
	file  bool
}

// overridesOf returns the parameters that Triton knows: "config", a
// configuration as JSON, and files as "file:<path>".
func overridesOf(req *kserve.RepositoryModelLoadRequest) ([]override, error) {
	var all []override
	for name, p := range req.GetParameters() {
		switch choice := p.GetParameterChoice().(type) {
		case *kserve.ModelRepositoryParameter_StringParam:
			if name == "config" {
				all = append(all, override{name: name, value: []byte(choice.StringParam)})
				continue
			}
		case *kserve.ModelRepositoryParameter_BytesParam:
			if strings.HasPrefix(name, "file:") {
				all = append(all, override{name: name, value: choice.BytesParam, file: true})
				continue
			}
		}
		return nil, errOverride(name)
	}
	return all, nil
}

func errOverride(name string) error {
	switch {
	case name == "config":
		return invalid("invalid value type for load parameter 'config', expected string_param.")
	case strings.HasPrefix(name, "file:"):
		return invalid("invalid value type for load parameter '" + name + "', expected bytes_param.")
	}
	return invalid("unrecognized load parameter '" + name + "'.")
}

// load loads a model and fixes the signal handlers of libraries that were
// loaded with it.
func (c *core) load(model string, overrides []override) error {
	var texts cTexts
	defer texts.free()
	list := make([]C.tr_override, len(overrides)+1)
	for i, o := range overrides {
		// C strings end with a zero byte, which isn't part of a file's size.
		list[i] = C.tr_override{
			name: texts.add(o.name),
			base: unsafe.Pointer(texts.add(string(o.value))),
			size: C.uint64_t(len(o.value)),
			file: C.bool(o.file),
		}
	}
	err := failure(C.tr_model_load(c.server, texts.add(model), &list[0], C.uint32_t(len(overrides))))
	c.lastLoad.Store(new(time.Now()))
	c.fixSignals()
	return err
}

// fixSignals makes signal handlers of libraries use the alternate stack.
// Without it they would crash on a goroutine's stack.
func (c *core) fixSignals() {
	fixed := uint64(C.tr_fix_signals())
	for number := 1; fixed != 0 && number < 64; number++ {
		if fixed&(1<<number) != 0 {
			c.log.Warn("added SA_ONSTACK to the signal handler of a library", "signal", syscall.Signal(number).String())
		}
	}
}
