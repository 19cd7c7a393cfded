package serving

import (
	"context"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
)

// LoadModel is [catalog.Catalog.Load] for a client that may use the model. It isn't bounded
// by the limit of requests in flight.
func (s *Service) LoadModel(ctx context.Context, name string) (*catalog.Card, error) {
	if err := inference.MayUse(ctx, name); err != nil {
		return nil, err
	}
	ctx, leave, err := s.admission.EnterControl(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	card, err := s.catalog.Load(ctx, name)
	if err != nil {
		return nil, inference.Cause(ctx, err)
	}
	return card, nil
}

// UnloadModel is [catalog.Catalog.Unload] for a client that may use the model. It isn't
// bounded by the limit of requests in flight.
func (s *Service) UnloadModel(ctx context.Context, name string) error {
	if err := inference.MayUse(ctx, name); err != nil {
		return err
	}
	ctx, leave, err := s.admission.EnterControl(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.catalog.Unload(ctx, name); err != nil {
		return inference.Cause(ctx, err)
	}
	return nil
}

// Control is [catalog.Catalog.Change] for a client that may use the model. A change has no
// limit and no deadline. Without any repository it is [inference.CodeUnsupported].
func (s *Service) Control(ctx context.Context, model string, meanwhile inference.ModelState, change func(context.Context, inference.Repository) error) error {
	if err := inference.MayUse(ctx, model); err != nil {
		return err
	}
	ctx, leave, err := s.admission.EnterControl(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.catalog.Change(ctx, model, meanwhile, change); err != nil {
		return inference.Cause(ctx, err)
	}
	return nil
}
