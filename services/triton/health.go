package triton

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// health knows which of the server's models are broken. tritonserver doesn't: a model
// whose engine has ended stays ready there, and each request fails. A model is broken by
// what [VerdictOn] says of its streams: the texts of an engine that has ended, or several
// requests in a row without a response.
//
// A broken model is marked: its streams end, requests get an error at once, and the lists
// of models and the readiness say why. It is unloaded and loaded where the server allows
// that. Where it doesn't, the log says what to do, and the mark goes when the server or
// the model has been started again, or when a request that is let through now and then is
// answered.
//
// Its methods may be called concurrently.
type health struct {
	engine *Engine
	log    *slog.Logger
	ctx    context.Context //nolint:containedctx // the lifetime of the engine: it bounds the bringing back
	stop   context.CancelFunc
	work   sync.WaitGroup
	// broken is how many models have a fault: the check of each request.
	broken atomic.Int32
	// changed has an element once a model has broken down or is back.
	changed Changes

	mu    sync.Mutex
	wards map[string]*ward
	away  bool      // the last health check of the server failed
	back  time.Time // when a health check succeeded after a failed one
}

// ward is a model that requests were made for.
type ward struct {
	name string
	// heard is the silences' tick of the last response.
	heard atomic.Int64

	// What follows is guarded by the mutex of health.
	streams map[*stream]time.Time // with their begin
	strikes int                   // requests without an answer in a row
	judged  bool                  // judge is running
	fault   string                // why the model is broken; empty for a sound one
	manual  bool                  // the server doesn't let it be loaded
	trial   time.Time             // when a request was last let through
	sound   chan struct{}
}

// Pauses of a broken model.
const (
	healthPoll   = time.Second      // between two looks at the server's index
	trialPause   = 10 * time.Second // between two requests that are let through
	recoverFirst = time.Second      // before the second attempt to load it; then twice as long each time
	recoverLast  = time.Minute
	unloadLimit  = 30 * time.Second // for requests in flight, which may never end
	judgeLimit   = time.Second      // for a health check of the server
)

// byHand is what an operator has to do.
const byHand = "the inference server doesn't let models be loaded again: restart it, or run it with --model-control-mode=explicit"

func newHealth(e *Engine, log *slog.Logger) *health {
	h := &health{engine: e, log: log, wards: map[string]*ward{}, changed: make(Changes, 1)}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// end stops the bringing back and waits for it.
func (h *health) end() {
	h.stop()
	h.work.Wait()
}

func (h *health) ward(name string) *ward {
	w := h.wards[name]
	if w == nil {
		w = &ward{name: name, streams: map[*stream]time.Time{}}
		h.wards[name] = w
	}
	return w
}

// enter notes a stream of a model, unless that is broken. Now and then one is let through
// to a model that nobody brings back.
func (h *health) enter(model string, s *stream) (*ward, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.ward(model)
	if w.fault != "" {
		if !w.manual || time.Since(w.trial) < trialPause {
			return nil, NotReady(w.name, w.fault)
		}
		w.trial = time.Now()
	}
	w.streams[s] = time.Now()
	return w, nil
}

// leave takes note of the end of a stream: nil, or its error.
func (h *health) leave(w *ward, s *stream, err error) {
	verdict := VerdictOn(err)
	h.mu.Lock()
	if verdict == SilentModel && (h.away || w.streams[s].Before(h.back)) {
		verdict = NoVerdict // the server itself was stalled
	}
	delete(w.streams, s)
	switch verdict {
	case SoundModel:
		w.strikes = 0
	case SilentModel:
		if h.engine.silences.since(w.heard.Load()) < h.engine.config.Inactivity {
			w.strikes = 0 // others are answered
		} else {
			w.strikes++
		}
	case NoVerdict, DeadEngine:
	}
	silent, healed := w.strikes >= StrikeLimit, verdict == SoundModel && w.fault != ""
	h.mu.Unlock()
	switch {
	case verdict == DeadEngine:
		h.fail(w, "its engine has ended")
	case silent:
		h.judge(w)
	case healed:
		h.heal(w.name, "a request was answered")
	}
	h.forget(w)
}

// judge marks a model that returned no responses as broken, unless its server fails a health
// check too.
func (h *health) judge(w *ward) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.judged || w.fault != "" || h.ctx.Err() != nil {
		return
	}
	w.judged = true
	h.work.Go(func() {
		answers := h.awaitServer()
		h.mu.Lock()
		w.judged = false
		silent := answers && w.strikes >= StrikeLimit // no request was answered meanwhile
		if !silent {
			w.strikes = 0
		}
		h.mu.Unlock()
		if silent {
			h.fail(w, "it doesn't answer")
		}
		h.forget(w)
	})
}

// awaitServer checks the server's health until a check succeeds, and reports whether the
// first one did. A server that fails the check is frozen or can't be reached. Requests that
// stall meanwhile don't count against their models.
func (h *health) awaitServer() (atOnce bool) {
	for atOnce = true; ; atOnce = false {
		_, err := call(h.ctx, h.engine, judgeLimit, client.ServerLive, &kserve.ServerLiveRequest{})
		h.mu.Lock()
		h.away = err != nil
		if !h.away && !atOnce {
			h.back = time.Now()
		}
		h.mu.Unlock()
		if err == nil {
			return atOnce
		}
		if !h.sleep(healthPoll, nil) {
			return false
		}
	}
}

// forget drops what says nothing: clients may name models without end.
func (h *health) forget(w *ward) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(w.streams) == 0 && w.strikes == 0 && !w.judged && w.fault == "" && h.wards[w.name] == w {
		delete(h.wards, w.name)
	}
}

// fail marks a model, ends its streams and begins to bring it back.
func (h *health) fail(w *ward, fault string) {
	h.mu.Lock()
	if w.fault != "" || h.ctx.Err() != nil {
		h.mu.Unlock()
		return
	}
	w.fault, w.manual, w.trial = fault, false, time.Now()
	sound := make(chan struct{})
	w.sound = sound
	h.broken.Add(1)
	h.changed.Notify()
	streams := slices.Collect(maps.Keys(w.streams))
	h.mu.Unlock()
	h.log.Error("model broke down", "model", w.name, "fault", fault, "streams", len(streams))
	ended := kind{inference.CodeUnavailable, inference.ReasonEngineGone}.because(fmt.Sprintf("the model `%s` broke down: %s", w.name, fault), nil)
	ended.RetryAfter = FaultRetry
	for _, s := range streams {
		s.cancel(ended)
	}
	h.work.Go(func() { h.bringBack(w, sound) })
}

// heal takes the mark off a model.
func (h *health) heal(model, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.wards[model]
	if w == nil || w.fault == "" {
		return
	}
	w.fault, w.strikes, w.manual = "", 0, false
	close(w.sound)
	h.broken.Add(-1)
	h.changed.Notify()
	h.log.Info("model is back", "model", model, "why", why)
}

// bringBack unloads and loads a model until it is sound.
func (h *health) bringBack(w *ward, sound <-chan struct{}) {
	for pause := recoverFirst; ; pause = min(2*pause, recoverLast) {
		err := h.reload(w.name)
		if err == nil {
			h.heal(w.name, "it was loaded again")
			return
		}
		if inference.AsError(err).Code == inference.CodeUnsupported {
			h.await(w, sound)
			return
		}
		h.log.Error("model can't be brought back", "model", w.name, "error", err, "next_try", pause)
		if !h.sleep(pause, sound) {
			return
		}
	}
}

// sleep is false when the model is sound first, or the engine stops.
func (h *health) sleep(pause time.Duration, sound <-chan struct{}) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-sound:
	case <-h.ctx.Done():
	}
	return false
}

// reload unloads a model, unless somebody else has done so, and loads it. Another Trident
// before the same server may do the same: to load a model that is ready changes nothing.
func (h *health) reload(model string) error {
	state, err := h.state(model)
	if err != nil {
		return err
	}
	if state == inference.ModelReady {
		req := &kserve.RepositoryModelUnloadRequest{ModelName: model}
		if _, err := call(h.ctx, h.engine, h.engine.config.LoadTimeout, client.RepositoryModelUnload, req); err != nil {
			return err
		}
	}
	for began := time.Now(); time.Since(began) < unloadLimit; {
		if state, err = h.state(model); err != nil {
			return err
		}
		if state != inference.ModelReady && state != inference.ModelUnloading {
			break
		}
		if !h.sleep(healthPoll/4, nil) {
			return h.ctx.Err()
		}
	}
	_, err = call(h.ctx, h.engine, h.engine.config.LoadTimeout, client.RepositoryModelLoad, &kserve.RepositoryModelLoadRequest{ModelName: model})
	return err
}

// state is the one of a model's versions that a request reaches.
func (h *health) state(model string) (inference.ModelState, error) {
	index, err := call(h.ctx, h.engine, h.engine.config.CallTimeout, client.RepositoryIndex, &kserve.RepositoryIndexRequest{})
	if err != nil {
		return "", err
	}
	for _, m := range FromIndex(index.GetModels()) {
		if m.Name == model {
			return m.State, nil
		}
	}
	return inference.ModelNeverLoaded, nil
}

// await waits until a model that can't be loaded from here has been started again: the
// server was away, or the model was in another state.
func (h *health) await(w *ward, sound <-chan struct{}) {
	h.log.Error("model can't be brought back", "model", w.name, "remedy", byHand)
	h.mu.Lock()
	w.manual, w.fault = true, w.fault+", and "+byHand
	h.mu.Unlock()
	h.changed.Notify()
	for gone := false; h.sleep(healthPoll, sound); {
		state, err := h.state(w.name)
		if err == nil && state == inference.ModelReady && gone {
			h.heal(w.name, "it was started again")
			return
		}
		gone = gone || err != nil || state != inference.ModelReady
	}
}

// check is nil for a model that isn't broken.
func (h *health) check(model string) error {
	if h.broken.Load() == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.wards[model]; w != nil && w.fault != "" {
		return NotReady(w.name, w.fault)
	}
	return nil
}

// faults returns the broken models.
func (h *health) faults() Faults {
	if h.broken.Load() == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := Faults{}
	for name, w := range h.wards {
		if w.fault != "" {
			all[name] = w.fault
		}
	}
	return all
}
