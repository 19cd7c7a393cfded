package fleet

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/services/balance"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

var (
	_ inference.Engine             = (*Engine)(nil)
	_ inference.Forwarder          = (*Engine)(nil)
	_ inference.Caller             = (*Engine)(nil)
	_ inference.Describer          = (*Engine)(nil)
	_ inference.StatisticsReporter = (*Engine)(nil)
	_ inference.Repository         = (*Engine)(nil)
	_ inference.SharedMemory       = (*Engine)(nil)
	_ inference.Settings           = (*Engine)(nil)
	_ inference.MixedCounter       = (*Engine)(nil)
	_ inference.Remote             = (*Engine)(nil)
	_ inference.Notifier           = (*Engine)(nil)
	_ inference.EndpointReporter   = (*Engine)(nil)
	_ inference.Placer             = (*Engine)(nil)
	_ inference.Drainer            = (*Engine)(nil)
)

// Engine is the engine over all endpoints.
type Engine struct {
	config   Config
	log      *slog.Logger
	balancer *balance.Balancer
	budget   budget
	// sequences has the endpoints of sequences away from their homes.
	sequences sequences
	changed   triton.Changes
	began     time.Time

	routes atomic.Pointer[routes]
	// complete is set once all endpoints of the start have been asked for their models.
	complete atomic.Bool
	// epoch changes when an endpoint comes, goes, is taken out or in, or lists other models.
	epoch atomic.Uint64
	// refusals is the number of repeats of requests that the budget refused, and mixed that of the
	// mixed responses of endpoints that are gone.
	refusals, mixed atomic.Uint64

	ctx  context.Context //nolint:containedctx // the lifetime of the engine
	stop context.CancelFunc
	work sync.WaitGroup

	// refreshing serializes refreshes of all listings. It is a channel so that the wait can end
	// with the request.
	refreshing chan struct{}
	refreshed  time.Time // guarded by refreshing

	mu      sync.Mutex
	sources []*followed       // the configured endpoints, once started
	members []*member         // the endpoints in the order of their addresses
	drained map[string]*drain // the endpoints that an operator has drained, by address
	warned  map[string]string
}

// New checks the configuration. The engine accepts requests after Start.
func New(config Config, log *slog.Logger) (*Engine, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	balancer, err := balance.New(balance.Config{Policy: config.Policy, SlowStart: slowStart, Random: rand.NewPCG(rand.Uint64(), rand.Uint64())}) //nolint:gosec // no secret
	if err != nil {
		return nil, err
	}
	e := &Engine{
		config: config, log: log, balancer: balancer, changed: make(triton.Changes, 1), began: time.Now(),
		refreshing: make(chan struct{}, 1), drained: map[string]*drain{}, warned: map[string]string{},
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.routes.Store(routesOf(nil, nil))
	sources, err := config.sources()
	if err != nil {
		return nil, err
	}
	// The files of the connections are read once before the start.
	if _, err := triton.New(config.connection(sources[0].probe()), log); err != nil {
		return nil, err
	}
	return e, nil
}

// Start starts to connect to the endpoints and doesn't wait for them.
func (e *Engine) Start(context.Context) error { return e.Update(e.config.Endpoints) } //nolint:contextcheck // endpoints live until the engine stops

// Stop closes all connections. Requests in flight fail with [inference.CodeUnavailable].
func (e *Engine) Stop(context.Context) error {
	e.stop()
	e.mu.Lock()
	for _, m := range e.members {
		m.retire() //nolint:contextcheck // the engine stops
	}
	e.members = nil
	e.mu.Unlock()
	e.work.Wait()
	return nil
}

// Address returns the configured endpoints, comma-separated.
func (e *Engine) Address() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.sources) == 0 {
		return strings.Join(e.config.Endpoints, ",")
	}
	list := make([]string, len(e.sources))
	for i, s := range e.sources {
		list[i] = s.text
	}
	return strings.Join(list, ",")
}

// Changed implements [inference.Notifier].
func (e *Engine) Changed() <-chan struct{} { return e.changed }

// Mixed implements [inference.MixedCounter].
func (e *Engine) Mixed() uint64 {
	all := e.mixed.Load()
	for _, m := range e.all() {
		all += m.engine.Mixed()
	}
	return all
}

// elapsed returns the time for the balancer.
func (e *Engine) elapsed() time.Duration { return time.Since(e.began) }

// all returns all endpoints in the order of their addresses.
func (e *Engine) all() []*member { return e.routes.Load().all.members }

// shift makes the next requests choose between the present endpoints.
func (e *Engine) shift() {
	e.epoch.Add(1)
	e.changed.Notify()
}

// reroute makes the routes by the present listings, and logs new differences between endpoints.
func (e *Engine) reroute() {
	e.mu.Lock()
	defer e.mu.Unlock()
	fresh := routesOf(slices.Clone(e.members), e.routes.Load())
	e.routes.Store(fresh)
	e.epoch.Add(1)
	for name, r := range fresh.models {
		text := strings.Join(r.model.Differing, "; ")
		if text != e.warned[name] && text != "" {
			e.log.Warn("endpoints differ in a model: requests go to those with the configuration that most have", "model", name, "served_by", len(r.current.members), "others", text)
		}
		if text == "" {
			delete(e.warned, name)
		} else {
			e.warned[name] = text
		}
	}
}

// choose takes an endpoint for the next attempt of a request.
func (e *Engine) choose(r *run) (*member, error) {
	if e.ctx.Err() != nil {
		return nil, errStopped
	}
	g, listed := e.routes.Load().of(r.model, r.version)
	if !listed || !e.complete.Load() {
		e.refresh(r.ctx, lookupInterval)
		if r.ctx.Err() != nil {
			return nil, triton.Ended(r.ctx, r.ctx.Err())
		}
		g, listed = e.routes.Load().of(r.model, r.version)
	}
	if r.listed, r.encoded = listed, g.encoded; len(g.members) == 0 {
		return nil, e.errNone()
	}
	c := g.candidates(e.epoch.Load(), time.Now())
	if r.sequence != "" {
		if m := e.sequences.choose(r, c); m != nil {
			r.assignment = e.balancer.Assign(m.endpoint, &r.request)
			return m, nil
		}
	}
	if len(c.members) == 0 {
		return nil, errDrained()
	}
	if m := r.takePlaced(c); m != nil {
		return m, nil
	}
	a, ok := c.choose(e.balancer, e.elapsed(), r)
	if !ok && r.attempts == 0 && g != e.groupOf(r) { // the endpoints were replaced in this instant
		return e.choose(r)
	}
	if !ok {
		return nil, e.errNone()
	}
	r.assignment = a
	for _, m := range c.members {
		if m.endpoint == a.Endpoint {
			return m, nil
		}
	}
	return nil, e.errNone() // can't happen: the set has the members' endpoints
}

// groupOf returns the endpoints that can serve a request now.
func (e *Engine) groupOf(r *run) *group {
	g, _ := e.routes.Load().of(r.model, r.version)
	return g
}

// lookupInterval is the minimum interval between refreshes for models that no endpoint lists.
const lookupInterval = time.Second

// refresh asks the endpoints for their models, unless the last refresh is less than minAge ago.
// Endpoints that are out aren't asked unless all are. It returns the errors by endpoint.
func (e *Engine) refresh(ctx context.Context, minAge time.Duration) (asked []*member, errs []error) {
	select {
	case e.refreshing <- struct{}{}:
		defer func() { <-e.refreshing }()
	case <-ctx.Done():
		return nil, nil
	}
	recent := minAge > 0 && time.Since(e.refreshed) < minAge
	if e.lookedUp(ctx) && recent {
		return nil, nil
	}
	e.mu.Lock()
	members := slices.Clone(e.members)
	e.mu.Unlock()
	asked = inOnly(members)
	errs = make([]error, len(asked))
	var asking sync.WaitGroup
	for i, m := range asked {
		asking.Go(func() { errs[i] = m.refresh(ctx) })
	}
	asking.Wait()
	e.refreshed = time.Now()
	e.reroute()
	e.complete.Store(true)
	return asked, errs
}

// inOnly returns the endpoints that aren't out, or all if all are out.
func inOnly(members []*member) []*member {
	in := slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return m.health.out.Load() })
	if len(in) == 0 {
		return members
	}
	return in
}

// Models implements [inference.Engine]: the models of all endpoints, each as most endpoints have
// it. It returns an error if no endpoint answers.
func (e *Engine) Models(ctx context.Context) ([]inference.Model, error) {
	asked, errs := e.refresh(ctx, 0)
	if ctx.Err() != nil {
		return nil, triton.Ended(ctx, ctx.Err())
	}
	if e.ctx.Err() != nil {
		return nil, errStopped
	}
	if len(asked) == 0 {
		return nil, e.errNone()
	}
	if !slices.Contains(errs, nil) {
		return nil, named(asked, errs)
	}
	r := e.routes.Load()
	list := make([]inference.Model, 0, len(r.models))
	for _, known := range r.models {
		list = append(list, known.model)
	}
	slices.SortFunc(list, func(a, b inference.Model) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Ready returns nil if an endpoint is ready.
func (e *Engine) Ready(ctx context.Context) error {
	if e.ctx.Err() != nil {
		return errStopped
	}
	e.lookedUp(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	members := undrained(e.all())
	if len(members) == 0 && len(e.all()) > 0 {
		return errDrained()
	}
	members = inOnly(members)
	answers := make(chan error, len(members))
	var asking sync.WaitGroup
	defer asking.Wait()
	for _, m := range members {
		asking.Go(func() { answers <- m.engine.Ready(ctx) })
	}
	var failed error
	for range members {
		err := <-answers
		if err == nil {
			cancel()
			return nil
		}
		if failed == nil {
			failed = err
		}
	}
	if failed == nil {
		return e.errNone()
	}
	return failed
}
