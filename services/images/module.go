package images

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
)

// Module provides what reads the pictures of requests. It takes its [Config] from the
// graph.
var Module = fx.Module("images", fx.Provide(fx.Annotate(New, fx.As(new(inference.ImageReader)))))
