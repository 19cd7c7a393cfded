package server

import (
	"context"
	"log/slog"
	"net/http"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/web"
)

// Module serves while the application runs. The server depends on the routes, so that it
// starts after everything that the routes use and stops before it. The port opens when the
// [Listener] starts. Profiles are served if the graph uses the [Profiler].
var Module = fx.Module("server",
	fx.Provide(
		fx.Annotate(NewProfiler, fx.OnStart((*Profiler).Start), fx.OnStop((*Profiler).Stop)),
		fx.Annotate(NewListener, fx.OnStart((*Listener).Start), fx.OnStop((*Listener).Stop)),
		NewCertificates,
		NewTelemetry,
		func(c *admission.Controller) Core { return c },
		newCommon,
		func(m mounted) Routes { return m.Routes },
		fx.Annotate(newServer, fx.OnStart((*Server).Start), fx.OnStop((*Server).Stop)),
	),
	fx.Invoke(func(*Server) {}),
)

// commonParts are the fields of a [Common], from the graph.
type commonParts struct {
	fx.In

	Config       Config
	Certificates *Certificates
	Gate         *auth.Gate
	Core         Core
	Telemetry    *Telemetry
	Abort        context.CancelCauseFunc
	Log          *slog.Logger
}

func newCommon(p commonParts) Common {
	return Common{Config: p.Config, Certificates: p.Certificates, Gate: p.Gate, Core: p.Core, Telemetry: p.Telemetry, Abort: p.Abort, Log: p.Log}
}

// Routes are all routes that the modules of the graph mount.
type Routes []Route

// mounted has the routes of fx's group.
type mounted struct {
	fx.In

	Routes []Route `group:"routes"`
}

func newServer(c Common, listener *Listener, routes Routes) (*Server, error) {
	if !c.Config.Playground {
		return New(c, listener, append(routes, probe()))
	}
	page, err := playground(web.Playground())
	if err != nil {
		return nil, err
	}
	return New(c, listener, append(routes, page...))
}

// probe returns the route of HEAD / for a server without the playground. Clients of Anthropic's API send
// the request to find out whether the server is there. The playground's page has the route otherwise.
func probe() Route {
	return Route{Pattern: "HEAD /{$}", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
}
