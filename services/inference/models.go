package inference

import "context"

// LoadModel loads a model of an engine's repository and gives its card once
// requests for it are served. A model that is loaded already, or that no
// repository has, is [CodeInvalid]; an engine that lets nobody load models, as
// Triton outside of its explicit control mode, [CodeUnsupported]. Loads and
// unloads of one model take turns. A load isn't bounded by the limit of requests
// in flight, and the end of ctx doesn't stop it in the engine.
func (s *Service) LoadModel(ctx context.Context, name string) (*Card, error) {
	if err := MayUse(ctx, name); err != nil {
		return nil, err
	}
	ctx, leave, err := s.admission.EnterControl(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	card, err := s.catalog.Load(ctx, name)
	if err != nil {
		return nil, Cause(ctx, err)
	}
	return card, nil
}

// UnloadModel unloads a model and returns when it is gone: its requests in
// flight end first, new ones fail. Errors and turns are those of
// [Service.LoadModel]; a model that isn't loaded is [CodeInvalid].
func (s *Service) UnloadModel(ctx context.Context, name string) error {
	if err := MayUse(ctx, name); err != nil {
		return err
	}
	ctx, leave, err := s.admission.EnterControl(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.catalog.Unload(ctx, name); err != nil {
		return Cause(ctx, err)
	}
	return nil
}

// Control has a change made in the repository that holds a model: a load or an unload,
// by the state that it is in meanwhile. Changes of one model take turns; they have no
// limit and no deadline, as [Service.LoadModel]. Without any repository it is
// [CodeUnsupported].
func (s *Service) Control(ctx context.Context, model string, meanwhile ModelState, change func(context.Context, Repository) error) error {
	if err := MayUse(ctx, model); err != nil {
		return err
	}
	ctx, leave, err := s.admission.EnterControl(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.catalog.Change(ctx, model, meanwhile, change); err != nil {
		return Cause(ctx, err)
	}
	return nil
}
