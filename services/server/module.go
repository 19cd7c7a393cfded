package server

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
)

// Module opens the port before any other module starts, and serves while the
// application runs: from when everything is built until before it is taken down.
var Module = fx.Module("server",
	fx.Provide(
		fx.Annotate(NewListener, fx.OnStart((*Listener).Start), fx.OnStop((*Listener).Stop)),
		fx.Annotate(newServer, fx.ParamTags(``, ``, `group:"routes"`), fx.OnStart((*Server).Start), fx.OnStop((*Server).Stop)),
	),
	fx.Invoke(func(*Listener) {}),
	fx.Invoke(func(*Server) {}),
)

func newServer(cfg Config, listener *Listener, routes []Route, service *inference.Service, abort context.CancelCauseFunc, log *slog.Logger) (*Server, error) {
	return New(cfg, listener, routes, service, abort, log)
}
