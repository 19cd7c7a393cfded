package memory

import (
	"context"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
)

// Module keeps the process below its memory limit while the application runs. It takes its
// [Config] from the graph.
var Module = fx.Module("memory",
	fx.Provide(New),
	fx.Invoke(func(m *Monitor, admission *inference.Controller, models *catalog.Catalog, lifecycle fx.Lifecycle) {
		lifecycle.Append(fx.StartStopHook(
			func(ctx context.Context) {
				admission.SetGuard(m.Guard(admission.Holdings))
				m.Start(ctx, models.Watch(context.Background()), admission.LimitBodies)
			},
			m.Stop,
		))
	}),
)
