//go:build cgo && linux

package local

import (
	"errors"
	"fmt"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

const (
	// firstWord is the time after which the log reports a load in progress. Each
	// later report comes after twice the time.
	firstWord = 30 * time.Second
	// firstLook and lastLook are the shortest and longest interval between checks
	// of a loading model's processes. The first checks are frequent, so that a
	// process that ends early isn't missed.
	firstLook, lastLook = 20 * time.Millisecond, 5 * time.Second
	// deathDetectionLimit is how long Triton may take to detect that a process of a
	// loading model has ended.
	deathDetectionLimit = 5 * time.Second
)

// errHung is the error of a load in which Triton hangs.
var errHung = &inference.Error{
	Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady,
	Message: "the load of the model hangs: only a restart of this server can load it again",
}

// cutError is behind the error of a load that was cut off.
type cutError struct {
	setting string // operators' name of [Config.LoadTimeout]
	err     error  // the error that the load returned
}

// Error implements error.
func (e *cutError) Error() string {
	return fmt.Sprintf("the load took longer than %s, and the model's processes were killed: %s", e.setting, e.err)
}

// Unwrap returns the error of the load.
func (e *cutError) Unwrap() error { return e.err }

// load loads a model that the caller has taken. Triton can't interrupt a load. If a
// load takes longer than [Config.LoadTimeout], its processes are killed, and Triton
// returns an error. Up to version 25.07 Triton doesn't return if the process ends
// before it has imported the model: Triton waits for the process forever. Then load
// returns [errHung].
func (h *health) load(w *modelHealth, overrides []override) error {
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

// watch waits for the end of a load. ended is false if the server stops or the
// load hangs. A load that exceeds its time limit is ended.
func (h *health) watch(w *modelHealth, done <-chan error) (err error, ended bool) { //nolint:revive // ended reports whether err is valid
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
			if dead.update(h.core.stubsOfModel(w.name)) {
				return errHung, false
			}
			interval = min(2*interval, lastLook)
			look.Reset(interval)
		case <-late.C:
			return h.cut(w, done)
		}
	}
}

// deaths has the processes of a load and when each was first seen dead. The time
// is zero for a live process.
type deaths map[int]time.Time

// update updates the processes. It reports whether all of them have been dead for a
// while and Triton hasn't detected that: otherwise Triton would have waited for
// them.
func (d deaths) update(living []stub) (unnoticed bool) {
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
		case time.Since(since) > deathDetectionLimit && len(living) == 0:
			unnoticed = true
		}
	}
	return unnoticed
}

// cut ends a load that takes too long. The load counts as failed even if it succeeds
// after its processes were killed, because Triton lists a model whose process has
// ended.
func (h *health) cut(w *modelHealth, done <-chan error) (err error, ended bool) { //nolint:revive // as for watch
	select {
	case err := <-done: // the load ended just in time
		return err, true
	default:
	}
	stubs := h.core.stubsOfModel(w.name)
	h.core.log.Error("model takes too long to load: killing its processes", "model", w.name,
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
			err = errors.New("the load of the model ended while its processes were being killed")
		}
		return &inference.Error{
			Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady,
			Message: fmt.Sprintf("the model wasn't loaded in %s", h.core.config.LoadTimeout),
			Err:     &cutError{h.core.config.Names.Of("local.LoadTimeout"), err},
		}, true
	case <-wait.C:
		return errHung, false
	}
}

// abandon leaves the model taken until its hanging load ends, if it ends at
// all.
func (h *health) abandon(w *modelHealth, done <-chan error, overrides []override) {
	h.core.log.Error("the load of a model hangs in Triton: restart trident to load the model again", "model", w.name)
	h.mu.Lock()
	w.hanging = true
	h.mu.Unlock()
	h.leaked.Store(true)
	h.core.users.Go(func() {
		err := <-done
		h.mu.Lock()
		w.hanging = false
		h.mu.Unlock()
		if err == nil {
			h.loaded(w, overrides)
		}
		h.release(w)
	})
}
