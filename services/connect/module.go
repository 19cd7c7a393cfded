package connect

import (
	"go.uber.org/fx"
)

// Module mounts the typed services on the shared port.
var Module = fx.Module("connect",
	fx.Provide(
		NewChatService,
		fx.Annotate(NewRoute, fx.ResultTags(`group:"routes"`)),
	),
)
