package state

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/configfield"
)

// Config has the URLs of the stores. An empty URL shares nothing.
type Config struct {
	// Responses is the store of responses, which package openai checks.
	Responses string
	// Limits is the store of rates. If both URLs are equal, the stores have one connection.
	Limits string
}

// Validate returns an error that names the invalid field.
func (c Config) Validate() error {
	if c.Limits == "" {
		return nil
	}
	if err := Check(c.Limits); err != nil {
		return configfield.Errorf("state.Limits", "%w", err)
	}
	return nil
}

// Stores are the open stores, which are nil if there is none. Both are the same if they have one URL.
type Stores struct {
	Responses, Limits *Store
	// Rates are the buckets in the store of limits.
	Rates *Rates
}

// Ready returns nil once both stores can be used, and otherwise the reason.
func (s Stores) Ready(ctx context.Context) error {
	for _, store := range []*Store{s.Responses, s.Limits} {
		if store == nil {
			continue
		}
		if err := store.Ready(ctx); err != nil {
			return err
		}
	}
	if s.Rates == nil {
		return nil
	}
	return s.Rates.Ready(ctx)
}

// Module opens the stores of the configuration.
var Module = fx.Module("state", fx.Provide(open))

// opened are the parts that others need: the stores, that of responses, and the shared rates.
type opened struct {
	fx.Out

	Stores    Stores
	Responses *Store
	Rates     *Rates
}

func open(cfg Config, log *slog.Logger, lifecycle fx.Lifecycle) (o opened, err error) {
	if cfg.Responses != "" {
		if o.Responses, err = openOne(cfg.Responses, log, lifecycle); err != nil {
			return o, err
		}
	}
	o.Stores = Stores{Responses: o.Responses, Limits: o.Responses}
	if cfg.Limits != cfg.Responses {
		o.Stores.Limits = nil
	}
	if cfg.Limits == "" {
		return o, nil
	}
	if o.Stores.Limits == nil {
		if o.Stores.Limits, err = openOne(cfg.Limits, log, lifecycle); err != nil {
			return o, err
		}
	}
	o.Rates = NewRates(o.Stores.Limits)
	o.Stores.Rates = o.Rates
	lifecycle.Append(fx.StartStopHook(o.Rates.Start, o.Rates.Stop))
	return o, nil
}

func openOne(address string, log *slog.Logger, lifecycle fx.Lifecycle) (*Store, error) {
	s, err := Open(address, log)
	if err == nil {
		lifecycle.Append(fx.StartStopHook(s.Start, s.Stop))
	}
	return s, err
}
