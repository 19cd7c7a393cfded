package memory

import (
	"context"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
)

// Module keeps the process below its memory limit while the application runs. It takes its
// [Config] from the graph.
var Module = fx.Module("memory",
	fx.Provide(New),
	fx.Invoke(func(m *Monitor, service *inference.Service, lifecycle fx.Lifecycle) {
		lifecycle.Append(fx.StartStopHook(
			func(ctx context.Context) {
				service.SetGuard(m.Guard(service.Holdings))
				m.Start(ctx, service.Watch(context.Background()), service.LimitBodies)
			},
			m.Stop,
		))
	}),
)
