package encoders

import (
	"go.uber.org/fx"
)

// Module mounts the frontend beside that of OpenAI's API.
var Module = fx.Module("encoders",
	fx.Provide(
		New,
		fx.Annotate(NewRoutes, fx.ResultTags(`group:"routes,flatten"`)),
	),
)
