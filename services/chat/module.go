package chat

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
)

// Module provides the compiler of chat templates.
var Module = fx.Module("chat", fx.Provide(fx.Annotate(func() Templates { return Templates{} }, fx.As(new(inference.Templates)))))
