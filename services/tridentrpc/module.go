package tridentrpc

import (
	"go.uber.org/fx"
)

// Module mounts the typed services on the shared port.
var Module = fx.Module("connect",
	fx.Provide(
		New,
		fx.Annotate(NewRoutes, fx.ResultTags(`group:"routes,flatten"`)),
	),
)
