package local

import (
	"context"
	"log/slog"
	"strings"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
)

// Module adds the in-process engine to the group "engines". It takes its
// [Config] from the graph. Models that can't be loaded at start are logged; under
// [Config.ExitOnError] they end the application.
var Module = fx.Module("local", fx.Provide(
	fx.Annotate(provide, fx.ResultTags(`group:"engines"`)),
))

func provide(config Config, lifecycle fx.Lifecycle, shutdown fx.Shutdowner, log *slog.Logger) (inference.Engine, error) {
	engine, err := New(config, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	watched := make(chan struct{})
	watch := func() {
		defer close(watched)
		err := engine.AwaitModels(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		for line := range strings.Lines(err.Error()) {
			log.Error("model can't be loaded", "error", strings.TrimSpace(line))
		}
		if config.ExitOnError {
			_ = shutdown.Shutdown(fx.ExitCode(1)) // fails when it is under way
		}
	}
	lifecycle.Append(fx.StartStopHook(
		func(ctx context.Context) error {
			if err := engine.Start(ctx); err != nil {
				close(watched)
				return err
			}
			go watch()
			return nil
		},
		func(ctx context.Context) error {
			cancel()
			<-watched
			return engine.Stop(ctx)
		},
	))
	return engine, nil
}
