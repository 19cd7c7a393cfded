package rest

import "go.uber.org/fx"

// Module mounts REST on the shared port. If KServe's own ports are enabled, Module also
// serves REST on a separate port, which services/kserve opens.
var Module = fx.Module("kserve-rest",
	fx.Provide(
		New,
		fx.Annotate(NewServer, fx.OnStart((*Server).Start), fx.OnStop((*Server).Stop)),
		fx.Annotate(NewRoutes, fx.ResultTags(`group:"routes,flatten"`)),
	),
	fx.Invoke(func(*Server) {}),
)
