package responses

import (
	"context"
	"encoding/json"
	"slices"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/strictjson"
)

// refuseUnsupported returns an error that names the first unsupported field. As in
// chats, values without an effect are never refused.
func refuseUnsupported(body *api.CreateResponse) error {
	reasoning := decode.Value(body.Reasoning)
	return decode.FirstUsed(append(decode.UnsupportedSampling(body.UseBeamSearch, body.LengthPenalty), []decode.Unsupported{
		{Name: "prompt_logprobs", Used: body.PromptLogprobs != nil, Why: "responses have no field for them"},
		{Name: "background", Used: decode.Value(body.Background), Why: "send the request without it and wait for the response, or use stream"},
		{Name: "conversation", Used: !requests.Neutral(body.Conversation), Why: "use previous_response_id to continue a conversation"},
		{Name: "prompt", Used: !requests.Neutral(body.Prompt), Why: "the server stores no prompts: send the text of the prompt as input"},
		{Name: "context_management", Used: len(body.ContextManagement) > 0, Why: "the server does not shorten the input: send fewer items"},
		{Name: "moderation", Used: !requests.Neutral(body.Moderation), Why: "moderation is not available"},
		{Name: "truncation", Used: decode.Value(body.Truncation) == "auto", Why: "the server does not shorten the input: send fewer items"},
		{Name: "stream_options.include_obfuscation", Used: body.StreamOptions != nil && decode.Value(body.StreamOptions.IncludeObfuscation), Why: "the server adds no padding to events"},
		{Name: "reasoning.mode", Used: reasoning.Mode != nil && *reasoning.Mode != "standard", Why: "only standard, the default, is accepted"},
	}...))
}

// ignoreContext reports a choice of the earlier reasoning in the prompt, which has no effect. Codex sends
// it to some models.
func ignoreContext(ctx context.Context, reasoning *api.ResponseReasoning) error {
	if reasoning == nil || reasoning.Context == nil || *reasoning.Context == "auto" {
		return nil
	}
	return server.Ignore(ctx, server.IgnoredField{Name: "reasoning.context", Reason: "reasoning.context is not supported: the chat template decides which earlier reasoning is in the prompt"})
}

// coreRequest translates a validated body except its items and its tools. Each field
// of the API is used here, is echoed, is metadata, or is refused by name.
func coreRequest(ctx context.Context, body *api.CreateResponse, checked *requests.Schemas) (*inference.Request, error) {
	if err := refuseUnsupported(body); err != nil {
		return nil, err
	}
	if err := ignoreContext(ctx, body.Reasoning); err != nil {
		return nil, err
	}
	req := &inference.Request{
		Model: body.Model, Task: inference.TaskGenerate, Stream: decode.Value(body.Stream), ReasoningEffort: string(decode.Value(decode.Value(body.Reasoning).Effort)),
	}
	if !requests.Neutral(body.ChatTemplateKwargs) {
		req.TemplateArgs = body.ChatTemplateKwargs
	}
	if body.StreamOptions != nil && !req.Stream {
		return nil, inference.Invalid("stream_options", "stream_options needs stream: true")
	}
	if decode.Value(body.Priority) != 0 {
		req.Priority = body.Priority
	}
	// A format constrains calls, too.
	if err := setSampling(ctx, body, &req.Sampling, checked); err != nil {
		return nil, err
	}
	req.SingleCall = body.ParallelToolCalls != nil && !*body.ParallelToolCalls
	var err error
	req.ToolChoice, err = toolChoice(body.ToolChoice)
	return req, err
}

func setSampling(ctx context.Context, body *api.CreateResponse, s *inference.Sampling, checked *requests.Schemas) (err error) {
	*s = inference.Sampling{
		Temperature: body.Temperature, TopP: body.TopP, TopK: body.TopK, MinP: body.MinP, Seed: body.Seed,
		FrequencyPenalty: body.FrequencyPenalty, PresencePenalty: body.PresencePenalty, RepetitionPenalty: body.RepetitionPenalty,
		MaxTokens: body.MaxOutputTokens, MinTokens: body.MinTokens, StopTokenIDs: body.StopTokenIds, IgnoreEOS: body.IgnoreEos,
		BadWords: body.BadWords, AllowedTokenIDs: body.AllowedTokenIds, IncludeStop: body.IncludeStopStrInOutput,
		SkipSpecialTokens: body.SkipSpecialTokens, SpacesBetweenSpecialTokens: body.SpacesBetweenSpecialTokens,
		TruncatePromptTokens: body.TruncatePromptTokens,
	}
	const asked = "message.output_text.logprobs"
	top := decode.Value(body.TopLogprobs)
	if slices.Contains(body.Include, asked) {
		s.Logprobs = &top
	} else if top > 0 {
		return inference.Invalid("top_logprobs", "top_logprobs needs %s in include", asked)
	}
	format, err := textFormat(ctx, body.Text)
	if err != nil {
		return err
	}
	err = decode.Constrain(s, body.Stop, body.LogitBias, decode.Constraints{
		Text: format, Outputs: body.StructuredOutputs, GuidedJSON: body.GuidedJSON,
		GuidedRegex: body.GuidedRegex, GuidedGrammar: body.GuidedGrammar, GuidedChoice: body.GuidedChoice,
	})
	if err != nil {
		return err
	}
	return checked.Structured(ctx, s.Structured)
}

// textSettings is the value of the field text.
type textSettings struct {
	Format    json.RawMessage `json:"format"`
	Verbosity *string         `json:"verbosity"`
}

// readText reads the field text, which the validator has checked.
func readText(raw json.RawMessage) (textSettings, error) {
	var settings textSettings
	if requests.Neutral(raw) {
		return settings, nil
	}
	if err := json.Unmarshal(raw, &settings); err != nil {
		return settings, inference.Invalid("text", "text must be an object")
	}
	return settings, nil
}

// textFormat returns the structured output that text.format requires, or nil.
func textFormat(ctx context.Context, raw json.RawMessage) (*inference.Structured, error) {
	settings, err := readText(raw)
	if err == nil && settings.Verbosity != nil && *settings.Verbosity != "medium" {
		err = server.Ignore(ctx, server.IgnoredField{Name: "text.verbosity", Reason: "text.verbosity has no effect: only medium, the default, is available"})
	}
	switch {
	case err != nil:
		return nil, err
	case requests.Neutral(settings.Format):
		return nil, nil //nolint:nilnil // unconstrained
	}
	const param = "text.format"
	var format struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	}
	if err := json.Unmarshal(settings.Format, &format); err != nil {
		return nil, inference.Invalid(param, "text.format must be an object with the field type")
	}
	if format.Type == "json_schema" && (len(format.Schema) == 0 || string(format.Schema) == "null") {
		return nil, inference.Invalid(param+".schema", "%s.schema is required", param)
	}
	return decode.FormatConstraint(format.Type, format.Schema, param, param+".schema"), nil
}

// toolChoice reads one of the modes, or the tool that must be called.
func toolChoice(raw json.RawMessage) (inference.ToolChoice, error) {
	if requests.Neutral(raw) || raw[0] == '"' {
		return decode.ToolChoice(raw)
	}
	var named struct {
		Type string `json:"type"`
		Name string `json:"name"`
		decode.Allowed
	}
	err := json.Unmarshal(raw, &named)
	switch {
	case err != nil:
		return inference.ToolChoice{}, inference.Invalid("tool_choice", "tool_choice must be none, auto, required or an object that names a function")
	case named.Type == "allowed_tools":
		return named.Choice("tool_choice", false)
	case named.Type != requests.FunctionType && named.Type != toolCustom:
		return inference.ToolChoice{}, inference.Unsupported("tool_choice.type", "tool_choice.type must be function or custom, got %s: the server has no tools of its own", strictjson.Quote(named.Type))
	case named.Name == "":
		return inference.ToolChoice{}, inference.Invalid("tool_choice.name", "tool_choice.name is required")
	}
	return inference.ToolChoice{Mode: inference.ToolNamed, Name: named.Name}, nil
}
