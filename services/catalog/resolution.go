package catalog

import (
	"context"
	"slices"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Resolution is the model that the name in one request stands for. The request's limits, its plan,
// its engine and the fingerprint of its answer all come from the same Resolution, so that they
// describe one load of the model. [Catalog.Resolve] and [Catalog.ResolveOwn] create it by one
// lookup, before the request is admitted, and ask no engine. The documentation of a method states
// if it may ask the engines. Only one goroutine may use a Resolution at a time. The zero value has
// no model.
type Resolution struct {
	// Named has the name that the client sent. The card is nil while no model of that name is
	// known.
	Named

	catalog *Catalog
	known   *snapshot // the snapshot in which the name was looked up
	own     bool      // the lookup uses only the models' own names, no aliases and adapters
	shown   bool      // the lookup is for a description: an alias that is split stands for its main model

	asked *configAnswer // nil until the engine has been asked
}

// configAnswer is an engine's answer about the configuration of a model whose card isn't ready.
type configAnswer struct {
	config *kserve.ModelConfig
	err    error
}

// Resolve looks up a model by any of its names. Clients of text and embeddings may use them all.
func (c *Catalog) Resolve(name string) Resolution {
	r := Resolution{Named: Named{Name: name}, catalog: c}
	r.lookUp(c.known.Load())
	return r
}

// ResolveOwn looks up a model by its own name. Clients of KServe may use no other name.
func (c *Catalog) ResolveOwn(name string) Resolution {
	r := Resolution{Named: Named{Name: name}, catalog: c, own: true}
	r.lookUp(c.known.Load())
	return r
}

func (r *Resolution) lookUp(known *snapshot) {
	r.catalog.recordLookup()
	r.known, r.asked = known, nil
	if r.own {
		r.Card = known.cards[r.Name]
		return
	}
	assigned := r.Card
	r.Named = known.find(r.Name, r.catalog.cfg.LoRASeparator)
	s := known.splits[r.Name]
	switch {
	case s == nil || r.shown || known.cards[r.Name] != nil:
	case assigned != nil && s.stays(known, assigned.Name):
		r.Card = known.cards[assigned.Name]
	default:
		r.Card = s.next(known)
	}
}

// Renew looks the name up again if the catalog has changed since: the model may have been reloaded
// while the request waited in the queue. Values read from the Resolution before the call no longer
// apply.
func (r *Resolution) Renew() {
	if known := r.catalog.known.Load(); known != r.known {
		r.lookUp(known)
	}
}

// Confirm returns an error unless the name is that of a ready generation or embedding model that
// the client may use. For a model that is unknown or not ready, it first asks the engines, at most
// once a second. An adapter that the model is known not to have is [inference.CodeNotFound]. If the
// model's adapters aren't known, Confirm doesn't check the adapter.
func (r *Resolution) Confirm(ctx context.Context) error {
	if err := inference.MayUse(ctx, r.Name); err != nil {
		return err
	}
	if !r.ready() || r.Card.Fetching {
		if err := r.ask(ctx); err != nil {
			return err
		}
	}
	if r.LoRA != "" && r.Card.LoRAs != nil && !slices.Contains(r.Card.LoRAs, r.LoRA) {
		return errNoLoRA(r.Card.Name, r.LoRA)
	}
	if r.Card.Tasks == 0 {
		return errNotTextModel(r.Name, r.Card)
	}
	return nil
}

// ask asks the engines for a model that isn't ready. The error is the reason why it still isn't
// ready.
func (r *Resolution) ask(ctx context.Context) error {
	own := r.Name
	if r.Card != nil {
		own = r.Card.Name
	}
	_, err := r.catalog.Lookup(ctx, own)
	r.Renew()
	switch {
	case r.ready():
		return nil
	case err != nil:
		return err
	}
	return errNoModel(r.Name)
}

// Engine returns the engine whose answers about the model apply: the one where the model is ready,
// or else the first one that lists it, or else the first engine. A model that the client may not
// use is [inference.CodeNotFound]. If there are several engines and the model isn't ready, Engine
// asks them first, at most once a second.
func (r *Resolution) Engine(ctx context.Context) (inference.Engine, error) {
	if err := inference.MayUse(ctx, r.Name); err != nil {
		return nil, err
	}
	if len(r.catalog.engines) == 1 {
		return r.catalog.engines[0], nil
	}
	if !r.ready() {
		r.catalog.refresh(ctx, lookupInterval)
		r.Renew()
	}
	if r.Card == nil {
		return r.catalog.engines[0], nil
	}
	return r.Card.Engine, nil
}

// Config returns the model's configuration, which must not be changed. It comes from the model's
// card if the card is ready, or else from the engine. The engine is asked at most once.
func (r *Resolution) Config(ctx context.Context) (*kserve.ModelConfig, error) {
	engine, err := r.Engine(ctx)
	if err != nil {
		return nil, err
	}
	if r.ready() {
		return r.Card.Config, nil
	}
	describer, ok := engine.(inference.Describer)
	if !ok {
		if err := r.ask(ctx); err != nil {
			return nil, err
		}
		return r.Card.Config, nil
	}
	if r.asked == nil {
		answer, err := describer.ModelConfig(ctx, &kserve.ModelConfigRequest{Name: r.Name})
		r.asked = &configAnswer{answer.GetConfig(), err}
	}
	return r.asked.config, r.asked.err
}

// Decoupled reports whether the model may answer a request with any number of responses, by its
// configuration. It returns false if the model isn't ready.
func (r *Resolution) Decoupled(ctx context.Context) bool {
	config, err := r.Config(ctx)
	return err == nil && config.GetModelTransactionPolicy().GetDecoupled()
}

// Fingerprint returns the card's fingerprint, or "" if the model isn't ready.
func (r *Resolution) Fingerprint() string {
	if r.Card == nil {
		return ""
	}
	return r.Card.Fingerprint
}

// Model resolves and confirms a name, for callers without a request to the model.
func (c *Catalog) Model(ctx context.Context, name string) (Named, error) {
	r := Resolution{Named: Named{Name: name}, catalog: c, shown: true}
	r.lookUp(c.known.Load())
	if err := r.Confirm(ctx); err != nil {
		return Named{}, err
	}
	return r.Named, nil
}

// EngineOf is [Resolution.Engine] by a model's own name, for calls other than inferences.
func (c *Catalog) EngineOf(ctx context.Context, model string) (inference.Engine, error) {
	r := c.ResolveOwn(model)
	return r.Engine(ctx)
}

// recordLookup informs tests that a model is looked up by its name.
func (c *Catalog) recordLookup() {
	if c.onLookup != nil {
		c.onLookup()
	}
}
