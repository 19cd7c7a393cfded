package catalog

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// Watch follows the changes of the models until Close. Its first item is the current state. Only
// one goroutine may use it at a time.
type Watch struct {
	catalog *Catalog
	client  *inference.Client
	updates chan struct{} // has one element while an item waits

	mu      sync.Mutex
	waiting []*snapshot
}

// watchDepth is the maximum number of changes that wait for a watcher. A watcher that falls further
// behind receives only the last one.
const watchDepth = 16

// Watch follows the models that the client under the context may use.
func (c *Catalog) Watch(ctx context.Context) *Watch {
	w := &Watch{catalog: c, client: inference.ClientOf(ctx), updates: make(chan struct{}, 1)}
	ws := &c.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.all == nil {
		ws.all = map[*Watch]struct{}{}
	}
	ws.all[w] = struct{}{}
	w.notify(c.known.Load())
	return w
}

// Updates returns a channel that has an element when [Watch.Next] has an item.
func (w *Watch) Updates() <-chan struct{} { return w.updates }

// Next returns the oldest change that the watcher hasn't received. It must be called once after
// each receipt from Updates.
func (w *Watch) Next() *Known {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.waiting[0]
	w.waiting = slices.Delete(w.waiting, 0, 1)
	if len(w.waiting) > 0 {
		w.signal()
	}
	return w.catalog.knownOf(k, w.client)
}

// Close ends the watch.
func (w *Watch) Close() {
	ws := &w.catalog.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.all, w)
}

func (w *Watch) notify(k *snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == watchDepth {
		w.waiting = slices.Delete(w.waiting, 0, watchDepth)
	}
	w.waiting = append(w.waiting, k)
	w.signal()
}

func (w *Watch) signal() {
	select {
	case w.updates <- struct{}{}:
	default:
	}
}

// watches are all watchers of the catalog.
type watches struct {
	mu  sync.Mutex
	all map[*Watch]struct{}
}

func (ws *watches) notify(k *snapshot) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.all {
		w.notify(k)
	}
}

// publish publishes fresh unless it equals the current state: requests in the queue look up their
// models again only after a change. The caller holds refreshing.
func (c *Catalog) publish(fresh *snapshot) {
	old := c.known.Load()
	same := maps.Equal(old.cards, fresh.cards)
	if same && old.err == nil && fresh.err == nil {
		return
	}
	c.name(fresh)
	c.known.Store(fresh)
	if same {
		return
	}
	c.watches.notify(fresh)
	if fresh.hasPendingState() {
		select {
		case c.moved <- struct{}{}:
		default:
		}
	}
}

// hasPendingState reports whether the state of some model is about to change.
func (k *snapshot) hasPendingState() bool {
	for _, card := range k.cards {
		if card.State == inference.ModelLoading || card.State == inference.ModelUnloading || card.Recovering {
			return true
		}
	}
	return false
}

// changes are the loads and unloads in progress, by model. The engine's description of such a model
// may be out of date.
type changes struct {
	mu     sync.Mutex
	states map[string]inference.ModelState
}

// override returns a model in the state that applies during its change. A model that is served stays
// ready while it is reloaded.
func (cs *changes) override(m inference.Model) inference.Model {
	cs.mu.Lock()
	state := cs.states[m.Name]
	cs.mu.Unlock()
	switch {
	case state == inference.ModelLoading && m.State != inference.ModelReady, state == inference.ModelUnloading && m.State == inference.ModelReady:
		m.State, m.Reason, m.Recovering, m.Config = state, "", false, nil
	}
	return m
}

func (cs *changes) set(model string, state inference.ModelState) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.states == nil {
		cs.states = map[string]inference.ModelState{}
	}
	cs.states[model] = state
}

func (cs *changes) end(model string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.states, model)
}

// changing shows a model as loading or unloading until end is called. The caller must refresh the
// models after that. If the engine is going to refuse the change, changing shows nothing. The
// caller must have taken the model's turn.
func (c *Catalog) changing(ctx context.Context, e inference.Engine, model string, state inference.ModelState) (end func()) {
	if !c.Controllable(ctx, e) {
		return func() {}
	}
	c.changes.set(model, state)
	c.showChange(ctx, e, model)
	return func() { c.changes.end(model) }
}

func (c *Catalog) showChange(ctx context.Context, e inference.Engine, model string) {
	select {
	case c.refreshing <- struct{}{}:
		defer func() { <-c.refreshing }()
	case <-ctx.Done():
		return
	}
	old := c.known.Load()
	card := old.cards[model]
	if card == nil || card.Engine != e {
		return
	}
	shown := c.changes.override(inference.Model{
		Name: card.Name, Version: card.Version, Versions: card.Versions, State: card.State, Reason: card.Reason, Recovering: card.Recovering, Config: card.Config,
	})
	if card.same(shown) {
		return
	}
	fresh := &snapshot{cards: maps.Clone(old.cards), err: old.err}
	fresh.cards[model] = c.card(card, e, shown, nil)
	c.publish(fresh)
}

// pendingInterval is the first pause before the engines are asked again while some model is being
// loaded, unloaded or recovered. A change by another client may end soon. The pauses double,
// because the load of a large model takes minutes.
const pendingInterval = 500 * time.Millisecond

// refreshOnChange refreshes the models when an engine reports a change, until ctx ends.
func (c *Catalog) refreshOnChange(ctx context.Context, n inference.Notifier) {
	for {
		select {
		case <-n.Changed():
			c.refresh(ctx, 0)
		case <-ctx.Done():
			return
		}
	}
}

// follow refreshes the models at intervals until ctx ends.
func (c *Catalog) follow(ctx context.Context) {
	pause, wake := refreshInterval, time.NewTimer(0)
	defer wake.Stop()
	for {
		select {
		case <-wake.C:
			c.refresh(ctx, 0)
			pause = min(2*pause, refreshInterval)
			if !c.known.Load().hasPendingState() {
				pause = refreshInterval
			}
		case <-c.moved:
			pause = pendingInterval
		case <-ctx.Done():
			return
		}
		wake.Reset(pause)
	}
}
