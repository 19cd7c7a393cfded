package inference

import (
	"context"
	"log/slog"

	"go.uber.org/fx"
)

// Module provides the [Service] and the [Catalog] over the engines, whose order
// counts, and the backends of the graph, and follows the engines' models while
// the process runs.
var Module = fx.Module("inference", fx.Provide(newCatalog, New))

func newCatalog(lc fx.Lifecycle, engines []Engine, backends []Backend, templates Templates, dialects Dialects, tokenizers Tokenizers, log *slog.Logger) *Catalog {
	c := NewCatalog(engines, backends, templates, dialects, tokenizers, log)
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error { c.Start(); return nil },
		OnStop:  func(context.Context) error { c.Stop(); return nil },
	})
	return c
}
