package local

import (
	"context"
	"log/slog"
	"strings"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/configfield"
)

// Module provides the in-process engine. It takes its [Config] from the graph.
// Models that can't be loaded at start are logged. With [Config.ExitOnError] they
// end the application by the graph's CancelCauseFunc.
var Module = fx.Module("local", fx.Provide(provide))

func provide(config Config, lifecycle fx.Lifecycle, abort context.CancelCauseFunc, log *slog.Logger) (*Engine, error) {
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
		for _, one := range each(err) {
			text, _, _ := strings.Cut(one.Error(), "\n") // a Python stack follows
			log.Error("model can't be loaded", "error", text)
		}
		if config.ExitOnError {
			abort(configfield.Textf("a model can't be loaded at start (%s): the log has its name and the reason", configfield.Field("local.ExitOnError")))
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

// each returns the errors that errors.Join has joined.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
