package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/strictjson"
)

// refuseInResponse names the first field that isn't honoured. As in chats, values
// that change nothing are never refused.
func refuseInResponse(body *api.CreateResponse) error {
	reasoning := value(body.Reasoning)
	return firstUsed(append(unsupportedSampling(body.UseBeamSearch, body.LengthPenalty, body.PromptLogprobs), []unsupported{
		{"background", value(body.Background), "close the connection to stop a response, and use stream to see it come"},
		{"conversation", !requests.Neutral(body.Conversation), "go on from a response by previous_response_id"},
		{"prompt", !requests.Neutral(body.Prompt), "no prompts are kept: send its text"},
		{"context_management", len(body.ContextManagement) > 0, "nothing is shortened: send fewer items"},
		{"moderation", !requests.Neutral(body.Moderation), "there is no moderation"},
		{"truncation", value(body.Truncation) == "auto", "nothing is left out: send fewer items"},
		{"stream_options.include_obfuscation", body.StreamOptions != nil && value(body.StreamOptions.IncludeObfuscation), "events are not padded"},
		{"reasoning.summary", summarises(reasoning.Summary), "the answer has the reasoning itself"},
		{"reasoning.generate_summary", summarises(reasoning.GenerateSummary), "the answer has the reasoning itself"},
		{"reasoning.context", reasoning.Context != nil && *reasoning.Context != "auto", "the chat template decides which reasoning the model sees again"},
		{"reasoning.mode", reasoning.Mode != nil && *reasoning.Mode != "standard", "there is one way of reasoning"},
	}...))
}

// summarises is true of summaries that are more than the server's choice.
func summarises(kind *string) bool { return kind != nil && *kind != "auto" }

// responseRequest translates a validated body, but for its messages. Each field of
// the API is used here, is given back, is metadata, or is refused by name.
func responseRequest(ctx context.Context, body *api.CreateResponse) (*inference.Request, error) {
	if err := refuseInResponse(body); err != nil {
		return nil, err
	}
	req := &inference.Request{
		Model: body.Model, Task: inference.TaskGenerate, Stream: value(body.Stream), ReasoningEffort: string(value(value(body.Reasoning).Effort)),
	}
	if !requests.Neutral(body.ChatTemplateKwargs) {
		req.TemplateArgs = body.ChatTemplateKwargs
	}
	if body.StreamOptions != nil && !req.Stream {
		return nil, inference.Invalid("stream_options", "stream_options needs stream: true")
	}
	if value(body.Priority) != 0 {
		req.Priority = body.Priority
	}
	var checked requests.Schemas
	if err := responseTools(ctx, body, req, &checked); err != nil {
		return nil, err
	}
	return req, responseSampling(ctx, body, &req.Sampling, &checked)
}

func responseSampling(ctx context.Context, body *api.CreateResponse, s *inference.Sampling, checked *requests.Schemas) (err error) {
	*s = inference.Sampling{
		Temperature: body.Temperature, TopP: body.TopP, TopK: body.TopK, MinP: body.MinP, Seed: body.Seed,
		FrequencyPenalty: body.FrequencyPenalty, PresencePenalty: body.PresencePenalty, RepetitionPenalty: body.RepetitionPenalty,
		MaxTokens: body.MaxOutputTokens, MinTokens: body.MinTokens, StopTokenIDs: body.StopTokenIds, IgnoreEOS: body.IgnoreEos,
		BadWords: body.BadWords, AllowedTokenIDs: body.AllowedTokenIds, IncludeStop: body.IncludeStopStrInOutput,
		SkipSpecialTokens: body.SkipSpecialTokens, SpacesBetweenSpecialTokens: body.SpacesBetweenSpecialTokens,
		TruncatePromptTokens: body.TruncatePromptTokens,
	}
	const asked = "message.output_text.logprobs"
	top := value(body.TopLogprobs)
	if slices.Contains(body.Include, asked) {
		s.Logprobs = &top
	} else if top > 0 {
		return inference.Invalid("top_logprobs", "top_logprobs needs %s in include", asked)
	}
	format, err := textFormat(body.Text)
	if err != nil {
		return err
	}
	err = constrain(s, body.Stop, body.LogitBias, constraintFields{
		text: format, outputs: body.StructuredOutputs, guidedJSON: body.GuidedJSON,
		guidedRegex: body.GuidedRegex, guidedGrammar: body.GuidedGrammar, guidedChoice: body.GuidedChoice,
	})
	if err != nil {
		return err
	}
	return checked.Structured(ctx, s.Structured)
}

// textSettings is the field text.
type textSettings struct {
	Format    json.RawMessage `json:"format"`
	Verbosity *string         `json:"verbosity"`
}

// readText reads the field that the validator has checked.
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

// textFormat is the constraint that text.format asks for, nil for none.
func textFormat(raw json.RawMessage) (*inference.Structured, error) {
	settings, err := readText(raw)
	switch {
	case err != nil:
		return nil, err
	case settings.Verbosity != nil && *settings.Verbosity != "medium":
		return nil, inference.Unsupported("text.verbosity", "text.verbosity is not supported: the verbosity can't be chosen")
	case requests.Neutral(settings.Format):
		return nil, nil //nolint:nilnil // unconstrained
	}
	const param = "text.format"
	var format struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	}
	if err := json.Unmarshal(settings.Format, &format); err != nil {
		return nil, inference.Invalid(param, "text.format must be an object with a type")
	}
	return formatConstraint(format.Type, format.Schema, param, param+".schema"), nil
}

// responseTools gives the tools the form of chats.
func responseTools(ctx context.Context, body *api.CreateResponse, req *inference.Request, checked *requests.Schemas) (err error) {
	req.SingleCall = body.ParallelToolCalls != nil && !*body.ParallelToolCalls
	if req.ToolChoice, err = responseToolChoice(body.ToolChoice); err != nil {
		return err
	}
	for i, raw := range body.Tools {
		definition, err := chatTool(ctx, checked, fmt.Sprintf("tools[%d]", i), raw, requests.ForcesCall(req))
		if err != nil {
			return err
		}
		req.Tools = append(req.Tools, definition)
	}
	return nil
}

// responseTool is a tool as far as it is looked at.
type responseTool struct {
	Type           string          `json:"type"`
	Name           string          `json:"name"`
	Description    *string         `json:"description"`
	Parameters     json.RawMessage `json:"parameters"`
	Strict         *bool           `json:"strict"`
	OutputSchema   json.RawMessage `json:"output_schema"`
	DeferLoading   bool            `json:"defer_loading"`
	AllowedCallers []string        `json:"allowed_callers"`
}

// chatTool gives a tool the form of chats, and checks it as they do.
func chatTool(ctx context.Context, s *requests.Schemas, param string, raw json.RawMessage, forced bool) (json.RawMessage, error) {
	var tool responseTool
	if err := json.Unmarshal(raw, &tool); err != nil {
		return nil, inference.Invalid(param, "%s must be a tool", param)
	}
	if tool.Type != requests.FunctionType {
		return nil, inference.Unsupported(param+".type", "%s.type must be function, got %s: there are no tools but the client's own functions", param, strictjson.Quote(tool.Type))
	}
	err := firstUsed([]unsupported{
		{param + ".output_schema", !requests.Neutral(tool.OutputSchema), "describe what it gives back in its description"},
		{param + ".defer_loading", tool.DeferLoading, "the model is told of all tools"},
		{param + ".allowed_callers", len(tool.AllowedCallers) > 0 && !slices.Contains(tool.AllowedCallers, "direct"), "the model alone calls"},
	})
	if err == nil && forced && !requests.Neutral(tool.Parameters) {
		err = s.Check(ctx, &inference.Structured{Kind: "json", Value: tool.Parameters, Param: param + ".parameters"})
	}
	if err != nil {
		return nil, err
	}
	return nestTool(raw)
}

// nestTool puts what says something of a function under the key where chats have
// it, in its order, which reaches the prompt.
func nestTool(raw json.RawMessage) (json.RawMessage, error) {
	nested := []byte(`{"type":"function","function":`)
	open := byte('{')
	r := strictjson.NewReader(raw)
	err := r.Object(func(key string) error {
		value, err := r.Raw()
		if err != nil || string(value) == "null" || !slices.Contains([]string{"name", "description", "parameters", "strict"}, key) {
			return err
		}
		nested = append(append(append(append(nested, open), quoted(key)...), ':'), value...)
		open = ','
		return nil
	})
	if err != nil {
		return nil, strictjson.BodyError(err)
	}
	return append(nested, "}}"...), nil
}

// responseToolChoice reads one of the words, or the function that must be called.
func responseToolChoice(raw json.RawMessage) (inference.ToolChoice, error) {
	if requests.Neutral(raw) || raw[0] == '"' {
		return toolChoice(raw)
	}
	var named struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	err := json.Unmarshal(raw, &named)
	switch {
	case err != nil:
		return inference.ToolChoice{}, inference.Invalid("tool_choice", "tool_choice must be none, auto, required or a function")
	case named.Type == "allowed_tools":
		return inference.ToolChoice{}, inference.Unsupported("tool_choice.type", "tool_choice.type must not be allowed_tools: send only the tools that may be called")
	case named.Type != requests.FunctionType:
		return inference.ToolChoice{}, inference.Unsupported("tool_choice.type", "tool_choice.type must be function, got %s: there are no tools but the client's own functions", strictjson.Quote(named.Type))
	case named.Name == "":
		return inference.ToolChoice{}, inference.Invalid("tool_choice.name", "tool_choice.name is required")
	}
	return inference.ToolChoice{Mode: inference.ToolNamed, Name: named.Name}, nil
}
