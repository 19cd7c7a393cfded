package modelfiles

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
)

// Module provides the [Library]. It takes its [Config] from the graph.
var Module = fx.Module("models", fx.Provide(provide, func(l *Library) inference.Library { return l }))

func provide(lc fx.Lifecycle, config Config, log *slog.Logger) *Library {
	library := New(config, log)
	lc.Append(fx.Hook{OnStop: func(context.Context) error { library.Stop(); return nil }})
	return library
}
