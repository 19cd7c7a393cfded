package fleet

import (
	"log/slog"

	"go.uber.org/fx"
)

// Module provides the engine over several servers. It takes its [Config] from the graph.
var Module = fx.Module("fleet", fx.Provide(provide))

func provide(config Config, log *slog.Logger, lifecycle fx.Lifecycle) (*Engine, error) {
	engine, err := New(config, log)
	if err != nil {
		return nil, err
	}
	lifecycle.Append(fx.StartStopHook(engine.Start, engine.Stop))
	return engine, nil
}
