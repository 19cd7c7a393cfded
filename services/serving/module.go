package serving

import "go.uber.org/fx"

// Module provides the [Service], and its admission and meters, over the catalog of the graph.
var Module = fx.Module("serving", fx.Provide(New, (*Service).Admission, (*Service).Meters))
