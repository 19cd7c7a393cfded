package fleet

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/balance"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

// member is one endpoint of the fleet with its connection. Its methods may be called concurrently.
type member struct {
	place

	engine   *triton.Engine
	endpoint balance.Endpoint
	weight   atomic.Uint64 // bits of the float64
	fleet    *Engine
	log      *slog.Logger

	health health
	// listing has the models of the endpoint, as it listed them last. It is nil before the first
	// answer.
	listing atomic.Pointer[listing]
	// responses is the number of responses of all streams, which show that the server is alive.
	responses atomic.Uint64
	count     counts

	ctx  context.Context //nolint:containedctx // the lifetime of the endpoint in the list
	stop context.CancelFunc

	mu       sync.Mutex
	inFlight int
	gone     bool          // the endpoint is no longer in the list
	idle     chan struct{} // closed when the endpoint is gone and has no request in flight
	waiting  map[*run]waiter
}

// waiter is a request that waits for its first response.
type waiter struct {
	since  time.Time
	cancel context.CancelCauseFunc
}

// counts are the counters of an endpoint since its first appearance in the list.
type counts struct {
	requests, failures, repeats, outs atomic.Uint64
}

// listing has the models of an endpoint.
type listing struct {
	models []inference.Model
	groups []string // for each model: what requests of the model are encoded by, see groupOf
	at     time.Time
}

// newMember returns an endpoint that isn't started.
func (e *Engine) newMember(p place) (*member, error) {
	engine, err := triton.New(e.config.connection(p), e.log.With("endpoint", p.address))
	if err != nil {
		return nil, err
	}
	m := &member{
		place: p, engine: engine, fleet: e, log: e.log,
		health:  health{poke: make(triton.Changes, 1), stale: make(triton.Changes, 1)},
		idle:    make(chan struct{}),
		waiting: map[*run]waiter{},
	}
	m.ctx, m.stop = context.WithCancel(e.ctx)
	return m, nil
}

// start connects to the server and follows its health until retire.
func (m *member) start(weight float64) error {
	name := m.address
	if m.serverName != "" {
		name += " " + m.serverName // while the name of an address changes, both are there
	}
	var err error
	m.weight.Store(math.Float64bits(weight))
	if m.endpoint, err = m.fleet.balancer.Add(balance.Spec{Name: name, Weight: weight}); err != nil {
		return err
	}
	if err := m.engine.Start(m.ctx); err != nil {
		return err
	}
	m.fleet.work.Go(func() { m.follow(m.ctx) })
	return nil
}

// capacity returns the weight of the endpoint.
func (m *member) capacity() float64 { return math.Float64frombits(m.weight.Load()) }

// retire removes the endpoint: it takes no further requests, and its connection is closed once the
// last one has ended, or when the fleet stops.
func (m *member) retire() {
	m.stop()
	m.fleet.balancer.Remove(m.endpoint)
	m.mu.Lock()
	m.gone = true
	if m.inFlight == 0 {
		close(m.idle)
	}
	m.mu.Unlock()
	m.fleet.work.Go(func() {
		select {
		case <-m.idle:
		case <-m.fleet.ctx.Done():
		}
		_ = m.engine.Stop(context.Background()) // closes the connection; nothing can use it afterwards
	})
}

// enter counts a request. It returns false if the endpoint is gone.
func (m *member) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return false
	}
	m.inFlight++
	return true
}

func (m *member) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight--
	if m.inFlight == 0 && m.gone {
		close(m.idle)
	}
}

// load returns the number of requests in flight.
func (m *member) load() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inFlight
}

// await registers a request that waits for its first response and may be repeated elsewhere. It is
// cancelled if the endpoint is taken out.
func (m *member) await(r *run, cancel context.CancelCauseFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting[r] = waiter{time.Now(), cancel}
}

// arrived ends await.
func (m *member) arrived(r *run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.waiting, r)
}

// abandon cancels the requests that have waited for their first response since a time.
func (m *member) abandon(why *inference.Error, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.waiting {
		if !w.since.After(since) {
			w.cancel(why)
		}
	}
}

// refresh asks the server for its models. The previous listing stays if the server doesn't answer.
func (m *member) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	models, err := m.engine.Models(ctx)
	if err != nil {
		return err
	}
	fresh := &listing{models: models, groups: make([]string, len(models)), at: time.Now()}
	for i := range models {
		fresh.groups[i] = groupOf(&models[i])
	}
	m.listing.Store(fresh)
	return nil
}

// listLimit is the time limit for the list of a server's models.
const listLimit = 5 * time.Second

// differs reports whether the server has another configuration of a model now than the one that a
// request was encoded for. It is one call, which costs less than the request that failed.
func (m *member) differs(ctx context.Context, encoded *inference.Model) bool {
	if encoded == nil || encoded.State != inference.ModelReady {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	answer, err := m.engine.ModelConfig(ctx, &kserve.ModelConfigRequest{Name: encoded.Name, Version: encoded.Version})
	if err != nil {
		return false
	}
	if groupOf(&inference.Model{Version: encoded.Version, State: inference.ModelReady, Config: answer.GetConfig()}) == groupOf(encoded) {
		return false
	}
	m.health.relistNow()
	return true
}
