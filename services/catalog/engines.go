package catalog

import (
	"context"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Engines are all, the preferred ones first.
func (c *Catalog) Engines() []inference.Engine { return c.engines }

// EngineOf is the engine whose answers on a model count: where it is ready, or
// else the first that lists it. For a model that none has it is the first. A model
// that the client may not use is [inference.CodeNotFound].
func (c *Catalog) EngineOf(ctx context.Context, model string) (inference.Engine, error) {
	if err := inference.MayUse(ctx, model); err != nil {
		return nil, err
	}
	return c.engineOf(ctx, model), nil
}

func (c *Catalog) engineOf(ctx context.Context, model string) inference.Engine {
	if len(c.engines) == 1 {
		return c.engines[0]
	}
	card := c.Card(model)
	if card == nil || card.State != inference.ModelReady {
		c.refresh(ctx, lookupInterval)
		card = c.Card(model)
	}
	if card == nil {
		return c.engines[0]
	}
	return card.Engine
}

// Decoupled tells whether a model answers a request with any number of responses,
// as its configuration says; a model that isn't ready doesn't.
func (c *Catalog) Decoupled(ctx context.Context, model string) bool {
	config, err := c.ConfigOf(ctx, model)
	return err == nil && config.GetModelTransactionPolicy().GetDecoupled()
}

// ConfigOf is a model's configuration: the one of its card, which must not be
// changed, or of a model that has none, what its engine says.
func (c *Catalog) ConfigOf(ctx context.Context, model string) (*kserve.ModelConfig, error) {
	engine, err := c.EngineOf(ctx, model)
	if err != nil {
		return nil, err
	}
	if card := c.Card(model); card != nil && card.State == inference.ModelReady {
		return card.Config, nil
	}
	describer, ok := engine.(inference.Describer)
	if !ok {
		named, err := c.Find(ctx, model)
		if err != nil {
			return nil, err
		}
		return named.Card.Config, nil
	}
	answer, err := describer.ModelConfig(ctx, &kserve.ModelConfigRequest{Name: model})
	return answer.GetConfig(), err
}

// Fingerprint is that of the model which serves a name now, empty where none does.
func (c *Catalog) Fingerprint(ctx context.Context, name string) string {
	named, err := c.Model(ctx, name)
	if err != nil {
		return ""
	}
	return named.Card.Fingerprint
}
