package openai

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/server"
)

// Module mounts the frontend under all paths that no other frontend takes.
var Module = fx.Module("openai",
	fx.Provide(
		New,
		(*Handler).Seals,
		fx.Annotate(func(h *Handler) server.Route {
			return server.Route{Pattern: "/", Handler: h}
		}, fx.ResultTags(`group:"routes"`)),
	),
)
