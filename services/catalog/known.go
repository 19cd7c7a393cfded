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

// Known is a snapshot of the models.
type Known struct {
	// Cards are the cards of all models that the client may use by some name, sorted by own name. A
	// model that changes later gets another Card or other names.
	Cards []*Card

	names  map[*Card][]string
	client *inference.Client
}

// Names returns the further names by which requests may select a model: its aliases, and its LoRA
// adapters under all of its names.
func (k *Known) Names(card *Card) []string { return k.names[card] }

// Name returns the model's own name. If the client may not use that name, it returns the first name
// that the client may use, which is the first of Names.
func (k *Known) Name(card *Card) string {
	if names := k.names[card]; len(names) > 0 && !k.client.May(card.Name) {
		return names[0]
	}
	return card.Name
}

// Known returns all models that the client may use, of any kind and in any state.
func (c *Catalog) Known(ctx context.Context) *Known {
	return c.knownOf(c.known.Load(), inference.ClientOf(ctx))
}

func (c *Catalog) knownOf(known *snapshot, client *inference.Client) *Known {
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

// controlInterval is the time for which an engine's answer about loads and unloads is cached. The
// answer changes only with a restart of the engine.
const controlInterval = time.Minute

// controls caches whether engines allow loads and unloads.
type controls struct {
	mu    sync.Mutex
	asked map[inference.Engine]control
}

type control struct {
	at      time.Time
	allowed bool
}

// Controllable reports whether an engine allows loads and unloads. It asks the engine at most once
// a minute. It returns false for an engine that doesn't answer.
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
	// The unload of a name that no model has changes nothing.
	_, err := repository.RepositoryModelUnload(ctx, &kserve.RepositoryModelUnloadRequest{ModelName: noModel})
	known = control{at: time.Now(), allowed: err == nil || inference.AsError(err).Code == inference.CodeInvalid || inference.AsError(err).Code == inference.CodeNotFound}
	if err != nil && !known.allowed && inference.AsError(err).Code != inference.CodeUnsupported {
		return false // the engine doesn't answer
	}
	c.controls.mu.Lock()
	defer c.controls.mu.Unlock()
	if c.controls.asked == nil {
		c.controls.asked = map[inference.Engine]control{}
	}
	c.controls.asked[engine] = known
	return known.allowed
}
