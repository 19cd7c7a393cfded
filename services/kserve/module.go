package kserve

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/server"
)

// Module mounts KServe v2 on the shared port and, where that is asked for, serves it by
// gRPC on a port of its own. Its ports, REST's too, are opened before any other module
// starts.
var Module = fx.Module("kserve",
	fx.Provide(
		New,
		fx.Annotate(NewListener, fx.OnStart((*Listener).Start), fx.OnStop((*Listener).Stop)),
		fx.Annotate(NewServer, fx.OnStart((*Server).Start), fx.OnStop((*Server).Stop)),
		fx.Annotate(NewRoutes, fx.ResultTags(`group:"routes,flatten"`)),
	),
	fx.Invoke(func(*server.Listener, *Listener) {}),
	fx.Invoke(func(*Server) {}),
)
