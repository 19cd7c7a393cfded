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

// health detects which of the server's models are broken. tritonserver doesn't: it keeps
// a model ready after the model's engine has ended, and each request fails. [VerdictOn]
// judges each stream. A model is broken when an error shows that its engine has ended, or
// when [MaxUnanswered] requests in a row had no response and the server itself is healthy.
//
// A broken model is marked. Its streams end, and new requests get an error at once. The
// lists of models and the readiness show the reason. If the server allows it, the model
// is unloaded and loaded. If the server doesn't, the log has the remedy. The mark is then
// removed when the server or the model has been started again, or when a trial request is
// answered.
//
// Its methods may be called concurrently.
type health struct {
	engine *Engine
	log    *slog.Logger
	ctx    context.Context //nolint:containedctx // the lifetime of the engine, which limits the recovery
	stop   context.CancelFunc
	work   sync.WaitGroup
	// broken is the number of models with a fault. Each request checks it
	// first.
	broken atomic.Int32
	// changed receives an element when a model breaks down or is back.
	changed Changes

	mu     sync.Mutex
	models map[string]*modelHealth
	away   bool      // the last health check of the server failed
	back   time.Time // time when a health check succeeded after a failed one
}

// modelHealth is the state of a model with requests or faults.
type modelHealth struct {
	name string
	// lastResponse is the tick of the IdleTimers at the last response.
	lastResponse atomic.Int64

	// The mutex of health guards these fields.
	streams    map[*stream]time.Time // the model's streams with their start times
	unanswered int                   // consecutive requests without a response
	judged     bool                  // judge is running
	fault      string                // reason why the model is broken; empty for a working model
	manual     bool                  // the server doesn't allow Trident to load the model
	trial      time.Time             // time when the latest trial request was admitted
	working    chan struct{}
	healed     time.Time // time when the model last became working again
}

// Intervals and limits for a broken model.
const (
	healthPoll   = time.Second      // pause between two checks of the server's index of models
	trialPause   = 10 * time.Second // pause between two trial requests
	recoverFirst = time.Second      // pause before the second attempt to load the model; each later pause is twice as long
	recoverLast  = time.Minute
	unloadLimit  = 30 * time.Second // maximum wait for an unload, which waits for requests in flight that may never end
	judgeLimit   = time.Second      // time limit of a health check of the server
)

// explicitMode is the option of a tritonserver that allows clients to load and unload models.
const explicitMode = "--model-control-mode=explicit"

// byHand describes the remedy for an operator.
const byHand = "the inference server refuses to load models again: restart it, or start it with " + explicitMode

func newHealth(e *Engine, log *slog.Logger) *health {
	h := &health{engine: e, log: log, models: map[string]*modelHealth{}, changed: make(Changes, 1)}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// end stops the recovery and waits for its goroutines.
func (h *health) end() {
	h.stop()
	h.work.Wait()
}

func (h *health) model(name string) *modelHealth {
	w := h.models[name]
	if w == nil {
		w = &modelHealth{name: name, streams: map[*stream]time.Time{}}
		h.models[name] = w
	}
	return w
}

// enter adds a stream of a model. It returns an error if the model is broken. If Trident
// can't load the model, one trial request each trialPause is admitted.
func (h *health) enter(model string, s *stream) (*modelHealth, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.model(model)
	if w.fault != "" {
		if !w.manual || time.Since(w.trial) < trialPause {
			return nil, NotReady(w.name, w.fault)
		}
		w.trial = time.Now()
	}
	w.streams[s] = time.Now()
	return w, nil
}

// leave removes a stream. err is the error that ended it, or nil.
func (h *health) leave(w *modelHealth, s *stream, err error) {
	verdict := VerdictOn(err)
	h.mu.Lock()
	began := w.streams[s]
	switch {
	case verdict == UnresponsiveModel && (h.away || began.Before(h.back)):
		verdict = NoVerdict // the server itself was stalled
	case began.Before(w.healed):
		verdict = NoVerdict // the verdict is about the previous engine: a client that reads slowly may learn of that engine's end much later
	}
	delete(w.streams, s)
	switch verdict {
	case WorkingModel:
		w.unanswered = 0
	case UnresponsiveModel:
		if h.engine.idleTimers.since(w.lastResponse.Load()) < h.engine.config.Inactivity {
			w.unanswered = 0 // the model answers other requests
		} else {
			w.unanswered++
		}
	case NoVerdict, DeadEngine:
	}
	silent, healed := w.unanswered >= MaxUnanswered, verdict == WorkingModel && w.fault != ""
	h.mu.Unlock()
	switch {
	case verdict == DeadEngine:
		h.fail(w, deadText)
	case silent:
		h.judge(w)
	case healed:
		h.clearFault(w.name, "a request was answered")
	}
	h.forget(w)
}

// judge marks a model that returned no responses as broken, unless its server fails a health
// check too.
func (h *health) judge(w *modelHealth) {
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
		silent := answers && w.unanswered >= MaxUnanswered // the model responded to no request meanwhile
		if !silent {
			w.unanswered = 0
		}
		h.mu.Unlock()
		if silent {
			h.fail(w, "the model doesn't answer")
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

// forget deletes the state of a model without streams and faults. Otherwise
// clients could fill the map with invented names.
func (h *health) forget(w *modelHealth) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(w.streams) == 0 && w.unanswered == 0 && !w.judged && w.fault == "" && h.models[w.name] == w {
		delete(h.models, w.name)
	}
}

// fail marks a model as broken, ends its streams and starts its recovery.
func (h *health) fail(w *modelHealth, fault string) {
	h.mu.Lock()
	if w.fault != "" || h.ctx.Err() != nil {
		h.mu.Unlock()
		return
	}
	w.fault, w.manual, w.trial = fault, false, time.Now()
	working := make(chan struct{})
	w.working = working
	h.broken.Add(1)
	h.changed.Notify()
	streams := slices.Collect(maps.Keys(w.streams))
	h.mu.Unlock()
	h.log.Error("model failed", "model", w.name, "fault", fault, "streams", len(streams))
	ended := kind{inference.CodeUnavailable, inference.ReasonEngineGone}.because(fmt.Sprintf("the model `%s` failed: %s", w.name, fault), nil)
	ended.RetryAfter = FaultRetry
	for _, s := range streams {
		s.cancel(ended)
	}
	h.work.Go(func() { h.restart(w, working) })
}

// clearFault removes the mark from a model.
func (h *health) clearFault(model, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.models[model]
	if w == nil || w.fault == "" {
		return
	}
	w.fault, w.unanswered, w.manual, w.healed = "", 0, false, time.Now()
	close(w.working)
	h.broken.Add(-1)
	h.changed.Notify()
	h.log.Info("model recovered", "model", model, "why", why)
}

// restart unloads and loads a model until it works.
func (h *health) restart(w *modelHealth, working <-chan struct{}) {
	for pause := recoverFirst; ; pause = min(2*pause, recoverLast) {
		err := h.reload(w.name)
		if err == nil {
			h.clearFault(w.name, "the model was loaded again")
			return
		}
		if inference.AsError(err).Code == inference.CodeUnsupported {
			h.await(w, working)
			return
		}
		h.log.Error("model can't be recovered", "model", w.name, "error", err, "next_try", pause)
		if !h.sleep(pause, working) {
			return
		}
	}
}

// sleep returns false if the model works again or the engine stops before the
// pause has passed.
func (h *health) sleep(pause time.Duration, working <-chan struct{}) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-working:
	case <-h.ctx.Done():
	}
	return false
}

// reload unloads a model, unless it is unloaded already, and loads it. Another Trident
// with the same server may do the same at the same time. Loading a model that is ready
// has no effect.
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

// state returns the state of the model's version that a request without a
// version reaches.
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

// await waits until a model that Trident can't load has been started again. It detects
// that when the model is ready after the server was unreachable or the model was in
// another state.
func (h *health) await(w *modelHealth, working <-chan struct{}) {
	h.log.Error("model can't be recovered", "model", w.name, "remedy", byHand)
	h.mu.Lock()
	w.manual, w.fault = true, w.fault+", and "+byHand
	h.mu.Unlock()
	h.changed.Notify()
	for gone := false; h.sleep(healthPoll, working); {
		state, err := h.state(w.name)
		if err == nil && state == inference.ModelReady && gone {
			h.clearFault(w.name, "the model was started again")
			return
		}
		gone = gone || err != nil || state != inference.ModelReady
	}
}

// check returns an error if the model is broken.
func (h *health) check(model string) error {
	if h.broken.Load() == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.models[model]; w != nil && w.fault != "" {
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
	for name, w := range h.models {
		if w.fault != "" {
			all[name] = w.fault
		}
	}
	return all
}
