//go:build cgo && linux

package local

import (
	"fmt"
	"slices"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

// recover marks a model as broken, ends its streams and starts its recovery.
func (h *health) recover(w *modelHealth, fault string) {
	h.mu.Lock()
	if w.fault != "" || h.ctx.Err() != nil {
		h.mu.Unlock()
		return
	}
	w.fault = fault
	w.faults++
	if time.Since(w.healed) > stablePeriod {
		w.attempts = 0
	}
	working := make(chan struct{})
	w.working = working
	h.broken.Add(1)
	h.core.changed.Notify()
	h.lost.Store(true)
	faults := w.faults
	h.mu.Unlock()

	streams := h.core.queue.fail(h.core.affected(w.name), &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, RetryAfter: triton.FaultRetry,
		Message: fmt.Sprintf("the model `%s` failed: %s", w.name, fault),
	})
	h.core.log.Error("model failed", "model", w.name, "fault", fault, "faults", faults, "streams", streams)
	h.core.users.Go(func() { h.restart(w, working) })
}

// Pauses between recovery attempts. The first attempt has no pause if the model
// worked for the time calm before.
const (
	firstPause   = time.Second
	lastPause    = time.Minute
	stablePeriod = time.Minute
)

// restart unloads and loads the model until it works.
func (h *health) restart(w *modelHealth, working <-chan struct{}) {
	began := time.Now()
	for h.take(w, h.pause(w), working) {
		err := h.reload(w, w.overrides)
		h.release(w)
		switch {
		case h.ctx.Err() != nil:
			return
		case err == nil:
			h.core.log.Info("model recovered", "model", w.name, "after", time.Since(began).Round(time.Millisecond), "threads_lost", h.core.threadsLost())
			return
		}
		h.core.log.Error("model can't be recovered", "model", w.name, "error", firstLine(logged(err)), "next_try", h.pause(w))
	}
}

func (h *health) pause(w *modelHealth) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.attempts == 0 {
		return 0
	}
	return min(firstPause<<min(w.attempts-1, 10), lastPause)
}

// take waits for a pause and then until no other goroutine loads or unloads the
// model. It returns false if the server stops first, or if the model works again.
func (h *health) take(w *modelHealth, pause time.Duration, working <-chan struct{}) bool {
	wait := time.NewTimer(pause)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-working:
		return false
	case <-h.ctx.Done():
		return false
	}
	select {
	case w.busy <- struct{}{}:
	case <-working:
		return false
	case <-h.ctx.Done():
		return false
	}
	select {
	case <-working: // the model works again
		h.release(w)
		return false
	case <-h.ctx.Done():
		h.release(w)
		return false
	default:
		return true
	}
}

// release ends a successful take. A model whose load hangs stays taken.
func (h *health) release(w *modelHealth) {
	h.mu.Lock()
	if w.hanging {
		h.mu.Unlock()
		return
	}
	<-w.busy
	crashed := w.crashed
	w.crashed = ""
	h.mu.Unlock()
	if crashed != "" && h.core.serves(w.name) {
		h.recover(w, crashed)
	}
}

// reload unloads a model, by force if needed, and loads it.
func (h *health) reload(w *modelHealth, overrides []override) error {
	h.mu.Lock()
	w.attempts++
	h.mu.Unlock()
	c := h.core
	if c.serves(w.name) {
		if err := c.unload(w.name, false); err != nil {
			return fmt.Errorf("unload the model: %w", err)
		}
	}
	h.awaitUnload(w)
	return h.load(w, overrides)
}

// unloadPoll is the interval at which Triton is asked for the end of an unload.
const unloadPoll = 20 * time.Millisecond

// awaitUnload waits for the end of an unload. It kills the model's processes that
// don't end. If a process died while it worked, Triton may keep the rest of the
// model. Triton then loads the model beside it.
func (h *health) awaitUnload(w *modelHealth) {
	c := h.core
	if c.await(h.ctx, c.config.ExitTimeout, func() bool { return h.gone(w) }) {
		return
	}
	for _, s := range c.stubsOfModel(w.name) {
		c.log.Warn("killing a process of a model that didn't unload in time", "model", w.name, "pid", s.pid)
		s.kill()
	}
	c.await(h.ctx, killTime, func() bool { return h.gone(w) })
}

// gone reports whether the model has ended.
func (h *health) gone(w *modelHealth) bool {
	h.mu.Lock()
	python := w.python
	h.mu.Unlock()
	if states := h.core.states(w.name); !states[string(inference.ModelReady)] && !states[unloading] {
		return true
	}
	return python && len(h.core.stubsOfModel(w.name)) == 0
}

// clearFault removes the mark from a model.
func (h *health) clearFault(w *modelHealth) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.fault == "" {
		return
	}
	w.fault, w.unanswered, w.healed, w.first = "", 0, time.Now(), h.core.queue.number()
	close(w.working)
	h.broken.Add(-1)
	h.core.changed.Notify()
}

// control loads or unloads a model for a client of the repository. A load recovers
// a broken model at once. An unload ends its recovery.
func (h *health) control(model string, change func(*modelHealth) error) error {
	w := h.model(model)
	h.mu.Lock()
	hung := w.hanging
	h.mu.Unlock()
	if hung {
		return errHung
	}
	if !h.take(w, 0, nil) {
		return errStopped
	}
	defer h.release(w)
	return change(w)
}

func (h *health) loadModel(model string, overrides []override) error {
	return h.control(model, func(w *modelHealth) error {
		if h.check(model) != nil {
			return h.reload(w, overrides)
		}
		reload := h.core.serves(model)
		if reload { // Triton ends the model's current instances
			h.core.settle()
		}
		err := h.load(w, overrides)
		if err != nil && reload {
			h.leaked.Store(true)
		}
		return err
	})
}

func (h *health) unloadModel(model string, dependents bool) error {
	return h.control(model, func(*modelHealth) error {
		names := []string{model}
		if dependents {
			names = append(names, h.core.steps(model)...)
		}
		err := h.core.unload(model, dependents)
		if err == nil {
			for _, name := range names {
				h.clearFault(h.model(name))
			}
		}
		return err
	})
}

// loaded records a successful load and watches the processes that it started.
func (h *health) loaded(w *modelHealth, overrides []override) {
	stubs := h.core.stubsOfModel(w.name)
	h.mu.Lock()
	fresh := slices.DeleteFunc(stubs, func(s stub) bool { return w.stubs[s.pid] != nil })
	for _, s := range w.stubs {
		s.old = s.old || len(fresh) > 0
	}
	for _, s := range fresh {
		w.stubs[s.pid] = &watched{segment: s.segment}
		w.python = true
		h.core.users.Go(func() {
			if how, err := awaitEnd(h.ctx, s.pid); err == nil {
				h.died(w, s.pid, how)
			}
		})
	}
	w.overrides = overrides
	if len(fresh) > 0 {
		w.crashed = "" // a previous process ended; without new processes the load has changed nothing
	}
	h.mu.Unlock()
	h.clearFault(w)
}

// died records the end of a process. The model is broken if Triton still serves
// it.
func (h *health) died(w *modelHealth, pid int, how exit) {
	h.mu.Lock()
	was := w.stubs[pid]
	delete(w.stubs, pid)
	expected := was.old && (how.clean() || !how.known)
	fault := "the model's process ended " + how.String()
	if len(w.busy) > 0 && !expected {
		w.crashed = fault
	}
	h.mu.Unlock()
	if expected || !h.core.serves(w.name) {
		return
	}
	if !how.clean() {
		sweep(was.segment) // the process's children, and memory that Triton may never remove
	}
	h.fail(w.name, fault)
}
