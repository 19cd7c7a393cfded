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

// Load loads a model of an engine's repository. It returns the model's card once requests for the
// model are served. A model that is already loaded, or that no repository has, is
// [inference.CodeInvalid]. An engine that doesn't allow loads, such as Triton outside of its
// explicit control mode, is [inference.CodeUnsupported]. Loads and unloads of one model run one
// after the other. The end of ctx doesn't stop a load in the engine.
func (c *Catalog) Load(ctx context.Context, name string) (*Card, error) {
	done, err := c.turns.take(ctx, name)
	if err != nil {
		return nil, err
	}
	defer done()
	held, err := c.findInRepository(ctx, name)
	if err != nil {
		return nil, err
	}
	switch {
	case !held.listed: // Triton's message; unlisted names never reach the repository, where names are paths
		return nil, held.refuse(ctx, inference.ReasonModelNotFound, "failed to load '%s', failed to poll from model repository", name)
	case held.state == inference.ModelReady:
		return nil, held.refuse(ctx, inference.ReasonModelLoaded, "the model `%s` is already loaded", name)
	case held.state == inference.ModelLoading || held.state == inference.ModelUnloading:
		return nil, errBusy(name, held.state)
	}
	if c.known.Load().cards[name] == nil { // the model is new
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

// Unload unloads a model and returns when it is unloaded. Requests in flight end first; new
// requests fail. Loads and unloads of one model run one after the other. Errors are those of Load;
// a model that isn't loaded is [inference.CodeInvalid].
func (c *Catalog) Unload(ctx context.Context, name string) error {
	done, err := c.turns.take(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	held, err := c.findInRepository(ctx, name)
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
	unloaded := c.changing(ctx, held.engine, name, inference.ModelUnloading) // new requests fail from now on
	_, err = held.repository.RepositoryModelUnload(ctx, &kserve.RepositoryModelUnloadRequest{ModelName: name})
	if err == nil {
		err = held.awaitUnloaded(ctx)
	}
	unloaded()
	c.refresh(ctx, 0)
	return err
}

// Change calls the function change with the repository that has a model, to load or unload the model. Until the
// function returns, the model is shown in the state that the argument meanwhile has. Changes of one model run
// one after the other.
func (c *Catalog) Change(ctx context.Context, model string, meanwhile inference.ModelState, change func(context.Context, inference.Repository) error) error {
	done, err := c.turns.take(ctx, model)
	if err != nil {
		return err
	}
	defer done()
	held, err := c.findOwner(ctx, model)
	if err != nil {
		return err
	}
	changed := c.changing(ctx, held.engine, model, meanwhile)
	err = change(ctx, held.repository)
	changed()
	c.refresh(ctx, 0) // requests see the change at once
	return err
}

func errBusy(name string, state inference.ModelState) *inference.Error {
	return &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Param: "model", RetryAfter: 2 * time.Second,
		Message: fmt.Sprintf("the model `%s` is %s", name, strings.ToLower(string(state))),
	}
}

// repositoryModel is the state of a model in an engine's repository.
type repositoryModel struct {
	name       string
	engine     inference.Engine
	repository inference.Repository // the repository of engine
	listed     bool
	state      inference.ModelState // the zero value for a model that isn't listed
}

// findInRepository returns the repository of a model: the first one where the model is ready, or else the first
// one that lists it. If no repository lists the model, findInRepository returns the first one.
func (c *Catalog) findInRepository(ctx context.Context, name string) (*repositoryModel, error) {
	var best *repositoryModel
	var away error
	for _, e := range c.engines {
		repository, ok := e.(inference.Repository)
		if !ok {
			continue
		}
		h := &repositoryModel{name: name, engine: e, repository: repository}
		switch err := h.readState(ctx); {
		case err != nil:
			away = err
		case h.state == inference.ModelReady:
			return h, nil
		case best == nil || h.listed && !best.listed:
			best = h
		}
	}
	switch {
	case away != nil && (best == nil || !best.listed): // the engine that failed may have the model
		return nil, away
	case best == nil:
		return nil, &inference.Error{Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Message: "this server can't load or unload models"}
	}
	return best, nil
}

// findOwner returns the repository that has a model. It doesn't ask the engine if there is only one.
func (c *Catalog) findOwner(ctx context.Context, model string) (*repositoryModel, error) {
	if len(c.engines) == 1 {
		if repository, ok := c.engines[0].(inference.Repository); ok {
			return &repositoryModel{name: model, engine: c.engines[0], repository: repository}, nil
		}
	}
	return c.findInRepository(ctx, model)
}

// readState reads the state of the model: that of the version with the most significant state.
func (h *repositoryModel) readState(ctx context.Context) error {
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

// refuse returns an error about the model. If the engine refuses all loads, refuse returns the engine's error
// instead, which is more specific. Engines report that they refuse all loads only when a load or an unload is
// requested. Therefore refuse asks for the unload of a name that no model has, which changes nothing.
func (h *repositoryModel) refuse(ctx context.Context, reason inference.Reason, format string, args ...any) error {
	_, err := h.repository.RepositoryModelUnload(ctx, &kserve.RepositoryModelUnloadRequest{ModelName: noModel})
	if err != nil && inference.AsError(err).Code == inference.CodeUnsupported {
		return err
	}
	return &inference.Error{Code: inference.CodeInvalid, Reason: reason, Param: "model", Message: fmt.Sprintf(format, args...)}
}

// noModel is a name that no model has, because a folder can't have it.
const noModel = "/"

// The first and the longest pause between two checks of a model that is being unloaded.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// awaitUnloaded waits until the model's requests in flight have ended.
func (h *repositoryModel) awaitUnloaded(ctx context.Context) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := h.readState(ctx); err != nil || h.state != inference.ModelUnloading {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// turns serializes changes of the same model.
type turns struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // models that are being changed, by name; the channel is closed when the change ends
}

// take waits for other changes of the model to end. The caller must call done after its change.
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
