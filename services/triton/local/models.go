//go:build cgo && linux

package local

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"slices"
	"time"
	"unsafe"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// unloading is the state of a model that Triton is about to release.
const unloading = string(inference.ModelUnloading)

// unload starts to unload a model. Requests in flight end first.
func (c *core) unload(model string, dependents bool) error {
	c.settle()
	name := C.CString(model)
	defer C.free(unsafe.Pointer(name))
	return failure(C.tr_model_unload(c.server, name, C.bool(dependents)))
}

// settleTime is the minimum time between a load and an unload. A thread of Triton
// 2.51 reports that a model instance is ready before it has added the instance to
// its list. An unload in between crashes the process.
const settleTime = 200 * time.Millisecond

// settle waits until settleTime has passed since the latest load. A wall clock that
// is set back doesn't extend the wait.
func (c *core) settle() {
	ended := c.lastLoad.Load()
	if ended == nil {
		return
	}
	if rest := settleTime - time.Since(*ended); rest > 0 {
		<-time.After(rest)
	}
}

// states returns Triton's states of the versions of a model.
func (c *core) states(model string) map[string]bool {
	states := map[string]bool{}
	for _, row := range c.triton(false).GetModels() {
		if row.GetName() == model {
			states[row.GetState()] = true
		}
	}
	return states
}

// serves reports whether Triton considers a model ready.
func (c *core) serves(model string) bool { return c.states(model)[string(inference.ModelReady)] }

// triton returns Triton's own index, or an empty one after an error.
func (c *core) triton(ready bool) *kserve.RepositoryIndexResponse {
	index, _ := c.describeIndex(ready)
	return index
}

// modelConfig returns the configuration of a model that Triton serves, or nil.
func (c *core) modelConfig(model string) *kserve.ModelConfig {
	config, err := describe(c, C.tr_model_config, model, -1, &kserve.ModelConfig{})
	if err != nil {
		return nil
	}
	return config
}

// steps returns the models of an ensemble.
func (c *core) steps(model string) []string {
	var names []string
	for _, step := range c.modelConfig(model).GetEnsembleScheduling().GetStep() {
		names = append(names, step.GetModelName())
	}
	return names
}

// affected returns a model and the ensembles that contain it.
func (c *core) affected(model string) []string {
	names := []string{model}
	for _, row := range c.triton(true).GetModels() {
		if slices.Contains(c.steps(row.GetName()), model) && !slices.Contains(names, row.GetName()) {
			names = append(names, c.affected(row.GetName())...)
		}
	}
	return names
}

// threadsLost returns the number of Triton's threads in the engine's process that
// are blocked forever because another process died.
func (*core) threadsLost() int { return int(C.tr_parked()) }

// await polls for a condition and reports whether it was met in time.
func (c *core) await(ctx context.Context, limit time.Duration, met func() bool) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	poll := time.NewTicker(unloadPoll)
	defer poll.Stop()
	for !met() {
		select {
		case <-poll.C:
		case <-late.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}
