package auth

import "go.uber.org/fx"

// Module provides the [Gate].
var Module = fx.Module("auth", fx.Provide(New))
