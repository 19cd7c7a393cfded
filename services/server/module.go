package server

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/web"
)

// Module opens the ports before any other module starts, and serves while the
// application runs: from when everything is built until before it is taken down.
// Profiles are served from the first moment to the last.
var Module = fx.Module("server",
	fx.Provide(
		fx.Annotate(NewProfiler, fx.OnStart((*Profiler).Start), fx.OnStop((*Profiler).Stop)),
		fx.Annotate(NewListener, fx.OnStart((*Listener).Start), fx.OnStop((*Listener).Stop)),
		NewCertificates,
		NewTelemetry,
		fx.Annotate(newServer, fx.ParamTags(``, ``, ``, ``, `group:"routes"`), fx.OnStart((*Server).Start), fx.OnStop((*Server).Stop)),
	),
	fx.Invoke(func(*Listener, *Profiler) {}),
	fx.Invoke(func(*Server) {}),
)

func newServer(cfg Config, listener *Listener, certificates *Certificates, gate *auth.Gate, routes []Route, controller *admission.Controller, telemetry *Telemetry, abort context.CancelCauseFunc, log *slog.Logger) (*Server, error) {
	if cfg.Playground {
		page, err := playground(web.Playground())
		if err != nil {
			return nil, err
		}
		routes = append(routes, page...)
	}
	return New(cfg, listener, certificates, gate, routes, controller, telemetry, abort, log)
}
