package images

import (
	"go.uber.org/fx"
)

// Module provides what reads the pictures of requests. It takes its [Config] from the
// graph.
var Module = fx.Module("images", fx.Provide(New))
