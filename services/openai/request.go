package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/requests"
)

// chatRequest translates a validated body for the core. Each field of the API is
// used here, or is metadata, or is refused by name.
func chatRequest(ctx context.Context, body *api.CreateChatCompletionRequest) (*inference.Request, error) {
	if err := refuseUnsupported(body); err != nil {
		return nil, err
	}
	messages, err := DecodeMessages(body.Messages)
	if err != nil {
		return nil, err
	}
	req := &inference.Request{
		Model: body.Model, Task: inference.TaskGenerate, Messages: messages,
		N: value(body.N), Stream: value(body.Stream), ReasoningEffort: string(value(body.ReasoningEffort)),
	}
	if !requests.Neutral(body.ChatTemplateKwargs) {
		req.TemplateArgs = body.ChatTemplateKwargs
	}
	if err := checkStreamOptions(body.StreamOptions, req.Stream); err != nil {
		return nil, err
	}
	if body.Priority != nil && *body.Priority != 0 {
		req.Priority = body.Priority
	}
	if err := chatTools(body, req); err != nil {
		return nil, err
	}
	if err := chatSampling(body, &req.Sampling); err != nil {
		return nil, err
	}
	return req, clientsName(body, requests.Check(ctx, req))
}

func checkStreamOptions(options *api.ChatCompletionStreamOptions, stream bool) error {
	switch {
	case options == nil:
	case !stream:
		return inference.Invalid("stream_options", "stream_options needs stream: true")
	case value(options.IncludeObfuscation):
		const param = "stream_options.include_obfuscation"
		return inference.Unsupported(param, "%s is not supported: events aren't padded", param)
	}
	return nil
}

// clientsName gives errors about max_tokens, the core's name of that limit, the
// newer name where the client used it.
func clientsName(body *api.CreateChatCompletionRequest, err error) error {
	const name, newer = "max_tokens", "max_completion_tokens"
	e, ok := errors.AsType[*inference.Error](err)
	if !ok || body.MaxCompletionTokens == nil || e.Param != name && e.Param != "min_tokens" {
		return err
	}
	renamed := *e
	renamed.Message = strings.ReplaceAll(e.Message, name, newer)
	if e.Param == name {
		renamed.Param = newer
	}
	return &renamed
}

func chatSampling(body *api.CreateChatCompletionRequest, s *inference.Sampling) (err error) {
	*s = inference.Sampling{
		Temperature: body.Temperature, TopP: body.TopP, TopK: body.TopK, MinP: body.MinP, Seed: body.Seed,
		FrequencyPenalty: body.FrequencyPenalty, PresencePenalty: body.PresencePenalty, RepetitionPenalty: body.RepetitionPenalty,
		MaxTokens: body.MaxTokens, MinTokens: body.MinTokens, StopTokenIDs: body.StopTokenIds, IgnoreEOS: body.IgnoreEos,
		BadWords: texts(body.BadWords), AllowedTokenIDs: body.AllowedTokenIds, IncludeStop: body.IncludeStopStrInOutput,
		SkipSpecialTokens: body.SkipSpecialTokens, SpacesBetweenSpecialTokens: body.SpacesBetweenSpecialTokens,
		TruncatePromptTokens: body.TruncatePromptTokens,
	}
	if body.MaxCompletionTokens != nil {
		s.MaxTokens = body.MaxCompletionTokens
	}
	if s.Logprobs, err = logprobs(body); err != nil {
		return err
	}
	return constrain(s, body.Stop, body.LogitBias, constraintFields{
		format: body.ResponseFormat, outputs: body.StructuredOutputs, guidedJSON: body.GuidedJSON,
		guidedRegex: body.GuidedRegex, guidedGrammar: body.GuidedGrammar, guidedChoice: body.GuidedChoice,
	})
}

// constrain reads the fields that say what the answer may be.
func constrain(s *inference.Sampling, stop json.RawMessage, bias map[string]int, fields constraintFields) (err error) {
	if s.Stop, err = stopTexts(stop); err != nil {
		return err
	}
	if s.LogitBias, err = logitBias(bias); err != nil {
		return err
	}
	s.Structured, err = structured(fields)
	return err
}

// constraintFields are all names of a constraint on the answer's form.
type constraintFields struct {
	text                        *inference.Structured // read already
	format, outputs, guidedJSON json.RawMessage
	guidedRegex, guidedGrammar  *string
	guidedChoice                []string
}

// logprobs is how many alternatives to give, nil for no log probabilities at all.
func logprobs(body *api.CreateChatCompletionRequest) (*int, error) {
	top := value(body.TopLogprobs)
	if value(body.Logprobs) {
		return &top, nil
	}
	if top > 0 {
		return nil, inference.Invalid("top_logprobs", "top_logprobs needs logprobs: true")
	}
	return nil, nil //nolint:nilnil // nil is "not asked for"
}

// stopTexts reads a text or a list; an empty text stops nothing.
func stopTexts(raw json.RawMessage) ([]string, error) {
	if requests.Neutral(raw) {
		return nil, nil
	}
	var list []string
	var one string
	if json.Unmarshal(raw, &one) == nil {
		list = []string{one}
	} else if err := json.Unmarshal(raw, &list); err != nil {
		return nil, inference.Invalid("stop", "stop must be a text or a list of at most 4 texts")
	}
	return texts(list), nil
}

// texts leaves out the empty ones, which ask for nothing.
func texts(list []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

func logitBias(body map[string]int) (map[int]float64, error) {
	if len(body) == 0 {
		return nil, nil //nolint:nilnil // no bias
	}
	biases := make(map[int]float64, len(body))
	for _, key := range slices.Sorted(maps.Keys(body)) { // the same error each time
		id, err := strconv.Atoi(key)
		if err != nil || id < 0 {
			return nil, inference.Invalid("logit_bias", "logit_bias must map token ids to biases; %q is no token id", key)
		}
		biases[id] = float64(body[key])
	}
	return biases, nil
}

// refuseUnsupported names the first field that no model behind Trident honours.
// Values that change nothing are never refused: null, empty, the API's default.
func refuseUnsupported(body *api.CreateChatCompletionRequest) error {
	return firstUsed(append(unsupportedSampling(body.UseBeamSearch, body.LengthPenalty, body.PromptLogprobs), []unsupported{
		{"functions", len(body.Functions) > 0, "they are the older form of tools"},
		{"function_call", !optionalChoice(body.FunctionCall), "there are no functions to call"},
		{"modalities", slices.ContainsFunc(body.Modalities, func(m api.ResponseModality) bool { return m != "text" }), "answers are text"},
		{"audio", !requests.Neutral(body.Audio), "answers are text"},
		{"prediction", !requests.Neutral(body.Prediction), "no engine here takes one"},
		{"web_search_options", !requests.Neutral(body.WebSearchOptions), "there is no web search"},
		{"moderation", !requests.Neutral(body.Moderation), "there is no moderation"},
		{"verbosity", body.Verbosity != nil && *body.Verbosity != "medium", "the verbosity can't be chosen"},
		{"documents", !requests.Neutral(body.Documents), "put their text into a message"},
		{"add_generation_prompt", body.AddGenerationPrompt != nil && !*body.AddGenerationPrompt, "a chat always asks for the next message"},
		{"continue_final_message", value(body.ContinueFinalMessage), "a chat always asks for the next message"},
	}...))
}

// unsupported is a field that no model behind Trident honours.
type unsupported struct {
	name string
	used bool
	why  string
}

// unsupportedSampling are the extensions of chats and completions.
func unsupportedSampling(beamSearch *bool, lengthPenalty *float64, promptLogprobs *int) []unsupported {
	return []unsupported{
		{"use_beam_search", value(beamSearch), "there is no beam search"},
		{"length_penalty", lengthPenalty != nil && *lengthPenalty != 1, "there is no beam search"},
		{"prompt_logprobs", promptLogprobs != nil, "log probabilities are those of the answer"},
	}
}

func firstUsed(fields []unsupported) error {
	for _, field := range fields {
		if field.used {
			return inference.Unsupported(field.name, "%s is not supported: %s", field.name, field.why)
		}
	}
	return nil
}

// optionalChoice is true of a choice of functions that needs none.
func optionalChoice(choice json.RawMessage) bool {
	return requests.Neutral(choice) || string(choice) == `"none"` || string(choice) == `"auto"`
}

// structured finds the constraint on the answer, under any of its names.
func structured(fields constraintFields) (*inference.Structured, error) {
	found, err := constraints(fields)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, nil //nolint:nilnil // unconstrained
	case len(found) > 1:
		return nil, inference.Invalid(found[1].Param, "%s and %s can't be used together", found[0].Param, found[1].Param)
	}
	return found[0], nil
}

func constraints(fields constraintFields) ([]*inference.Structured, error) {
	var found []*inference.Structured
	if fields.text != nil {
		found = append(found, fields.text)
	}
	if c, err := responseFormat(fields.format); err != nil {
		return nil, err
	} else if c != nil {
		found = append(found, c)
	}
	if !requests.Neutral(fields.guidedJSON) {
		found = append(found, &inference.Structured{Kind: "json", Value: unquoted(fields.guidedJSON), Param: "guided_json"})
	}
	for _, c := range []struct {
		kind, param string
		used        bool
		value       any
	}{
		{"regex", "guided_regex", value(fields.guidedRegex) != "", fields.guidedRegex},
		{"choice", "guided_choice", len(fields.guidedChoice) > 0, fields.guidedChoice},
		{"grammar", "guided_grammar", value(fields.guidedGrammar) != "", fields.guidedGrammar},
	} {
		if !c.used {
			continue
		}
		raw, err := json.Marshal(c.value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", c.param, err)
		}
		found = append(found, &inference.Structured{Kind: c.kind, Value: raw, Param: c.param})
	}
	more, err := structuredOutputs(fields.outputs)
	return append(found, more...), err
}

// responseFormat reads OpenAI's own form.
func responseFormat(raw json.RawMessage) (*inference.Structured, error) {
	if requests.Neutral(raw) {
		return nil, nil //nolint:nilnil // unconstrained
	}
	const param = "response_format"
	var format struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if err := json.Unmarshal(raw, &format); err != nil {
		return nil, inference.Invalid(param, "response_format must be an object with a type")
	}
	return formatConstraint(format.Type, format.JSONSchema.Schema, param, param+".json_schema.schema"), nil
}

// formatConstraint is what a format of that type asks for, nil for text. The params
// are those of the format and of its schema.
func formatConstraint(kind string, schema json.RawMessage, param, schemaParam string) *inference.Structured {
	switch kind {
	case "json_object":
		return &inference.Structured{Kind: kind, Value: json.RawMessage("true"), Param: param}
	case "json_schema":
		if requests.Neutral(schema) {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		return &inference.Structured{Kind: "json", Value: schema, Param: schemaParam}
	}
	return nil
}

// structuredKinds are the constraints of vLLM's structured outputs, in the order in which
// a request with several of them is read.
var structuredKinds = []string{"json", "json_object", "regex", "choice", "grammar", "structural_tag"} //nolint:gochecknoglobals // a constant list

// structuredOutputs reads vLLM's extension: an object with exactly one kind.
func structuredOutputs(raw json.RawMessage) ([]*inference.Structured, error) {
	if requests.Neutral(raw) {
		return nil, nil
	}
	const param = "structured_outputs"
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, inference.Invalid(param, "structured_outputs must be an object")
	}
	used := func(kind string) bool { return !requests.Neutral(members[kind]) && string(members[kind]) != "false" }
	for _, kind := range slices.Sorted(maps.Keys(members)) {
		if used(kind) && !slices.Contains(structuredKinds, kind) {
			// vLLM would drop it and answer unconstrained.
			return nil, inference.Unsupported(param, "structured_outputs.%s is not one of %s", kind, strings.Join(structuredKinds, ", "))
		}
	}
	var found []*inference.Structured
	for _, kind := range structuredKinds {
		if !used(kind) {
			continue
		}
		v := members[kind]
		if kind == "json" {
			v = unquoted(v)
		}
		found = append(found, &inference.Structured{Kind: kind, Value: v, Param: param + "." + kind})
	}
	return found, nil
}

// unquoted gives a schema that came as JSON inside a string.
func unquoted(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return json.RawMessage(text)
	}
	return raw
}

// value is what p points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
