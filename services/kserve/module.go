package kserve

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/server"
)

// Module mounts KServe v2 on the shared port and, where that is asked for, serves
// it by gRPC and by REST on ports of their own. All ports are opened before any
// other module starts.
var Module = fx.Module("kserve",
	fx.Provide(
		New,
		fx.Annotate(NewListener, fx.OnStart((*Listener).Start), fx.OnStop((*Listener).Stop)),
		fx.Annotate(NewServer, fx.OnStart((*Server).Start), fx.OnStop((*Server).Stop)),
		NewREST,
		fx.Annotate(RESTRoutes, fx.ResultTags(`group:"routes,flatten"`)),
		fx.Annotate(NewRESTServer, fx.OnStart((*RESTServer).Start), fx.OnStop((*RESTServer).Stop)),
		fx.Annotate(NewRoutes, fx.ResultTags(`group:"routes,flatten"`)),
	),
	fx.Invoke(func(*server.Listener, *Listener) {}),
	fx.Invoke(func(*Server, *RESTServer) {}),
)
