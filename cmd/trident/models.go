package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"go.uber.org/dig"
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/modelfiles"
	"github.com/trident-inference/trident/services/tokenizer"
)

// modelsCommand prints the metadata of the models.
type modelsCommand struct {
	JSON bool `name:"json" help:"Print a JSON list of the models instead of a table."`
}

// Run prints the models of --triton-endpoint or --model-repository. It reads a
// repository's files without loading the models.
func (c modelsCommand) Run(f *flags) error {
	cards, err := f.cards()
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(os.Stdout, cards, f.AliasSplit)
	}
	_, err = os.Stdout.WriteString(settingsTable(cards, f.AliasSplit))
	return err
}

// modelsTimeout is the time limit for the requests to the engines and for downloads
// from the hub.
const modelsTimeout = 6 * time.Minute

// cards returns the cards that serve would create, with the same modules, except that
// models of repositories are read and not loaded.
func (f *flags) cards() (_ []*catalog.Card, err error) {
	cfg, err := f.config()
	if err != nil {
		return nil, err
	}
	var models *catalog.Catalog
	var library *modelfiles.Library
	app := fx.New(
		fx.Supply(cfg.Backend, cfg.Catalog, cfg.Models, cfg.Overrides),
		fx.Supply(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))),
		unloaded(cfg),
		contracts.Module, tokenizer.Module, modelfiles.Module,
		fx.Provide(catalog.Of),
		fx.Populate(&models, &library),
		fx.NopLogger,
	)
	if err := app.Err(); err != nil {
		return nil, dig.RootCause(err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	ctx, done := context.WithTimeout(ctx, modelsTimeout)
	defer done()
	if err := app.Start(ctx); err != nil {
		return nil, dig.RootCause(err)
	}
	defer func() { err = errors.Join(err, app.Stop(context.Background())) }()
	// Files that aren't in the hub's cache are only available at the second refresh.
	for range 2 {
		if err := errors.Join(models.Refresh(ctx), library.Wait(ctx)); err != nil {
			return nil, err
		}
	}
	return models.Cards(), nil
}

// unloaded returns the engines of the flags, with a reader of repository files instead
// of in-process Triton.
func unloaded(cfg config) fx.Option {
	remote := cfg
	remote.Local.Repositories = nil
	all := fx.Options(engines(remote), fx.Supply(cfg.Triton, cfg.Fleet))
	if len(cfg.Local.Repositories) == 0 {
		return all
	}
	disk := modelfiles.NewDisk(cfg.Local.Repositories)
	return fx.Options(all, fx.Decorate(func(list []inference.Engine) []inference.Engine { return append([]inference.Engine{disk}, list...) }))
}

// settingsTable returns a table of the settings of each model with their origins.
func settingsTable(cards []*catalog.Card, splits []catalog.Split) string {
	rows := [][]string{{"MODEL", "SETTING", "VALUE", "FROM"}}
	for _, card := range cards {
		rows = append(rows, []string{card.Name, "state", stateOf(card), ""})
		for _, server := range card.Differing {
			rows = append(rows, []string{"", "differs", oneLine(server), ""})
		}
		if card.Config == nil {
			continue
		}
		kind, origin := kindOf(card)
		rows = append(rows, []string{"", "kind", kind, origin})
		for _, s := range card.Settings {
			rows = append(rows, []string{"", s.Name, oneLine(s.Value), s.Origin})
		}
	}
	for _, s := range splits {
		shares := make([]string, len(s.Targets))
		for i, t := range s.Targets {
			shares[i] = fmt.Sprintf("%s %d/%d", t.Model, t.Weight, s.Total())
			if j := slices.IndexFunc(cards, func(c *catalog.Card) bool { return c.Name == t.Model }); j < 0 {
				shares[i] += " (no such model)"
			} else if cards[j].State != inference.ModelReady {
				shares[i] += " (" + strings.ToLower(stateOf(cards[j])) + ")"
			}
		}
		rows = append(rows, []string{s.Alias, "split", strings.Join(shares, ", "), "--alias-split"})
	}
	if len(rows) == 1 {
		return "no models\n"
	}
	return alignTrimmed(rows)
}

// alignTrimmed aligns cells in columns, without white space at the end of lines.
func alignTrimmed(rows [][]string) string {
	lines := strings.Split(align(rows), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// stateOf returns the state of a model. A model that was read from its files is "not
// loaded", not "ready".
func stateOf(card *catalog.Card) string {
	if _, ok := card.Engine.(*modelfiles.Disk); ok && card.State == inference.ModelReady {
		return "not loaded"
	}
	return status(card)
}

// kindOf returns the kind of a model. It may be unknown until Triton has loaded the
// model, because some backends add tensors to the configuration when Triton loads the
// model.
func kindOf(card *catalog.Card) (kind, origin string) {
	if name := card.Config.GetBackend(); card.Backend == nil && len(card.Config.GetInput()) == 0 && name != "" {
		return name, "config.pbtxt: backend"
	}
	return card.Kind(), "its tensors"
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// modelJSON is a model in the output of --json.
type modelJSON struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state"`
	Kind    string `json:"kind,omitempty"`
	// Differing describes the servers of which requests for the model don't go to.
	Differing []string `json:"differing,omitempty"`
	// Splits are the shares of the requests for split aliases that the model gets.
	Splits   []splitJSON   `json:"splits,omitempty"`
	Settings []settingJSON `json:"settings"`
}

// splitJSON is the share of a model in the requests for an alias: weight of all weights.
type splitJSON struct {
	Alias  string `json:"alias"`
	Weight int    `json:"weight"`
	Of     int    `json:"of"`
}

type settingJSON struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

func printJSON(w io.Writer, cards []*catalog.Card, splits []catalog.Split) error {
	list := make([]modelJSON, len(cards))
	for i, card := range cards {
		list[i] = modelJSON{Name: card.Name, Version: card.Version, State: stateOf(card), Differing: card.Differing, Settings: []settingJSON{}}
		if card.Config != nil {
			list[i].Kind, _ = kindOf(card)
		}
		for _, s := range splits {
			for _, t := range s.Targets {
				if t.Model == card.Name {
					list[i].Splits = append(list[i].Splits, splitJSON{s.Alias, t.Weight, s.Total()})
				}
			}
		}
		for _, s := range card.Settings {
			list[i].Settings = append(list[i].Settings, settingJSON(s))
		}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(list); err != nil {
		return fmt.Errorf("print the models: %w", err)
	}
	return nil
}
