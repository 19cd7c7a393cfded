//go:build cgo && linux

package local

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

// health knows which models are broken, and brings them back. Triton itself
// doesn't: a model whose process has died stays ready, its streams never end, and
// to load it changes nothing. What breaks a model is
//   - the end of a process that it runs in, which the kernel tells at once;
//   - an error that says that the engine inside the model has died;
//   - silence: several requests in a row end by the limits of silence, or by
//     Triton's word that the process doesn't answer, and no response comes meanwhile.
//
// A broken model is marked: requests get an error at once, and the lists of models
// and the readiness say why. Its streams end. Then it is unloaded and loaded, by
// force and again and again with growing pauses, until that succeeds or a client
// of the repository unloads it.
//
// Its methods may be called concurrently.
type health struct {
	core *core
	// ctx ends with the server: it bounds the watching and the bringing back.
	ctx  context.Context //nolint:containedctx // the lifetime of the server
	stop context.CancelFunc
	// broken is how many models have a fault: the check of each request.
	broken atomic.Int32
	// Triton 2.51 never gives back the requests of a process that died at work, and
	// counts a ready model whose reload failed, or one whose load hangs, as live for
	// ever. lost is set when there may be such requests, leaked when there is such a
	// model.
	lost, leaked atomic.Bool

	mu    sync.Mutex
	wards map[string]*ward
}

// ward is a model that was loaded, or is to be.
type ward struct {
	name string
	// busy holds a token while somebody loads or unloads the model.
	busy chan struct{}

	// What follows is guarded by the mutex of health.
	overrides []override       // of the last load
	stubs     map[int]*watched // by process id
	python    bool             // it has, or had, processes
	crashed   string           // what happened to them while the model was busy
	hung      bool             // Triton doesn't return from its load
	strikes   int              // requests without an answer in a row
	fault     string           // why the model is broken; empty for a sound one
	sound     chan struct{}    // closed when it is brought back, or given up
	attempts  int              // to bring it back, since it last was sound for a while
	faults    int              // since the start
	healed    time.Time
}

// watched is a process of a model.
type watched struct {
	segment string // its shared memory
	old     bool   // a later load has replaced it, and Triton may end it
}

func newHealth(ctx context.Context, c *core) *health {
	h := &health{core: c, wards: map[string]*ward{}}
	h.ctx, h.stop = context.WithCancel(ctx)
	return h
}

func (h *health) ward(name string) *ward {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.wards[name]
	if w == nil {
		w = &ward{name: name, busy: make(chan struct{}, 1), stubs: map[int]*watched{}}
		h.wards[name] = w
	}
	return w
}

// check is nil for a model that isn't broken.
func (h *health) check(model string) error {
	if h.broken.Load() == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.wards[model]; w != nil && w.fault != "" {
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
	for name, w := range h.wards {
		if w.fault != "" {
			all[name] = w.fault
		}
	}
	return all
}

// ended takes note of how a stream of a model has ended: nil, or its error.
func (h *health) ended(model string, err error) {
	switch triton.VerdictOn(err) {
	case triton.SoundModel:
		h.forgive(model)
	case triton.DeadEngine:
		h.fail(model, "the engine in its process has died")
	case triton.SilentModel:
		h.strike(model)
	case triton.NoVerdict:
	}
}

func (h *health) forgive(model string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.wards[model]; w != nil {
		w.strikes = 0
	}
}

// strike counts a request that got no answer, unless the model has one for others.
func (h *health) strike(model string) {
	if h.core.queue.heard(model) {
		h.forgive(model)
		return
	}
	w := h.ward(model)
	h.mu.Lock()
	w.strikes++
	silent := w.strikes >= triton.StrikeLimit
	h.mu.Unlock()
	if silent && h.core.modelConfig(model).GetEnsembleScheduling() == nil { // the models that it is made of are to blame
		h.fail(model, "it doesn't answer")
	}
}

// fail has a model recover, unless it is being loaded or unloaded: that tells how
// it is.
func (h *health) fail(model, fault string) {
	w := h.ward(model)
	if len(w.busy) == 0 {
		h.recover(w, fault)
	}
}

// tookTooLong brings back a model whose load failed for its time.
func (h *health) tookTooLong(model string, err error) {
	if errors.Is(err, errCut) || errors.Is(err, errHung) {
		h.recover(h.ward(model), inference.AsError(err).Message)
	}
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n") // a Python stack follows
	return text
}
