package metrics

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/memory"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/state"
)

// Module mounts the metrics page on the shared port and, with [Config.Own], on a
// separate port.
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

// Parts are the sources of the page, from the graph: the service, the telemetry of the
// ports, the gate, the settings and the memory.
type Parts struct {
	fx.In

	Service   *serving.Service
	Telemetry *server.Telemetry
	Gate      *auth.Gate
	Settings  Settings
	Memory    Memory
	Stores    state.Stores `optional:"true"` // empty if nothing is shared
}
