package catalog

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/tokenizer"
)

// Module provides the [Catalog] over the engines and backends of the graph. The order of the
// engines is their preference. The catalog follows the engines' models while the process runs.
var Module = fx.Module("catalog", fx.Provide(newCatalog))

func newCatalog(lc fx.Lifecycle, parts Parts) *Catalog {
	c := Of(parts)
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error { c.Start(); return nil },
		OnStop:  func(context.Context) error { c.Stop(); return nil },
	})
	return c
}

// Parts are the dependencies of a catalog in the graph.
type Parts struct {
	fx.In

	Config Config

	Engines    []inference.Engine // engines in order of preference: models of the first engine win
	Backends   []inference.Backend
	Tokenizers *tokenizer.Folders
	Library    inference.Library
	Overrides  []inference.Override
	Log        *slog.Logger
}

// Of returns a catalog that isn't started.
func Of(p Parts) *Catalog {
	c := New(p.Config, p.Engines, p.Backends, p.Tokenizers, p.Log)
	c.Consult(p.Library, p.Overrides)
	return c
}
