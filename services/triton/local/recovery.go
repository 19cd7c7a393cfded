//go:build cgo && linux

package local

import (
	"fmt"
	"slices"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

// recover marks a model, ends its streams and begins to bring it back.
func (h *health) recover(w *ward, fault string) {
	h.mu.Lock()
	if w.fault != "" || h.ctx.Err() != nil {
		h.mu.Unlock()
		return
	}
	w.fault = fault
	w.faults++
	if time.Since(w.healed) > calm {
		w.attempts = 0
	}
	sound := make(chan struct{})
	w.sound = sound
	h.broken.Add(1)
	h.core.changed.Notify()
	h.lost.Store(true)
	faults := w.faults
	h.mu.Unlock()

	streams := h.core.queue.fail(h.core.affected(w.name), &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, RetryAfter: triton.FaultRetry,
		Message: fmt.Sprintf("the model `%s` broke down: %s", w.name, fault),
	})
	h.core.log.Error("model broke down", "model", w.name, "fault", fault, "faults", faults, "streams", streams)
	h.core.users.Go(func() { h.bringBack(w, sound) })
}

// The pauses between attempts: the first attempt is made at once, if the model was
// sound for a while before.
const (
	firstPause = time.Second
	lastPause  = time.Minute
	calm       = time.Minute
)

// bringBack unloads and loads the model until it is sound.
func (h *health) bringBack(w *ward, sound <-chan struct{}) {
	began := time.Now()
	for h.take(w, h.pause(w), sound) {
		err := h.revive(w, w.overrides)
		h.release(w)
		switch {
		case h.ctx.Err() != nil:
			return
		case err == nil:
			h.core.log.Info("model is back", "model", w.name, "after", time.Since(began).Round(time.Millisecond), "threads_lost", h.core.threadsLost())
			return
		}
		h.core.log.Error("model can't be brought back", "model", w.name, "error", firstLine(logged(err)), "next_try", h.pause(w))
	}
}

func (h *health) pause(w *ward) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.attempts == 0 {
		return 0
	}
	return min(firstPause<<min(w.attempts-1, 10), lastPause)
}

// take waits for a while and then for whoever else loads or unloads the model; not
// when the server stops first, or the model is sound.
func (h *health) take(w *ward, pause time.Duration, sound <-chan struct{}) bool {
	wait := time.NewTimer(pause)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-sound:
		return false
	case <-h.ctx.Done():
		return false
	}
	select {
	case w.busy <- struct{}{}:
	case <-sound:
		return false
	case <-h.ctx.Done():
		return false
	}
	select {
	case <-sound: // since then
		h.release(w)
		return false
	case <-h.ctx.Done():
		h.release(w)
		return false
	default:
		return true
	}
}

// release is for whoever took the model; one whose load hangs stays taken.
func (h *health) release(w *ward) {
	h.mu.Lock()
	if w.hung {
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

// revive unloads a model, whatever it does, and loads it.
func (h *health) revive(w *ward, overrides []override) error {
	h.mu.Lock()
	w.attempts++
	h.mu.Unlock()
	c := h.core
	if c.serves(w.name) {
		if err := c.unload(w.name, false); err != nil {
			return fmt.Errorf("unload: %w", err)
		}
	}
	h.awaitUnload(w)
	return h.load(w, overrides)
}

// unloadPoll is how often Triton is asked for the end of an unload.
const unloadPoll = 20 * time.Millisecond

// awaitUnload waits for the end of an unload. The model's processes that it
// doesn't bring to an end are killed. Triton may hold on to what is left of a model
// whose process died at work; it loads the model beside that.
func (h *health) awaitUnload(w *ward) {
	c := h.core
	if c.await(h.ctx, c.config.ExitTimeout, func() bool { return h.gone(w) }) {
		return
	}
	for _, s := range c.stubsOfModel(w.name) {
		c.log.Warn("process of a model that doesn't unload is killed", "model", w.name, "pid", s.pid)
		s.kill()
	}
	c.await(h.ctx, killTime, func() bool { return h.gone(w) })
}

// gone tells whether nothing of a model is at work.
func (h *health) gone(w *ward) bool {
	h.mu.Lock()
	python := w.python
	h.mu.Unlock()
	if states := h.core.states(w.name); !states[string(inference.ModelReady)] && !states[unloading] {
		return true
	}
	return python && len(h.core.stubsOfModel(w.name)) == 0
}

// heal takes the mark off a model.
func (h *health) heal(w *ward) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.fault == "" {
		return
	}
	w.fault, w.strikes, w.healed = "", 0, time.Now()
	close(w.sound)
	h.broken.Add(-1)
	h.core.changed.Notify()
}

// control loads or unloads a model for a client of the repository. A model that is
// broken is brought back at once by a load, and left alone after an unload.
func (h *health) control(model string, change func(*ward) error) error {
	w := h.ward(model)
	h.mu.Lock()
	hung := w.hung
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
	return h.control(model, func(w *ward) error {
		if h.check(model) != nil {
			return h.revive(w, overrides)
		}
		reload := h.core.serves(model)
		if reload { // Triton ends what it has of the model
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
	return h.control(model, func(*ward) error {
		names := []string{model}
		if dependents {
			names = append(names, h.core.steps(model)...)
		}
		err := h.core.unload(model, dependents)
		if err == nil {
			for _, name := range names {
				h.heal(h.ward(name))
			}
		}
		return err
	})
}

// loaded takes note of a load that has succeeded, and watches the processes that
// it has brought.
func (h *health) loaded(w *ward, overrides []override) {
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
		w.crashed = "" // of those before; else the load has changed nothing
	}
	h.mu.Unlock()
	h.heal(w)
}

// died takes note of the end of a process: it breaks a model that Triton is to
// serve.
func (h *health) died(w *ward, pid int, how exit) {
	h.mu.Lock()
	was := w.stubs[pid]
	delete(w.stubs, pid)
	expected := was.old && (how.clean() || !how.known)
	fault := "its process ended " + how.String()
	if len(w.busy) > 0 && !expected {
		w.crashed = fault
	}
	h.mu.Unlock()
	if expected || !h.core.serves(w.name) {
		return
	}
	if !how.clean() {
		sweep(was.segment) // what it has forked, and what Triton may never remove
	}
	h.fail(w.name, fault)
}
