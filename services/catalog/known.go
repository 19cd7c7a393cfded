package catalog

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Known is what was known of the models at a moment.
type Known struct {
	// Cards of all models that the client may use by some name, by their own. A model
	// that has changed has another Card or other names later.
	Cards []*Card

	names  map[*Card][]string
	client *inference.Client
}

// Names are what requests may call a model beside its own name: its aliases, and its
// LoRA adapters under all of its names.
func (k *Known) Names(card *Card) []string { return k.names[card] }

// Name is the model's own, or for a client that may not use that, the first of
// those that it may use; Names then are the rest.
func (k *Known) Name(card *Card) string {
	if names := k.names[card]; len(names) > 0 && !k.client.May(card.Name) {
		return names[0]
	}
	return card.Name
}

// Known tells of all models that the client may use, whatever they are and do.
func (c *Catalog) Known(ctx context.Context) *Known {
	return c.knownOf(c.known.Load(), inference.ClientOf(ctx))
}

func (c *Catalog) knownOf(known *knowledge, client *inference.Client) *Known {
	k := &Known{Cards: known.sorted(), names: map[*Card][]string{}, client: client}
	for alias, card := range known.aliases {
		k.names[card] = append(k.names[card], alias)
	}
	for _, card := range k.Cards {
		own := append([]string{card.Name}, k.names[card]...)
		if c.cfg.LoRASeparator != "" && card.Tasks&inference.TaskGenerate != 0 {
			for _, name := range own {
				for _, lora := range card.LoRAs {
					k.names[card] = append(k.names[card], name+c.cfg.LoRASeparator+lora)
				}
			}
		}
		slices.SortFunc(k.names[card], strings.Compare)
		k.names[card] = slices.DeleteFunc(k.names[card], func(name string) bool { return !k.client.May(name) })
	}
	k.Cards = slices.DeleteFunc(k.Cards, func(card *Card) bool { return len(k.names[card]) == 0 && !k.client.May(card.Name) })
	return k
}

// controlInterval is how long an engine's word on loads and unloads holds. Whoever
// changes its mode starts it anew.
const controlInterval = time.Minute

// controls remembers which engines let models be loaded and unloaded.
type controls struct {
	mu    sync.Mutex
	asked map[inference.Engine]control
}

type control struct {
	at      time.Time
	allowed bool
}

// Controllable tells whether an engine lets models be loaded and unloaded. It asks the
// engine, at most once a minute; one that doesn't answer doesn't let.
func (c *Catalog) Controllable(ctx context.Context, engine inference.Engine) bool {
	repository, ok := engine.(inference.Repository)
	if !ok {
		return false
	}
	c.controls.mu.Lock()
	known, ok := c.controls.asked[engine]
	c.controls.mu.Unlock()
	if ok && time.Since(known.at) < controlInterval {
		return known.allowed
	}
	// What no model is named can be unloaded without a change.
	_, err := repository.RepositoryModelUnload(ctx, &kserve.RepositoryModelUnloadRequest{ModelName: noModel})
	known = control{at: time.Now(), allowed: err == nil || inference.AsError(err).Code == inference.CodeInvalid || inference.AsError(err).Code == inference.CodeNotFound}
	if err != nil && !known.allowed && inference.AsError(err).Code != inference.CodeUnsupported {
		return false // away
	}
	c.controls.mu.Lock()
	defer c.controls.mu.Unlock()
	if c.controls.asked == nil {
		c.controls.asked = map[inference.Engine]control{}
	}
	c.controls.asked[engine] = known
	return known.allowed
}
