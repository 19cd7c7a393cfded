package anthropic

import "go.uber.org/fx"

// Module mounts the frontend beside that of OpenAI's API.
var Module = fx.Module("anthropic",
	fx.Provide(
		New,
		fx.Annotate(NewRoutes, fx.ResultTags(`group:"routes,flatten"`)),
	),
)
