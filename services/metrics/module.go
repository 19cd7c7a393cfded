package metrics

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/memory"
)

// Module mounts the page on the shared port and, where that is asked for, on a port of
// its own.
var Module = fx.Module("metrics",
	fx.Provide(
		func(m *memory.Monitor) Memory { return m },
		NewPage,
		fx.Annotate(NewListener, fx.OnStart((*Listener).Start), fx.OnStop((*Listener).Stop)),
		fx.Annotate(NewServer, fx.OnStart((*Server).Start), fx.OnStop((*Server).Stop)),
		fx.Annotate(Routes, fx.ResultTags(`group:"routes,flatten"`)),
	),
	fx.Invoke(func(*Server) {}),
)
