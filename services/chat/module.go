package chat

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/chat/dialect"
	"github.com/trident-inference/trident/services/inference"
)

// Module provides the compiler of chat templates and the dialects of answers.
var Module = fx.Module("chat", fx.Provide(
	fx.Annotate(func() Templates { return Templates{} }, fx.As(new(inference.Templates))),
	fx.Annotate(func() dialect.Dialects { return dialect.Dialects{} }, fx.As(new(inference.Dialects))),
))
