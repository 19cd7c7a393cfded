package kserve

import (
	"go.uber.org/fx"
)

// Module mounts KServe v2 on the shared port. With [Config.Enabled], Module also
// serves KServe v2 over gRPC on a separate port, and opens that port together with
// REST's port.
var Module = fx.Module("kserve",
	fx.Provide(
		New,
		fx.Annotate(NewListener, fx.OnStart((*Listener).Start), fx.OnStop((*Listener).Stop)),
		fx.Annotate(NewServer, fx.OnStart((*Server).Start), fx.OnStop((*Server).Stop)),
		fx.Annotate(NewRoutes, fx.ResultTags(`group:"routes,flatten"`)),
	),
	fx.Invoke(func(*Server) {}),
)
