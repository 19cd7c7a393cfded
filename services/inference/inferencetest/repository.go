package inferencetest

import (
	"context"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Control enables loads and unloads of models, as Triton's explicit mode does. Before Control is
// called, loads and unloads are refused. A load calls loading, which may be nil, and fails with
// its error.
func (e *Engine) Control(loading func(model string) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.explicit, e.loading = true, loading
}

// RepositoryIndex lists the models.
func (e *Engine) RepositoryIndex(context.Context, *kserve.RepositoryIndexRequest) (*kserve.RepositoryIndexResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	index := &kserve.RepositoryIndexResponse{}
	for name, m := range e.models {
		index.Models = append(index.Models, &kserve.RepositoryIndexResponse_ModelIndex{
			Name: name, Version: m.Version, State: string(m.State), Reason: m.Reason,
		})
	}
	return index, e.down
}

// RepositoryModelLoad makes a model ready.
func (e *Engine) RepositoryModelLoad(_ context.Context, req *kserve.RepositoryModelLoadRequest) (*kserve.RepositoryModelLoadResponse, error) {
	loading, err := e.control()
	if err == nil && loading != nil {
		err = loading(req.GetModelName())
	}
	if err == nil {
		e.SetState(req.GetModelName(), inference.ModelReady, "")
	}
	return &kserve.RepositoryModelLoadResponse{}, err
}

// RepositoryModelUnload unloads a model once no stream is running. An unknown model isn't an
// error.
func (e *Engine) RepositoryModelUnload(_ context.Context, req *kserve.RepositoryModelUnloadRequest) (*kserve.RepositoryModelUnloadResponse, error) {
	if _, err := e.control(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if m, known := e.models[req.GetModelName()]; known {
		m.State = inference.ModelUnloading
		e.models[req.GetModelName()] = m
		e.finishUnloads()
	}
	return &kserve.RepositoryModelUnloadResponse{}, nil
}

func (e *Engine) control() (loading func(string) error, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.down != nil:
		return nil, e.down
	case !e.explicit:
		return nil, &inference.Error{
			Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented,
			Message: "explicit model load / unload is not allowed if polling is enabled",
		}
	}
	return e.loading, nil
}

// finishUnloads marks unloading models as unloaded if no stream is running. The caller holds mu.
func (e *Engine) finishUnloads() {
	for name, m := range e.models {
		if e.active == 0 && m.State == inference.ModelUnloading {
			m.State, m.Reason = inference.ModelUnavailable, "unloaded"
			e.models[name] = m
		}
	}
}
