//go:build cgo && linux

package local

import (
	"errors"
	"fmt"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

const (
	// firstWord is when the log first tells of a load that goes on, and then each
	// time when it takes twice as long.
	firstWord = 30 * time.Second
	// looks at the processes of a model that is being loaded, first often, so that
	// none is missed that ends early.
	firstLook, lastLook = 20 * time.Millisecond, 5 * time.Second
	// mourning is how long Triton may take to notice that a process of a model
	// that it loads has ended.
	mourning = 5 * time.Second
)

// errHung is a load in which Triton stays.
var errHung = &inference.Error{
	Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady,
	Message: "the model's load hangs: only a restart of this server can load it again",
}

// errCut is behind the error of a load that was cut off.
var errCut = errors.New("the load took longer than --model-load-timeout, and the model's processes were killed")

// load loads a model that the caller has taken. Triton can't be stopped in a load.
// One that takes longer than [Config.LoadTimeout] loses its processes, which
// Triton answers with an error. Up to version 25.07 it doesn't if that happens
// early: it waits for ever for a process that ended before it had imported the
// model, and the load is given up ([errHung]).
func (h *health) load(w *ward, overrides []override) error {
	done := make(chan error, 1)
	h.core.users.Go(func() { done <- h.core.load(w.name, overrides) })
	err, ended := h.watch(w, done)
	switch {
	case !ended && h.ctx.Err() != nil:
		return errStopped
	case !ended:
		h.abandon(w, done, overrides)
	case err == nil:
		h.loaded(w, overrides)
	}
	return err
}

// watch waits for the end of a load, as long as it may come.
func (h *health) watch(w *ward, done <-chan error) (err error, ended bool) { //nolint:revive // the flag says whether there is an error at all
	began := time.Now()
	late := time.NewTimer(h.core.config.LoadTimeout)
	defer late.Stop()
	word, pause := time.NewTimer(firstWord), firstWord
	defer word.Stop()
	look, interval := time.NewTimer(firstLook), firstLook
	defer look.Stop()
	dead := deaths{}
	for {
		select {
		case err := <-done:
			return err, true
		case <-h.ctx.Done():
			return nil, false
		case <-word.C:
			h.core.log.Warn("model is still loading", "model", w.name, "for", time.Since(began).Round(time.Second))
			pause *= 2
			word.Reset(pause)
		case <-look.C:
			if dead.look(h.core.stubsOfModel(w.name)) {
				return errHung, false
			}
			interval = min(2*interval, lastLook)
			look.Reset(interval)
		case <-late.C:
			return h.cut(w, done)
		}
	}
}

// deaths are the processes of a load and when they were first seen dead; zero for
// one that lives.
type deaths map[int]time.Time

// look takes note of the processes that live, and tells whether all have been dead
// for a while and Triton doesn't notice: else it would have buried them.
func (d deaths) look(living []stub) (unnoticed bool) {
	for _, s := range living {
		d[s.pid] = time.Time{}
	}
	for pid, since := range d {
		_, gone := ended(pid)
		switch {
		case !gone:
		case statOf(pid) == nil:
			delete(d, pid)
		case since.IsZero():
			d[pid] = time.Now()
		case time.Since(since) > mourning && len(living) == 0:
			unnoticed = true
		}
	}
	return unnoticed
}

// cut ends a load that takes too long. A load that succeeds although its processes were
// killed has failed: Triton lists a model whose process is gone.
func (h *health) cut(w *ward, done <-chan error) (err error, ended bool) { //nolint:revive // as watch
	select {
	case err := <-done: // just in time
		return err, true
	default:
	}
	stubs := h.core.stubsOfModel(w.name)
	h.core.log.Error("model takes too long to load: its processes are killed", "model", w.name,
		"limit", h.core.config.LoadTimeout, "processes", len(stubs))
	for _, s := range stubs {
		s.kill()
	}
	wait := time.NewTimer(killTime)
	defer wait.Stop()
	select {
	case err := <-done:
		switch {
		case err == nil && len(stubs) == 0:
			return nil, true
		case err == nil:
			err = errors.New("the load ended while they were killed")
		}
		return &inference.Error{
			Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady,
			Message: fmt.Sprintf("the model wasn't loaded in %s", h.core.config.LoadTimeout),
			Err:     fmt.Errorf("%w: %w", errCut, err),
		}, true
	case <-wait.C:
		return errHung, false
	}
}

// abandon leaves a model to the load in which Triton stays, which may yet end.
func (h *health) abandon(w *ward, done <-chan error, overrides []override) {
	h.core.log.Error("model's load hangs in Triton: restart trident to load it again", "model", w.name)
	h.mu.Lock()
	w.hung = true
	h.mu.Unlock()
	h.leaked.Store(true)
	h.core.users.Go(func() {
		err := <-done
		h.mu.Lock()
		w.hung = false
		h.mu.Unlock()
		if err == nil {
			h.loaded(w, overrides)
		}
		h.release(w)
	})
}
