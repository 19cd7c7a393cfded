package connect

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/server"
)

// Module mounts the typed services on the shared port.
var Module = fx.Module("connect",
	fx.Provide(
		NewChatService,
		fx.Annotate(func(s *ChatService) server.Route {
			path, handler := tridentv1connect.NewChatServiceHandler(s)
			return server.Route{Pattern: path, Handler: handler}
		}, fx.ResultTags(`group:"routes"`)),
	),
)
