package local

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
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
		all := each(err)
		others := all
		if config.ExitOnError { // the first failure is the reason of the stop, which is logged with it
			others = all[1:]
		}
		for _, one := range others {
			log.Error("model can't be loaded", "error", loadCause(one))
		}
		if config.ExitOnError {
			abort(startFailure(all))
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

// startFailure returns the reason why the models at start end the application: the first
// failure, on one line.
func startFailure(failed []error) error {
	more := ""
	if n := len(failed) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more can't be loaded", n)
	}
	cause := loadCause(failed[0])
	if !strings.HasPrefix(cause, "model ") {
		cause = "the models: " + cause
	}
	return configfield.Textf("can't load %s%s; %s=false serves the other models", cause, more, configfield.Field("local.ExitOnError"))
}

// loadFailed matches what Triton repeats in the error of a load: the name of the model, its state,
// and the code of the error.
var loadFailed = regexp.MustCompile(`load failed for model '[^']*': version \d+ is at UNAVAILABLE state: (?:(?:Internal|Invalid argument|Unavailable|Unsupported|Not found): )?`)

// loadCause returns the cause of a failed load on one line.
func loadCause(err error) string {
	return strings.TrimSuffix(loadFailed.ReplaceAllString(firstLine(err), ""), ";")
}

// firstLine returns the first line of an error. A Python stack may follow it.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// each returns the errors that errors.Join has joined.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
