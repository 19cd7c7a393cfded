package tracing

import "go.uber.org/fx"

// Module provides the tracers, which may be nil, and sends their spans while the process runs.
var Module = fx.Module("tracing", fx.Provide(
	fx.Annotate(New, fx.OnStart((*Provider).Start), fx.OnStop((*Provider).Stop)),
	(*Provider).Tracers,
))
