package chat

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/toolparser"
)

// Module provides the compiler of chat templates and the dialects of answers.
var Module = fx.Module("chat", fx.Provide(
	fx.Annotate(func() Templates { return Templates{} }, fx.As(new(inference.Templates))),
	fx.Annotate(func() toolparser.Dialects { return toolparser.Dialects{} }, fx.As(new(inference.Dialects))),
))
