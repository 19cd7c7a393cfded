package serving

import "go.uber.org/fx"

// Module provides the [Service], its admission controller and its meters, over the catalog of the
// graph.
var Module = fx.Module("serving", fx.Provide(New, (*Service).Admission, (*Service).Meters))
