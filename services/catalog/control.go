package catalog

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Load loads a model of an engine's repository and returns its card once requests for it are
// served. A model that is loaded already, or that no repository has, is [inference.CodeInvalid]; an
// engine that lets nobody load models, as Triton outside of its explicit control mode,
// [inference.CodeUnsupported]. Loads and unloads of one model take turns. The end of ctx doesn't stop
// a load in the engine.
func (c *Catalog) Load(ctx context.Context, name string) (*Card, error) {
	done, err := c.turns.take(ctx, name)
	if err != nil {
		return nil, err
	}
	defer done()
	held, err := c.hold(ctx, name)
	if err != nil {
		return nil, err
	}
	switch {
	case !held.listed: // Triton's words; a name of a client's own doesn't get to where it is a path
		return nil, held.refuse(ctx, inference.ReasonModelNotFound, "failed to load '%s', failed to poll from model repository", name)
	case held.state == inference.ModelReady:
		return nil, held.refuse(ctx, inference.ReasonModelLoaded, "the model `%s` is already loaded", name)
	case held.state == inference.ModelLoading || held.state == inference.ModelUnloading:
		return nil, errBusy(name, held.state)
	}
	if c.known.Load().cards[name] == nil { // it is new
		c.refresh(ctx, 0)
	}
	loaded := c.changing(ctx, held.engine, name, inference.ModelLoading)
	_, err = held.repository.RepositoryModelLoad(ctx, &kserve.RepositoryModelLoadRequest{ModelName: name})
	loaded()
	c.refresh(ctx, 0)
	if err != nil {
		return nil, err
	}
	return c.Lookup(ctx, name)
}

// Unload unloads a model and returns when it is gone: its requests in flight end first, new
// ones fail. Errors and turns are those of Load; a model that isn't loaded is [inference.CodeInvalid].
func (c *Catalog) Unload(ctx context.Context, name string) error {
	done, err := c.turns.take(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	held, err := c.hold(ctx, name)
	if err != nil {
		return err
	}
	switch held.state {
	case inference.ModelReady:
	case inference.ModelLoading:
		return errBusy(name, held.state)
	case inference.ModelNeverLoaded, inference.ModelUnloading, inference.ModelUnavailable:
		return held.refuse(ctx, inference.ReasonModelNotFound, "unknown model `%s`: it does not exist or is not loaded", name)
	}
	unloaded := c.changing(ctx, held.engine, name, inference.ModelUnloading) // requests are told at once
	_, err = held.repository.RepositoryModelUnload(ctx, &kserve.RepositoryModelUnloadRequest{ModelName: name})
	if err == nil {
		err = held.awaitUnloaded(ctx)
	}
	unloaded()
	c.refresh(ctx, 0)
	return err
}

// Change has a change made in the repository that holds a model: a load or an unload, by the
// state that the model is in meanwhile. Changes of one model take turns.
func (c *Catalog) Change(ctx context.Context, model string, meanwhile inference.ModelState, change func(context.Context, inference.Repository) error) error {
	done, err := c.turns.take(ctx, model)
	if err != nil {
		return err
	}
	defer done()
	held, err := c.holder(ctx, model)
	if err != nil {
		return err
	}
	changed := c.changing(ctx, held.engine, model, meanwhile)
	err = change(ctx, held.repository)
	changed()
	c.refresh(ctx, 0) // requests are told at once
	return err
}

func errBusy(name string, state inference.ModelState) *inference.Error {
	return &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Param: "model", RetryAfter: 2 * time.Second,
		Message: fmt.Sprintf("the model `%s` is %s", name, strings.ToLower(string(state))),
	}
}

// holding is what an engine's repository says of a model.
type holding struct {
	name       string
	engine     inference.Engine
	repository inference.Repository // the engine's
	listed     bool
	state      inference.ModelState // the zero value for a model that isn't listed
}

// hold finds the repository whose model it is: the first where it is ready, or
// else the first that lists it. For one that none lists it gives the first.
func (c *Catalog) hold(ctx context.Context, name string) (*holding, error) {
	var best *holding
	var away error
	for _, e := range c.engines {
		repository, ok := e.(inference.Repository)
		if !ok {
			continue
		}
		h := &holding{name: name, engine: e, repository: repository}
		switch err := h.look(ctx); {
		case err != nil:
			away = err
		case h.state == inference.ModelReady:
			return h, nil
		case best == nil || h.listed && !best.listed:
			best = h
		}
	}
	switch {
	case away != nil && (best == nil || !best.listed): // it may be there
		return nil, away
	case best == nil:
		return nil, &inference.Error{Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Message: "models can't be loaded and unloaded here"}
	}
	return best, nil
}

// holder finds the repository that holds a model; a single engine's isn't asked.
func (c *Catalog) holder(ctx context.Context, model string) (*holding, error) {
	if len(c.engines) == 1 {
		if repository, ok := c.engines[0].(inference.Repository); ok {
			return &holding{name: model, engine: c.engines[0], repository: repository}, nil
		}
	}
	return c.hold(ctx, model)
}

// look asks for the state of the model: the one of its versions that tells most.
func (h *holding) look(ctx context.Context) error {
	index, err := h.repository.RepositoryIndex(ctx, &kserve.RepositoryIndexRequest{})
	if err != nil {
		return err
	}
	h.listed, h.state = false, inference.ModelNeverLoaded
	weight := map[inference.ModelState]int{inference.ModelReady: 4, inference.ModelLoading: 3, inference.ModelUnloading: 2, inference.ModelUnavailable: 1}
	for _, row := range index.GetModels() {
		if row.GetName() != h.name {
			continue
		}
		h.listed = true
		if state := inference.ModelState(row.GetState()); weight[state] > weight[h.state] {
			h.state = state
		}
	}
	return nil
}

// refuse gives an error about the model, unless the engine refuses all loads:
// then its own, which says more. An engine tells that only when it is asked for a
// change, so it is asked to unload what no model is named, which changes nothing.
func (h *holding) refuse(ctx context.Context, reason, format string, args ...any) error {
	_, err := h.repository.RepositoryModelUnload(ctx, &kserve.RepositoryModelUnloadRequest{ModelName: noModel})
	if err != nil && inference.AsError(err).Code == inference.CodeUnsupported {
		return err
	}
	return &inference.Error{Code: inference.CodeInvalid, Reason: reason, Param: "model", Message: fmt.Sprintf(format, args...)}
}

// noModel is no model's name, as it can't be a folder's.
const noModel = "/"

// Pauses between two looks at a model that is being unloaded.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// awaitUnloaded waits for the end of the model's requests in flight.
func (h *holding) awaitUnloaded(ctx context.Context) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := h.look(ctx); err != nil || h.state != inference.ModelUnloading {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// turns lets changes of one model run one after the other.
type turns struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // by model; closed when the turn ends
}

// take waits for a turn, which done ends.
func (t *turns) take(ctx context.Context, name string) (done func(), err error) {
	for {
		t.mu.Lock()
		busy := t.taken[name]
		if busy == nil {
			ended := make(chan struct{})
			if t.taken == nil {
				t.taken = map[string]chan struct{}{}
			}
			t.taken[name] = ended
			t.mu.Unlock()
			return func() { t.end(name, ended) }, nil
		}
		t.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (t *turns) end(name string, ended chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.taken, name)
	close(ended)
}
