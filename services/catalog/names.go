package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// Named is a model under one of its names. A name is the model's own, an alias, or either of them
// followed by the separator and the name of a LoRA adapter, as in Triton's OpenAI frontend
// (--lora-separator).
type Named struct {
	Name string
	Card *Card
	// LoRA is the adapter that the name selects, or empty.
	LoRA string
}

// nameList splits comma-separated names.
func nameList(value string) []string {
	names := []string{}
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// setAliases sets the further names of the models. An alias that is a model's own name is left out.
// If several models claim an alias, the first model by name gets it. An alias that is split stands
// for its main model.
func (k *snapshot) setAliases() {
	cards, found := k.cards, map[string]*Card{}
	for alias, s := range k.splits {
		if card := s.main(k); card != nil && cards[alias] == nil {
			found[alias] = card
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cards)) {
		for _, alias := range cards[name].Aliases {
			if cards[alias] == nil && found[alias] == nil && k.splits[alias] == nil {
				found[alias] = cards[name]
			}
		}
	}
	k.aliases = found
}

// find returns the model of a client's name, without a card if there is no such model. A name that
// can be split in several ways is split at the last separator that follows the name of a model.
func (k *snapshot) find(name, separator string) Named {
	if card := k.named(name); card != nil || separator == "" {
		return Named{Name: name, Card: card}
	}
	for end := strings.LastIndex(name, separator); end > 0; end = strings.LastIndex(name[:end], separator) {
		if card := k.named(name[:end]); card != nil && end+len(separator) < len(name) {
			return Named{Name: name, Card: card, LoRA: name[end+len(separator):]}
		}
	}
	return Named{Name: name}
}

func (k *snapshot) named(name string) *Card {
	if card := k.cards[name]; card != nil {
		return card
	}
	return k.aliases[name]
}

// Knows reports whether an engine lists a model with the given own name. It doesn't ask the
// engines.
func (c *Catalog) Knows(name string) bool { return c.known.Load().cards[name] != nil }

func (n Named) ready() bool { return n.Card != nil && n.Card.State == inference.ModelReady }

func errNoModel(name string) error {
	return &inference.Error{
		Code: inference.CodeNotFound, Reason: inference.ReasonModelNotFound, Param: "model",
		Message: fmt.Sprintf("the model `%s` does not exist or is not loaded", name),
	}
}

// errNotTextModel has the reason of a model that takes only tensors, if it is known.
func errNotTextModel(name string, card *Card) error {
	message := fmt.Sprintf("the model `%s` supports neither text generation nor embeddings", name)
	if i := slices.IndexFunc(card.Settings, func(s inference.Setting) bool { return s.Name == settingTexts }); i >= 0 {
		message += ": " + card.Settings[i].Origin
	}
	return &inference.Error{Code: inference.CodeNotFound, Reason: inference.ReasonModelNotFound, Param: "model", Message: message}
}

// Only returns the only model that serves the client's requests, under the name for requests without
// one: its own name, or else the only other name that the client may use. Aliases and adapters are
// no further models. Models that are loaded or restored at the moment count, too, since requests
// without a name must not change their model when it returns.
//
// The error is [inference.CodeInvalid] if there are several such models or names, and
// [inference.CodeUnavailable] if there is none at present.
func (c *Catalog) Only(ctx context.Context) (Named, error) {
	named := c.Models(ctx)
	if len(named) == 0 {
		c.refresh(ctx, lookupInterval)
		named = c.Models(ctx)
	}
	if len(named) == 0 {
		return Named{}, c.errNoneReady()
	}
	card, only := named[0].Card, named[0]
	for _, n := range named {
		if n.Card != card {
			return Named{}, errSeveral("this server has several models")
		}
		if n.Name == card.Name {
			only = n
		}
	}
	switch {
	case only.Name != card.Name && len(named) > 1:
		return Named{}, errSeveral("the model has several names")
	case c.othersReturn(ctx, card):
		return Named{}, errSeveral("further models are loading")
	}
	return only, nil
}

// othersReturn reports whether a model besides the card is loaded or restored at the moment.
func (c *Catalog) othersReturn(ctx context.Context, card *Card) bool {
	for _, other := range c.known.Load().cards {
		busy := other.State == inference.ModelLoading || other.Recovering
		if busy && other != card && !other.Hidden && inference.ClientOf(ctx).May(other.Name) {
			return true
		}
	}
	return false
}

func (c *Catalog) errNoneReady() error {
	if err := c.known.Load().err; err != nil {
		return err
	}
	return &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Param: "model", RetryAfter: 2 * time.Second,
		Message: "the request names no model, and no model is ready",
	}
}

func errSeveral(why string) error {
	return inference.Invalid("model", "model is required, because %s: GET /v1/models lists their names", why)
}

// Models returns the generation and embedding models that the client may use, under all of their
// names, in alphabetical order. Adapters are listed only if the model's adapters are known.
func (c *Catalog) Models(ctx context.Context) []Named {
	known := c.known.Load()
	var listed []Named
	add := func(name string, card *Card) {
		if !card.Listed() {
			return
		}
		listed = append(listed, Named{Name: name, Card: card})
		if c.cfg.LoRASeparator == "" || card.Tasks&inference.TaskGenerate == 0 {
			return
		}
		for _, lora := range card.LoRAs {
			listed = append(listed, Named{Name: name + c.cfg.LoRASeparator + lora, Card: card, LoRA: lora})
		}
	}
	for name, card := range known.cards {
		add(name, card)
	}
	for alias, card := range known.aliases {
		add(alias, card)
	}
	if client := inference.ClientOf(ctx); client != nil {
		listed = slices.DeleteFunc(listed, func(n Named) bool { return !client.May(n.Name) })
	}
	slices.SortFunc(listed, func(a, b Named) int { return strings.Compare(a.Name, b.Name) })
	return listed
}
