package cloud

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/server"
)

// Module serves the configured endpoints of platforms.
var Module = fx.Module("platform",
	fx.Provide(
		fx.Annotate(NewListeners, fx.OnStart((*Listeners).Start), fx.OnStop((*Listeners).Stop)),
		fx.Annotate(newEndpoints, fx.OnStart((*Endpoints).Start), fx.OnStop((*Endpoints).Stop)),
	),
	fx.Invoke(func(*Endpoints) {}),
)

func newEndpoints(cfg Config, listeners *Listeners, common server.Common, routes server.Routes, models *catalog.Catalog) (*Endpoints, error) {
	return New(cfg, listeners, common, routes, models)
}
