package backend

import (
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
)

// Module provides the backends, in the order in which they are asked whether a
// model is theirs.
var Module = fx.Module("backend", fx.Provide(func() []inference.Backend {
	return []inference.Backend{VLLM{}}
}))
