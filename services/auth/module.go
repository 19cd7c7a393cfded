package auth

import "go.uber.org/fx"

// Module provides the gate.
var Module = fx.Module("auth", fx.Provide(New))
