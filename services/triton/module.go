package triton

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
)

// Module adds the remote engine to the group "engines". It takes its [Config]
// from the graph.
var Module = fx.Module("triton", fx.Provide(
	fx.Annotate(provide, fx.ResultTags(`group:"engines"`)),
))

func provide(config Config, lifecycle fx.Lifecycle) (inference.Engine, error) {
	engine, err := New(config)
	if err != nil {
		return nil, err
	}
	lifecycle.Append(fx.StartStopHook(engine.Start, engine.Stop))
	return engine, nil
}
