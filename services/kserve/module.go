package kserve

import (
	"go.uber.org/fx"
)

// Module mounts KServe v2 on the shared port. If enabled, it also serves it over gRPC
// on a separate port, which it opens together with REST's.
var Module = fx.Module("kserve",
	fx.Provide(
		New,
		fx.Annotate(NewListener, fx.OnStart((*Listener).Start), fx.OnStop((*Listener).Stop)),
		fx.Annotate(NewServer, fx.OnStart((*Server).Start), fx.OnStop((*Server).Stop)),
		fx.Annotate(NewRoutes, fx.ResultTags(`group:"routes,flatten"`)),
	),
	fx.Invoke(func(*Server) {}),
)
