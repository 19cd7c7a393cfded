package openai

import (
	"context"
	_ "embed"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
)

// codexInstructions are the instructions that Codex gives the models of its catalog.
//
//go:embed codex.md
var codexInstructions string

// codexOutputTokens is the length, in tokens, to which Codex cuts the output of a tool.
const codexOutputTokens = 10_000

// codexCatalog returns Codex's catalog: the models that chat. A model with several names has one
// entry for each. It is described once, because that renders its template several times.
func codexCatalog(ctx context.Context, models []catalog.Named) []api.CodexModel {
	list := []api.CodexModel{}
	described := map[*catalog.Card]api.CodexModel{}
	for _, named := range models {
		if named.Card.Tasks&inference.TaskGenerate == 0 || named.Card.Template == nil {
			continue
		}
		m, known := described[named.Card]
		if !known {
			m = codexModel(ctx, named.Card)
			described[named.Card] = m
		}
		m.Slug, m.DisplayName, m.Priority = named.Name, named.Name, len(list)
		list = append(list, m)
	}
	return list
}

// codexModel returns a model's entry of Codex's catalog without its name and its position. With them
// it has every field that the versions in docs/reference/openai.md need: Codex ignores the whole catalog
// otherwise.
func codexModel(ctx context.Context, card *catalog.Card) api.CodexModel {
	m := api.CodexModel{
		BaseInstructions: codexInstructions,
		ShellType:        "shell_command", Visibility: "list", SupportedInAPI: true,
		ApplyPatchToolType: "freeform", SupportsParallelToolCalls: true, ExperimentalSupportedTools: []string{},
		SupportsReasoningSummaries: true, DefaultReasoningSummary: "auto", SupportedReasoningLevels: []api.CodexReasoningLevel{},
		InputModalities:  []api.CodexModelInputModalities{"text"},
		TruncationPolicy: api.CodexTruncation{Mode: "tokens", Limit: codexOutputTokens},
	}
	if card.SeesImages(ctx) {
		m.InputModalities = append(m.InputModalities, "image")
	}
	for _, effort := range card.Efforts(ctx) {
		m.SupportedReasoningLevels = append(m.SupportedReasoningLevels, api.CodexReasoningLevel{Effort: api.CodexReasoningLevelEffort(effort), Description: codexEfforts[effort]})
	}
	if length := card.ContextLength; length > 0 {
		m.ContextWindow, m.MaxContextWindow = &length, &length
		m.TruncationPolicy.Limit = min(codexOutputTokens, length/4)
	}
	return m
}

// codexEfforts are the descriptions of reasoning efforts in Codex's menus.
var codexEfforts = map[string]string{ //nolint:gochecknoglobals // a constant table
	inference.EffortNone:    "Answers without reasoning",
	"low":                   "Reasons briefly",
	inference.EffortDefault: "Reasons as the model does by default",
	"high":                  "Reasons at length",
}
