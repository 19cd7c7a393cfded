package server

import (
	"log/slog"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
)

// Module listens while the application runs. It is started last and stopped
// first, because everything else is built before it.
var Module = fx.Module("server",
	fx.Provide(fx.Annotate(newServer, fx.ParamTags(``, `group:"routes"`), fx.OnStart((*Server).Start), fx.OnStop((*Server).Stop))),
	fx.Invoke(func(*Server) {}),
)

func newServer(cfg Config, routes []Route, service *inference.Service, log *slog.Logger) (*Server, error) {
	return New(cfg, routes, service, log)
}
