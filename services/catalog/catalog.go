// Package catalog describes the models. It has a [Card] for each model, built from the engine's
// configuration, the model's files and the operator's settings, and keeps it up to date. Code that
// finds, describes, loads, unloads or watches models belongs here, as do LoRA adapters and the
// names of models and adapters. The package serving uses the cards to serve requests.
package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/tokenizer"
)

// refreshInterval is the interval in which the engines are asked for their models while no model
// changes. lookupInterval is the minimum interval between refreshes for unknown models. Triton
// doesn't report changes by other clients, so a refresh has to find them.
const (
	refreshInterval = 5 * time.Second
	lookupInterval  = time.Second
	refreshTimeout  = 10 * time.Second
)

// Catalog has the cards of all engines' models and keeps them up to date: Triton may load models,
// unload models and restart without notice. All methods may be called concurrently.
type Catalog struct {
	cfg        Config
	engines    []inference.Engine
	backends   []inference.Backend
	tokenizers *tokenizer.Folders
	log        *slog.Logger

	known atomic.Pointer[snapshot]
	// stale is set when an engine isn't ready, and cleared when the models have been refreshed
	// afterwards: the engine may have been loading models.
	stale atomic.Bool
	// required are the models that were ready when Ready first returned nil; nil before.
	required atomic.Pointer[[]string]
	// refreshing serializes refreshes. It is a channel so that the wait for a refresh can end with
	// the request.
	refreshing chan struct{}
	refreshed  time.Time                 // guarded by refreshing
	failing    map[inference.Engine]bool // guarded by refreshing: true if the engine's last refresh failed
	starting   map[inference.Engine]bool // guarded by refreshing: true while the engine loads the models of its start
	announced  map[inference.Engine]bool // guarded by refreshing: true once the engine's models have been announced

	onAnnounce func([]*Card)
	onLookup   func() // a hook that tests set

	library   inference.Library    // nil for none
	overrides []inference.Override // guarded by refreshing once the catalog runs
	missed    map[string]bool      // guarded by refreshing: true for a model of an override that doesn't exist, once that has been logged

	splits        map[string]*split // guarded by refreshing
	splitProblems map[string]string // guarded by refreshing: what was logged about a split

	turns    turns // serializes loads and unloads of a model
	changes  changes
	controls controls
	watches  watches
	// moved has an element once the state of some model is about to change.
	moved chan struct{}

	stop context.CancelFunc
	done sync.WaitGroup
}

// snapshot is the state of all models after one refresh of the catalog.
type snapshot struct {
	cards map[string]*Card
	// aliases are the cards, keyed by each further name of a model.
	aliases map[string]*Card
	splits  map[string]*split // by alias
	// err is the reason why some engine's models are unknown or out of date.
	err error
}

var errStarting = &inference.Error{
	Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, RetryAfter: time.Second,
	Message: "the server is starting, and its models aren't known yet: try again later",
}

// Config is the configuration of a catalog.
type Config struct {
	// LoRASeparator separates a model's name from that of a LoRA adapter. If it is empty, names of
	// adapters are disabled.
	LoRASeparator string
	// Splits are the splits of aliases at start. [Catalog.Split] changes them.
	Splits []Split
	// Names are the operators' names of the fields; nil for the fields' own names.
	Names *configfield.Names
}

// Engines returns all engines, the preferred ones first.
func (c *Catalog) Engines() []inference.Engine { return c.engines }

// New returns an empty catalog. Start fills it.
func New(cfg Config, engines []inference.Engine, backends []inference.Backend, tokenizers *tokenizer.Folders, log *slog.Logger) *Catalog {
	c := &Catalog{
		cfg: cfg, engines: engines, backends: backends, tokenizers: tokenizers, log: log,
		refreshing: make(chan struct{}, 1),
		moved:      make(chan struct{}, 1),
		failing:    map[inference.Engine]bool{},
		starting:   map[inference.Engine]bool{},
		announced:  map[inference.Engine]bool{},

		splits: splitsOf(cfg.Splits), splitProblems: map[string]string{},
	}
	c.onAnnounce = func(cards []*Card) {
		for _, card := range cards {
			c.logCard(card)
		}
	}
	for _, e := range engines {
		_, c.starting[e] = e.(inference.Starter)
	}
	c.known.Store(&snapshot{err: errStarting})
	c.stale.Store(true)
	return c
}

// Announce registers a callback, which is called once with the models of each engine, sorted by
// name. The call happens when the engines have loaded the models of their start and all other engines
// have listed their models or failed to answer. Without Announce, the models are logged, as later
// changes are. Announce must be called before Start. The callback must not call the catalog.
func (c *Catalog) Announce(onAnnounce func([]*Card)) { c.onAnnounce = onAnnounce }

// Consult sets the library and the operator's settings, from which the cards are built. It must be
// called before Start.
func (c *Catalog) Consult(library inference.Library, overrides []inference.Override) {
	c.library, c.overrides = library, overrides
}

// Override replaces the operator's settings. Models whose settings change get new cards. Requests
// in flight keep their cards. A model whose tokenizer has to be fetched keeps its card until the
// tokenizer is available. Override returns early when ctx ends.
func (c *Catalog) Override(ctx context.Context, overrides []inference.Override) {
	select {
	case c.refreshing <- struct{}{}:
		c.overrides, c.missed = overrides, nil
		<-c.refreshing
		c.refresh(ctx, 0)
	case <-ctx.Done():
	}
}

// Start follows the engines' models until Stop.
func (c *Catalog) Start() {
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	for _, e := range c.engines {
		if starter, ok := e.(inference.Starter); ok {
			c.done.Go(func() {
				_ = starter.AwaitModels(ctx) // the models' states have the failures
				c.started(ctx, e)
			})
		}
		if notifier, ok := e.(inference.Notifier); ok {
			c.done.Go(func() { c.refreshOnChange(ctx, notifier) })
		}
	}
	c.done.Go(func() { c.follow(ctx) })
}

// started is called when an engine has loaded the models of its start.
func (c *Catalog) started(ctx context.Context, e inference.Engine) {
	select {
	case c.refreshing <- struct{}{}:
		c.starting[e] = false
		<-c.refreshing
		c.refresh(ctx, 0)
	case <-ctx.Done():
	}
}

// Stop ends the goroutines of Start and waits for them.
func (c *Catalog) Stop() {
	if c.stop != nil {
		c.stop()
	}
	c.done.Wait()
}

// Refresh asks the engines for their models now. The error is the reason why some models are
// unknown.
func (c *Catalog) Refresh(ctx context.Context) error {
	c.refresh(ctx, 0)
	return c.known.Load().err
}

// Cards lists all cards by name.
func (c *Catalog) Cards() []*Card {
	return c.known.Load().sorted()
}

// sorted returns the cards sorted by name.
func (k *snapshot) sorted() []*Card {
	return slices.SortedFunc(maps.Values(k.cards), func(a, b *Card) int { return strings.Compare(a.Name, b.Name) })
}

// Lookup returns a model that is ready. For a name that is unknown or not ready, it first asks the
// engines, at most once a second.
func (c *Catalog) Lookup(ctx context.Context, name string) (*Card, error) {
	c.recordLookup()
	known := c.known.Load()
	card := known.cards[name]
	if card == nil || card.State != inference.ModelReady || card.Fetching {
		c.refresh(ctx, lookupInterval)
		known = c.known.Load()
		card = known.cards[name]
	}
	switch {
	case card != nil && card.State == inference.ModelReady:
		return card, nil
	case card != nil && card.Recovering:
		return nil, &inference.Error{
			Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Param: "model", RetryAfter: 2 * time.Second,
			Message: fmt.Sprintf("the model `%s` isn't ready: %s", name, card.Reason),
		}
	case card != nil && (card.State == inference.ModelLoading || card.State == inference.ModelUnloading):
		return nil, errBusy(name, card.State)
	}
	if known.err != nil {
		return nil, known.err
	}
	return nil, errNoModel(name)
}

// WasReady reports whether [Catalog.Ready] has returned nil.
func (c *Catalog) WasReady() bool { return c.required.Load() != nil }

// announcedAll reports whether the models of all engines have been announced.
func (c *Catalog) announcedAll(ctx context.Context) bool {
	select {
	case c.refreshing <- struct{}{}:
		defer func() { <-c.refreshing }()
		return !slices.ContainsFunc(c.engines, func(e inference.Engine) bool { return !c.announced[e] })
	case <-ctx.Done():
		return false
	}
}

// refresh asks the engines for their models unless the last refresh is less than minAge ago. It
// returns early when ctx ends.
func (c *Catalog) refresh(ctx context.Context, minAge time.Duration) {
	select {
	case c.refreshing <- struct{}{}:
		defer func() { <-c.refreshing }()
	case <-ctx.Done():
		return
	}
	if minAge > 0 && time.Since(c.refreshed) < minAge {
		return
	}
	callerCtx := ctx
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	old := c.known.Load()
	fresh := &snapshot{cards: map[string]*Card{}}
	offers := map[string]listedModel{}
	for _, e := range c.engines {
		models, err := e.Models(ctx)
		if callerCtx.Err() != nil {
			return // the request ended, or the catalog is stopping: the result is unusable
		}
		c.reportEngine(e, err)
		if err != nil {
			keep(fresh.cards, old.cards, e)
			fresh.err = err
			continue
		}
		for _, m := range models {
			m = c.changes.override(m)
			if o, taken := offers[m.Name]; !taken || o.model.State != inference.ModelReady && m.State == inference.ModelReady {
				offers[m.Name] = listedModel{e, m}
			}
		}
	}
	others := func(name string) *kserve.ModelConfig { return offers[name].model.Config }
	for name, o := range offers {
		if _, kept := fresh.cards[name]; !kept || o.model.State == inference.ModelReady {
			fresh.cards[name] = c.card(old.cards[name], o.engine, o.model, others)
		}
	}
	c.refreshed = time.Now()
	c.announce(fresh.sorted())
	c.warnMissed(fresh)
	c.publish(fresh)
}

// announce announces the engines whose models have become known. It runs before clients can see the
// models, so that the log has a model before the first request for it.
func (c *Catalog) announce(cards []*Card) {
	fresh := map[inference.Engine]bool{}
	for _, e := range c.engines {
		switch {
		case c.failing[e]:
		case c.starting[e]:
			return
		case !c.announced[e]:
			fresh[e] = true
		}
	}
	if len(fresh) == 0 {
		return
	}
	maps.Copy(c.announced, fresh)
	c.onAnnounce(slices.DeleteFunc(cards, func(card *Card) bool { return !fresh[card.Engine] }))
}

// warnMissed logs settings for models that no engine lists, once per model.
func (c *Catalog) warnMissed(fresh *snapshot) {
	if fresh.err != nil || len(c.announced) < len(c.engines) {
		return
	}
	for _, o := range c.overrides {
		if o.Model != "" && fresh.cards[o.Model] == nil && !c.missed[o.Model] {
			if c.missed == nil {
				c.missed = map[string]bool{}
			}
			c.missed[o.Model] = true
			c.log.Warn("the settings name a model that Triton doesn't have", "model", o.Model, "from", o.Origin)
		}
	}
}

// listedModel is a model of the first engine where it is ready, or else of the first engine that lists
// it.
type listedModel struct {
	engine inference.Engine
	model  inference.Model
}

// keep copies the old cards of an engine that didn't answer: the engine may be back for the next
// request.
func keep(fresh, old map[string]*Card, e inference.Engine) {
	for name, card := range old {
		if _, taken := fresh[name]; !taken && card.Engine == e {
			fresh[name] = card
		}
	}
}

func (c *Catalog) card(old *Card, e inference.Engine, m inference.Model, others func(string) *kserve.ModelConfig) *Card {
	same := old != nil && old.Engine == e && old.same(m)
	if same && !old.Fetching && slices.Equal(old.overrides, c.overridesOf(m.Name)) {
		return old
	}
	card, err := newCard(c, e, m, others)
	if same && card.Fetching {
		return old
	}
	if same {
		card.Loaded = old.Loaded
	}
	if err != nil {
		c.log.Warn("some settings or files of the model can't be used", "model", m.Name, "error", err)
	}
	if c.announced[e] {
		c.logCard(card)
	}
	if card.State == inference.ModelReady && card.Tasks&inference.TaskGenerate != 0 && card.ContextLength == 0 && !card.Fetching && takesMaxTokens(card) {
		c.log.Warn("the context length of the model is unknown: answers are short unless the request sets max_tokens",
			"model", card.Name, "remedy", "set the parameter "+inference.ParamPrefix+inference.SettingContextLength+" in the model's config.pbtxt, or "+c.cfg.Names.Of("serving.DefaultMaxTokens"))
	}
	if card.State == inference.ModelReady && card.Tasks&inference.TaskGenerate != 0 && !m.Config.GetModelTransactionPolicy().GetDecoupled() {
		c.log.Warn("the model doesn't stream: a streamed answer arrives as a whole at its end",
			"model", card.Name, "remedy", "if the model can stream, set model_transaction_policy { decoupled: true } in its config.pbtxt")
	}
	return card
}

// takesMaxTokens reports whether the model limits its answers to a number of tokens. Without such a limit, its answers
// have the length that the model chooses.
func takesMaxTokens(card *Card) bool {
	backend, ok := card.Backend.(interface {
		TakesMaxTokens(config *kserve.ModelConfig) bool
	})
	return !ok || backend.TakesMaxTokens(card.Config)
}

func (c *Catalog) logCard(card *Card) {
	switch card.State {
	case inference.ModelReady:
	case inference.ModelNeverLoaded: // a repository may have many such models
		c.log.Debug("model state", "model", card.Name, "state", "never loaded")
		return
	default:
		c.log.Info("model state", "model", card.Name, "version", card.Version, "state", card.State, "reason", firstLine(card.Reason))
		return
	}
	c.log.Info("model state", "model", card.Name, "version", card.Version, "state", card.State,
		"backend", card.Kind(), "template", card.Template != nil, "parsers", card.Parsers(), "context", card.ContextLength)
}

// maxReason is the maximum length in bytes of the reason of a model's state in the log.
const maxReason = 500

// firstLine returns the first line of Triton's text about a model. A Python stack may follow it.
func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

// location returns the attributes of an engine for the log: its address and the setting of the address.
func (c *Catalog) location(e inference.Engine) []any {
	if remote, ok := e.(inference.Remote); ok {
		return []any{"address", remote.Address(), "flag", c.cfg.Names.Of("triton.Endpoint")}
	}
	return []any{"address", "in-process"}
}

// reportEngine logs when an engine stops or resumes answering, once each.
func (c *Catalog) reportEngine(e inference.Engine, err error) {
	if failing := err != nil; failing != c.failing[e] {
		c.failing[e] = failing
		if failing {
			c.log.Warn("Triton doesn't answer", append(c.location(e), "error", err)...)
		} else {
			c.log.Info("Triton answers again", c.location(e)...)
		}
	}
}
