//go:build cgo && linux

package local

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

// health detects broken models and recovers them. Triton doesn't: it keeps a model
// ready after the model's process has died, the model's streams never end, and
// loading the model has no effect. These events break a model:
//   - A process of the model ends. The kernel reports that at once.
//   - An error shows that the engine inside the model has died.
//   - Several requests in a row time out, or fail because Triton reports that the
//     process doesn't respond, and no other response arrives meanwhile.
//
// A broken model is marked. Its streams end, and new requests get an error at once.
// The lists of models and the readiness show the reason. Then the model is unloaded,
// by force if needed, and loaded. This is repeated with growing pauses until it
// succeeds or a client of the repository unloads the model.
//
// Its methods may be called concurrently.
type health struct {
	core *core
	// ctx ends with the server. It limits the watching of processes and the
	// recovery.
	ctx  context.Context //nolint:containedctx // the lifetime of the server
	stop context.CancelFunc
	// broken is the number of models with a fault. Each request checks it
	// first.
	broken atomic.Int32
	// Triton 2.51 never releases the requests of a process that died while it
	// worked. It also counts a ready model whose reload failed, or whose load hangs,
	// as live forever. lost is set if there may be such requests, and leaked if
	// there is such a model.
	lost, leaked atomic.Bool

	mu     sync.Mutex
	models map[string]*modelHealth
}

// modelHealth is the state of a model that was loaded or is to be loaded.
type modelHealth struct {
	name string
	// busy contains a token while a goroutine loads or unloads the model.
	busy chan struct{}

	// The mutex of health guards these fields.
	overrides  []override       // overrides of the latest load of the model
	stubs      map[int]*watched // the model's Python processes, by process id
	python     bool             // reports whether the model has, or had, Python processes
	crashed    string           // how a process of the model ended while the model was busy
	hanging    bool             // Triton doesn't return from the model's load
	unanswered int              // consecutive requests without a response
	fault      string           // reason why the model is broken; empty for a working model
	working    chan struct{}    // closed when the model works again or is given up
	attempts   int              // recovery attempts since the model last worked for a while
	faults     int              // number of faults since the start
	healed     time.Time        // time when the model last became working again
	first      uint64           // number of the first stream after healed
}

// watched is a process of a model.
type watched struct {
	segment string // name of the process's shared memory
	old     bool   // a later load has replaced this process, and Triton may end it
}

func newHealth(ctx context.Context, c *core) *health {
	h := &health{core: c, models: map[string]*modelHealth{}}
	h.ctx, h.stop = context.WithCancel(ctx)
	return h
}

func (h *health) model(name string) *modelHealth {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.models[name]
	if w == nil {
		w = &modelHealth{name: name, busy: make(chan struct{}, 1), stubs: map[int]*watched{}}
		h.models[name] = w
	}
	return w
}

// check returns an error if the model is broken.
func (h *health) check(model string) error {
	if h.broken.Load() == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.models[model]; w != nil && w.fault != "" {
		return triton.NotReady(model, w.fault)
	}
	return nil
}

// faults returns the broken models.
func (h *health) faults() triton.Faults {
	if h.broken.Load() == 0 {
		return nil
	}
	all := triton.Faults{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, w := range h.models {
		if w.fault != "" {
			all[name] = w.fault
		}
	}
	return all
}

// ended records the end of a stream. err is the error that ended it, or nil. If the model
// has been recovered since the stream's start, the end is about the model's previous
// process: a client that reads slowly may learn of the end of that process much later.
func (h *health) ended(s *stream, err error) {
	verdict := triton.VerdictOn(err)
	if verdict != triton.WorkingModel && h.recovered(s) {
		return
	}
	switch verdict {
	case triton.WorkingModel:
		h.resetUnanswered(s.model)
	case triton.DeadEngine:
		h.fail(s.model, "the model's engine has ended")
	case triton.UnresponsiveModel:
		h.countUnanswered(s.model)
	case triton.NoVerdict:
	}
}

// recovered reports whether the model has been recovered since the start of a stream.
func (h *health) recovered(s *stream) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.models[s.model]
	return w != nil && s.id < w.first
}

func (h *health) resetUnanswered(model string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.models[model]; w != nil {
		w.unanswered = 0
	}
}

// countUnanswered counts a request without a response, unless the model responds to other
// requests.
func (h *health) countUnanswered(model string) {
	if h.core.queue.responded(model) {
		h.resetUnanswered(model)
		return
	}
	w := h.model(model)
	h.mu.Lock()
	w.unanswered++
	silent := w.unanswered >= triton.MaxUnanswered
	h.mu.Unlock()
	if silent && h.core.modelConfig(model).GetEnsembleScheduling() == nil { // if an ensemble sends nothing, one of its models is broken
		h.fail(model, "the model doesn't answer")
	}
}

// fail starts the recovery of a model, unless it is being loaded or unloaded. In
// that case the load or unload shows its state.
func (h *health) fail(model, fault string) {
	w := h.model(model)
	if len(w.busy) == 0 {
		h.recover(w, fault)
	}
}

// tookTooLong starts the recovery of a model whose load exceeded its time
// limit.
func (h *health) tookTooLong(model string, err error) {
	if _, cut := errors.AsType[*cutError](err); cut || errors.Is(err, errHung) {
		h.recover(h.model(model), inference.AsError(err).Message)
	}
}
