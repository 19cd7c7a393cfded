package server

import (
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
)

// Route is a handler that a frontend mounts, with its [http.ServeMux] pattern.
type Route struct {
	Pattern string
	Handler http.Handler
	// Record is the record of the route. Nil means the record of the pattern, or that of a
	// [Router].
	Record *auth.Record
	// Refuse responds to a request that the core refuses before anything of it is read, in
	// the form of the route's API. Nil means the form of OpenAI's API, or a [Refuser]'s own.
	Refuse func(w http.ResponseWriter, r *http.Request, err error)
	// Header limits the route to requests with this header, in canonical form. They go to this route
	// even if a route without a header has the same pattern.
	Header string
}

// Refuser is a handler that responds to requests that the core refuses before anything of
// them is read.
type Refuser interface {
	Refuse(w http.ResponseWriter, r *http.Request, err error)
}

// Router is a handler with routes of its own.
type Router interface {
	http.Handler
	// Record returns the record of the route that would serve a request.
	Record(r *http.Request) *auth.Record
}

// Mux finds the route of each request. The gate and the core admit the request by the
// route's record before the route's handler gets it. Mux may be used concurrently.
type Mux struct {
	routes table
	headed map[string]table // the routes that are limited to requests with a header, by the header
	gate   *auth.Gate
	core   Core
}

// table finds routes by patterns.
type table struct {
	mux    *http.ServeMux
	routes map[string]Route // the routes by their patterns
}

func newTable() table { return table{mux: http.NewServeMux(), routes: map[string]Route{}} }

// add adds a route.
func (t table) add(route Route) {
	t.routes[route.Pattern] = route
	t.mux.Handle(route.Pattern, route.Handler)
}

// NewMux returns a mux of routes. It returns an error if a route has no record.
func NewMux(gate *auth.Gate, core Core, routes []Route) (*Mux, error) {
	m := &Mux{routes: newTable(), headed: map[string]table{}, gate: gate, core: core}
	for _, route := range routes {
		if _, routes := route.Handler.(Router); !routes && route.Record == nil {
			if route.Record = auth.Find(route.Pattern); route.Record == nil {
				return nil, errNoRecord(route.Pattern)
			}
		}
		if refuser, ok := route.Handler.(Refuser); ok && route.Refuse == nil {
			route.Refuse = refuser.Refuse
		}
		if route.Header == "" {
			m.routes.add(route)
			continue
		}
		if _, known := m.headed[route.Header]; !known {
			m.headed[route.Header] = newTable()
		}
		m.headed[route.Header].add(route)
	}
	return m, nil
}

func errNoRecord(route string) error {
	return fmt.Errorf("the route %s has no record in services/auth, which determines the access to it", route)
}

// match is the handler that serves a request, and the record of its route.
type match struct {
	handler http.Handler
	record  *auth.Record
	refuse  func(w http.ResponseWriter, r *http.Request, err error) // nil means the form of OpenAI's API
}

// find returns the match of a request. A request that is redirected to the clean form of its
// path gets the record of the route at the clean path.
func (m *Mux) find(r *http.Request) match {
	for header, routes := range m.headed {
		if r.Header.Get(header) != "" {
			if found, ok := routes.find(r); ok {
				return found
			}
		}
	}
	found, _ := m.routes.find(r)
	return found
}

// find returns the match of a request, and whether the table has a route for the request.
func (t table) find(r *http.Request) (match, bool) {
	handler, pattern := t.mux.Handler(r)
	route, found := t.routes[pattern]
	if !found {
		return match{handler: handler, record: auth.Unmatched(auth.Pages)}, false
	}
	if router, routes := route.Handler.(Router); routes {
		return match{handler, router.Record(r), route.Refuse}, true
	}
	return match{handler, route.Record, route.Refuse}, true
}

// Record returns the record of the route that would serve a request.
func (m *Mux) Record(r *http.Request) *auth.Record { return m.find(r).record }

// ServeHTTP serves requests that the gate and the core admit.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.serve(m.find(r), w, r) }

// matched returns a handler for requests whose route has been found already.
func (m *Mux) matched() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(RecordOf(r.Context()).match, w, r) })
}

func (m *Mux) serve(found match, w http.ResponseWriter, r *http.Request) {
	rec := RecordOf(r.Context())
	rec.matched(found.record)
	ctx, err := m.gate.Admit(r.Context(), found.record, r.Header.Values) //nolint:contextcheck // the request's context, and below that of its arrival
	if err != nil && found.ownForm() {
		found.writeRefusal(w, r, err)
		return
	}
	if err != nil {
		deny(w, r, found.record, err)
		return
	}
	if client := inference.ClientOf(ctx); client != nil {
		rec.Client = client.Name
	}
	runs := found.record.Effect == auth.Runs
	counts := runs || r.ContentLength != 0 && found.record.Access != auth.Open // probes are answered even if the server is full
	if rec.arrival == nil && counts {                                          // a platform's request gets here twice
		if rec.arrival = m.core.Arrive(ctx); rec.arrival != nil {
			ctx = rec.arrival
			defer rec.arrival.Leave()
		}
	}
	if ctx != r.Context() {
		r = r.WithContext(ctx)
	}
	rec.decodes = rec.decodes || runs
	if runs {
		admit := rec.arrival.Admit
		if found.record.Cost == auth.Model {
			admit = rec.arrival.AdmitModel
		}
		if err := admit(); err != nil {
			found.writeRefusal(w, r, err)
			return
		}
	}
	found.handler.ServeHTTP(w, r)
}

// ownForm reports whether errors of the route's API have forms that the server doesn't know.
func (m match) ownForm() bool {
	return m.refuse != nil && (m.record.API == auth.Anthropic || m.record.API == auth.Encoders)
}

// writeRefusal responds to a request that the core has refused.
func (m match) writeRefusal(w http.ResponseWriter, r *http.Request, err error) {
	if m.refuse == nil {
		deny(w, r, m.record, err)
		return
	}
	m.refuse(w, r, err)
}

// Operations is a mux of the operations of an API for the handlers that oapi-codegen
// generates. Each operation must have a record.
type Operations struct {
	api     auth.API
	mux     *http.ServeMux
	unknown []string // patterns without a record
}

// NewOperations returns a mux without operations.
func NewOperations(api auth.API) *Operations {
	return &Operations{api: api, mux: http.NewServeMux()}
}

// HandleFunc adds an operation.
func (o *Operations) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	if auth.FindOf(o.api, pattern) == nil {
		o.unknown = append(o.unknown, pattern)
	}
	o.mux.HandleFunc(pattern, handler)
}

// Refuse sets the handler of requests that match no operation.
func (o *Operations) Refuse(pattern string, handler http.HandlerFunc) { o.mux.Handle(pattern, handler) }

// Err returns an error if an operation has no record.
func (o *Operations) Err() error {
	if len(o.unknown) == 0 {
		return nil
	}
	return errNoRecord(strings.Join(o.unknown, ", "))
}

// Record implements [Router].
func (o *Operations) Record(r *http.Request) *auth.Record {
	_, pattern := o.mux.Handler(r)
	if record := auth.FindOf(o.api, pattern); record != nil {
		return record
	}
	return auth.Unmatched(o.api)
}

// ServeHTTP implements [http.Handler].
func (o *Operations) ServeHTTP(w http.ResponseWriter, r *http.Request) { o.mux.ServeHTTP(w, r) }

// CallErrors returns the error of an RPC in the form of its service, and records it for the
// log.
type CallErrors func(rec *Record, err error) error

// Refuse is [Route.Refuse] of procedures. A request that isn't a call gets the form of
// OpenAI's API.
func (e CallErrors) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	if !errorWriter.IsSupported(r) {
		deny(w, r, auth.Unmatched(auth.Procedure), err)
		return
	}
	_ = errorWriter.Write(w, r, e(RecordOf(r.Context()), err)) // the client may have disconnected
}

// Procedures returns the routes of a service of gRPC and Connect, for the path and the
// handler of the generated code. There is one route for each method, and one for other paths
// of the service.
func Procedures(path string, handler http.Handler, failed CallErrors) ([]Route, error) {
	name := protoreflect.FullName(strings.Trim(path, "/"))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", name, err)
	}
	service, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is not a service", name)
	}
	routes := []Route{{Pattern: path, Handler: handler, Record: auth.Unmatched(auth.Procedure), Refuse: failed.Refuse}}
	for i := range service.Methods().Len() {
		routes = append(routes, Route{Pattern: path + string(service.Methods().Get(i).Name()), Handler: handler, Refuse: failed.Refuse})
	}
	return routes, nil
}
