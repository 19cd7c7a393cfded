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

// codexCatalog returns Codex's catalog: the models that chat.
func codexCatalog(ctx context.Context, models []catalog.Named) []api.CodexModel {
	list := []api.CodexModel{}
	for _, named := range models {
		if named.Card.Tasks&inference.TaskGenerate != 0 && named.Card.Template != nil {
			list = append(list, codexModel(ctx, named, len(list)))
		}
	}
	return list
}

// codexModel returns a model's entry of Codex's catalog at a position of its menu. The entry has
// every field that the versions in docs/openai.md need: Codex ignores the whole catalog otherwise.
func codexModel(ctx context.Context, named catalog.Named, position int) api.CodexModel {
	card := named.Card
	m := api.CodexModel{
		Slug: named.Name, DisplayName: named.Name, Priority: position, BaseInstructions: codexInstructions,
		ShellType: "shell_command", Visibility: "list", SupportedInAPI: true,
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
