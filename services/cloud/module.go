package cloud

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/server"
)

// Module serves the platforms' endpoints that the configuration asks for.
var Module = fx.Module("platform",
	fx.Provide(fx.Annotate(newEndpoints, fx.ParamTags(``, ``, ``, `group:"routes"`), fx.OnStart((*Endpoints).Start), fx.OnStop((*Endpoints).Stop))),
	fx.Invoke(func(*Endpoints) {}),
)

func newEndpoints(cfg Config, shared server.Config, gate *auth.Gate, routes []server.Route, controller *admission.Controller, models *catalog.Catalog, telemetry *server.Telemetry, abort context.CancelCauseFunc, log *slog.Logger) (*Endpoints, error) {
	return New(cfg, shared, gate, routes, controller, models, telemetry, abort, log)
}
