package memory

import (
	"context"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/catalog"
)

// Module keeps the process below its memory limit while the application runs. It takes its
// [Config] from the graph.
var Module = fx.Module("memory",
	fx.Provide(New),
	fx.Invoke(func(m *Monitor, controller *admission.Controller, models *catalog.Catalog, lifecycle fx.Lifecycle) {
		lifecycle.Append(fx.StartStopHook(
			func(ctx context.Context) {
				controller.SetGuard(m.Guard(controller.Holdings))
				m.Start(ctx, models.Watch(context.Background()), controller.LimitBodies)
			},
			m.Stop,
		))
	}),
)
