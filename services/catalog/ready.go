package catalog

import (
	"context"
	"fmt"

	"github.com/trident-inference/trident/services/inference"
)

// Ready returns nil if three conditions hold. Every engine accepts requests. Every engine has
// listed its models since it became ready. All required models are ready: the named ones, or else
// those that were ready when Ready first returned nil. Another model that is loading or broken is
// no reason to send the requests for all models to another server.
func (c *Catalog) Ready(ctx context.Context, named ...string) error {
	required := named
	if was := c.required.Load(); was != nil && len(named) == 0 {
		required = *was
	}
	news := false
	for _, e := range c.engines {
		err := e.Ready(ctx)
		if err == nil {
			continue
		}
		// The engine is live but has models that aren't ready. The same models may have been ready
		// at the last refresh.
		if len(required) > 0 && inference.AsError(err).Reason == inference.ReasonModelNotReady && c.announcedBy(ctx, e) {
			news = true
			continue
		}
		c.stale.Store(true)
		return err
	}
	if c.stale.Load() {
		c.refresh(ctx, 0)
		if known := c.known.Load(); known.err != nil {
			return known.err
		}
		if !c.announcedAll(ctx) {
			return errStarting
		}
		c.stale.Store(false)
	}
	if news {
		c.refresh(ctx, 0)
	}
	if err := c.unreadyReason(ctx, required, len(named) > 0); err != nil {
		return err
	}
	if c.required.Load() == nil {
		var names []string
		for _, card := range c.Cards() {
			if card.State == inference.ModelReady {
				names = append(names, card.Name)
			}
		}
		c.required.CompareAndSwap(nil, &names)
	}
	return nil
}

// unreadyReason returns the reason why one of the models isn't ready. Before that, it refreshes the
// models once. A model that isn't named explicitly may have been unloaded on purpose.
func (c *Catalog) unreadyReason(ctx context.Context, names []string, named bool) error {
	for again := false; ; again = true {
		known, missing := c.known.Load(), ""
		for _, name := range names {
			card := known.cards[name]
			if gone := card == nil || card.State == inference.ModelNeverLoaded || card.State == inference.ModelUnloading || card.Reason == "unloaded"; gone && named || !gone && card.State != inference.ModelReady {
				missing = name
				break
			}
		}
		switch card := known.cards[missing]; {
		case missing == "":
			return nil
		case !again:
			c.refresh(ctx, lookupInterval)
		case card != nil && card.Reason != "":
			return errNotReady(missing, card.Reason)
		case card != nil && card.State != inference.ModelNeverLoaded:
			return errBusy(missing, card.State)
		default:
			return errNotReady(missing, "it isn't loaded")
		}
	}
}

func errNotReady(model, reason string) error {
	return &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, RetryAfter: lookupInterval, Message: fmt.Sprintf("the model `%s` isn't ready: %s", model, reason)}
}

// announcedBy reports whether the models of the engine's start are known.
func (c *Catalog) announcedBy(ctx context.Context, e inference.Engine) bool {
	select {
	case c.refreshing <- struct{}{}:
		defer func() { <-c.refreshing }()
		return c.announced[e]
	case <-ctx.Done():
		return false
	}
}
