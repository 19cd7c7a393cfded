package images

import (
	"go.uber.org/fx"
)

// Module provides the reader of images. It takes its [Config] from the graph.
var Module = fx.Module("images", fx.Provide(New))
