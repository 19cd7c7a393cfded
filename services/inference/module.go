package inference

import (
	"context"
	"log/slog"

	"go.uber.org/fx"
)

// Module provides the [Catalog] over the engines, whose order counts, and the backends of
// the graph, and follows the engines' models while the process runs.
var Module = fx.Module("catalog", fx.Provide(newCatalog))

func newCatalog(lc fx.Lifecycle, parts Parts) *Catalog {
	c := CatalogOf(parts)
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error { c.Start(); return nil },
		OnStop:  func(context.Context) error { c.Stop(); return nil },
	})
	return c
}

// Parts of a catalog, from the graph.
type Parts struct {
	fx.In

	Config CatalogConfig

	Engines    []Engine // first the one whose models win
	Backends   []Backend
	Templates  Templates
	Dialects   Dialects
	Tokenizers Tokenizers
	Library    Library
	Overrides  []Override
	Log        *slog.Logger
}

// CatalogOf makes a catalog that nobody has started.
func CatalogOf(p Parts) *Catalog {
	c := NewCatalog(p.Config, p.Engines, p.Backends, p.Templates, p.Dialects, p.Tokenizers, p.Log)
	c.Consult(p.Library, p.Overrides)
	return c
}
