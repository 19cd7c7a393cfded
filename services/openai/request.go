package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
)

// chatRequest translates a validated body for the core. Each field of the API is
// used here, or is metadata, or is refused by name.
func chatRequest(body *api.CreateChatCompletionRequest) (*inference.Request, error) {
	if err := refuseUnsupported(body); err != nil {
		return nil, err
	}
	messages, err := DecodeMessages(body.Messages)
	if err != nil {
		return nil, err
	}
	req := &inference.Request{
		Model: body.Model, Task: inference.TaskGenerate, Messages: messages,
		N: value(body.N), Stream: value(body.Stream),
	}
	if !neutral(body.ChatTemplateKwargs) {
		req.TemplateArgs = body.ChatTemplateKwargs
	}
	if body.StreamOptions != nil && !req.Stream {
		return nil, inference.Invalid("stream_options", "stream_options needs stream: true")
	}
	if body.Priority != nil && *body.Priority != 0 {
		req.Priority = body.Priority
	}
	return req, chatSampling(body, &req.Sampling)
}

func chatSampling(body *api.CreateChatCompletionRequest, s *inference.Sampling) error {
	*s = inference.Sampling{
		Temperature: body.Temperature, TopP: body.TopP, TopK: body.TopK, MinP: body.MinP, Seed: body.Seed,
		FrequencyPenalty: body.FrequencyPenalty, PresencePenalty: body.PresencePenalty, RepetitionPenalty: body.RepetitionPenalty,
		MaxTokens: body.MaxTokens, MinTokens: body.MinTokens, StopTokenIDs: body.StopTokenIds, IgnoreEOS: body.IgnoreEos,
		BadWords: body.BadWords, AllowedTokenIDs: body.AllowedTokenIds, IncludeStop: body.IncludeStopStrInOutput,
		SkipSpecialTokens: body.SkipSpecialTokens, SpacesBetweenSpecialTokens: body.SpacesBetweenSpecialTokens,
		TruncatePromptTokens: body.TruncatePromptTokens,
	}
	if body.MaxCompletionTokens != nil {
		s.MaxTokens = body.MaxCompletionTokens
	}
	var err error
	if s.Stop, err = stopTexts(body.Stop); err != nil {
		return err
	}
	if s.LogitBias, err = logitBias(body.LogitBias); err != nil {
		return err
	}
	if s.Logprobs, err = logprobs(body); err != nil {
		return err
	}
	s.Structured, err = structured(body)
	return err
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
	if neutral(raw) {
		return nil, nil
	}
	var list []string
	var one string
	if json.Unmarshal(raw, &one) == nil {
		list = []string{one}
	} else if err := json.Unmarshal(raw, &list); err != nil {
		return nil, inference.Invalid("stop", "stop must be a text or a list of at most 4 texts")
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" }), nil
}

func logitBias(body map[string]int) (map[int]float64, error) {
	if len(body) == 0 {
		return nil, nil //nolint:nilnil // no bias
	}
	biases := make(map[int]float64, len(body))
	for key, bias := range body {
		id, err := strconv.Atoi(key)
		if err != nil || id < 0 {
			return nil, inference.Invalid("logit_bias", "logit_bias must map token ids to biases; %q is no token id", key)
		}
		biases[id] = float64(bias)
	}
	return biases, nil
}

// refuseUnsupported names the first field that no model behind Trident honours.
// Values that change nothing are never refused: null, empty, the API's default.
func refuseUnsupported(body *api.CreateChatCompletionRequest) error {
	for _, field := range []struct {
		name string
		used bool
		why  string
	}{
		{"tools", len(body.Tools) > 0 && !choosesNone(body.ToolChoice), "no tool-call parser is set for this model"},
		{"functions", len(body.Functions) > 0, "use models without function calls"},
		{"modalities", slices.ContainsFunc(body.Modalities, func(m api.ResponseModality) bool { return m != "text" }), "answers are text"},
		{"audio", !neutral(body.Audio), "answers are text"},
		{"prediction", !neutral(body.Prediction), "predicted outputs are not supported"},
		{"web_search_options", !neutral(body.WebSearchOptions), "there is no web search"},
		{"moderation", !neutral(body.Moderation), "there is no moderation"},
		{"reasoning_effort", body.ReasoningEffort != nil && *body.ReasoningEffort != "medium", "the effort can't be chosen"},
		{"verbosity", body.Verbosity != nil && *body.Verbosity != "medium", "the verbosity can't be chosen"},
		{"length_penalty", body.LengthPenalty != nil && *body.LengthPenalty != 1, "there is no beam search"},
		{"add_generation_prompt", body.AddGenerationPrompt != nil && !*body.AddGenerationPrompt, "a chat always asks for the next message"},
		{"continue_final_message", value(body.ContinueFinalMessage), "a chat always asks for the next message"},
	} {
		if field.used {
			return inference.Unsupported(field.name, "%s is not supported: %s", field.name, field.why)
		}
	}
	return nil
}

func choosesNone(choice json.RawMessage) bool { return string(choice) == `"none"` }

// structured finds the constraint on the answer, under any of its names.
func structured(body *api.CreateChatCompletionRequest) (*inference.Structured, error) {
	found, err := constraints(body)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, nil //nolint:nilnil // unconstrained
	case len(found) > 1:
		return nil, inference.Invalid(found[1].Param, "%s and %s can't be used together", found[0].Param, found[1].Param)
	}
	c := found[0]
	if c.Kind == "json" {
		return c, checkSchema(c)
	}
	return c, nil
}

func constraints(body *api.CreateChatCompletionRequest) ([]*inference.Structured, error) {
	var found []*inference.Structured
	add := func(kind, param string, v any) {
		raw, err := json.Marshal(v)
		if err == nil { // texts, lists of texts and raw JSON can't fail
			found = append(found, &inference.Structured{Kind: kind, Value: raw, Param: param})
		}
	}
	if c, err := responseFormat(body.ResponseFormat); err != nil {
		return nil, err
	} else if c != nil {
		found = append(found, c)
	}
	if !neutral(body.GuidedJSON) {
		add("json", "guided_json", unquoted(body.GuidedJSON))
	}
	if value(body.GuidedRegex) != "" {
		add("regex", "guided_regex", *body.GuidedRegex)
	}
	if len(body.GuidedChoice) > 0 {
		add("choice", "guided_choice", body.GuidedChoice)
	}
	if value(body.GuidedGrammar) != "" {
		add("grammar", "guided_grammar", *body.GuidedGrammar)
	}
	more, err := structuredOutputs(body.StructuredOutputs)
	return append(found, more...), err
}

// responseFormat reads OpenAI's own form.
func responseFormat(raw json.RawMessage) (*inference.Structured, error) {
	if neutral(raw) {
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
	switch format.Type {
	case "json_object":
		return &inference.Structured{Kind: "json_object", Value: json.RawMessage("true"), Param: param}, nil
	case "json_schema":
		schema := format.JSONSchema.Schema
		if neutral(schema) {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		return &inference.Structured{Kind: "json", Value: schema, Param: param + ".json_schema.schema"}, nil
	}
	return nil, nil //nolint:nilnil // text
}

// structuredKinds are the constraints of vLLM's structured outputs.
var structuredKinds = []string{"json", "json_object", "regex", "choice", "grammar", "structural_tag"} //nolint:gochecknoglobals // a constant list

// structuredOutputs reads vLLM's extension: an object with exactly one kind.
func structuredOutputs(raw json.RawMessage) ([]*inference.Structured, error) {
	if neutral(raw) {
		return nil, nil
	}
	const param = "structured_outputs"
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, inference.Invalid(param, "structured_outputs must be an object")
	}
	var found []*inference.Structured
	for kind, v := range members {
		switch {
		case neutral(v) || string(v) == "false":
		case !slices.Contains(structuredKinds, kind):
			// vLLM would drop it and answer unconstrained.
			return nil, inference.Unsupported(param, "structured_outputs.%s is not one of %s", kind, strings.Join(structuredKinds, ", "))
		default:
			if kind == "json" {
				v = unquoted(v)
			}
			found = append(found, &inference.Structured{Kind: kind, Value: v, Param: param + "." + kind})
		}
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

// checkSchema compiles the schema: engines take nonsense and answer
// unconstrained.
func checkSchema(c *inference.Structured) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Value))
	if err != nil {
		return inference.Invalid(c.Param, "%s is not valid JSON", c.Param)
	}
	if _, isObject := doc.(map[string]any); !isObject {
		return inference.Invalid(c.Param, "%s must be a JSON schema object", c.Param)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	const name = "schema.json"
	if err := compiler.AddResource(name, doc); err != nil {
		return inference.Invalid(c.Param, "%s is not a valid JSON schema: %v", c.Param, err)
	}
	if _, err := compiler.Compile(name); err != nil {
		return inference.Invalid(c.Param, "%s is not a valid JSON schema: %s", c.Param, firstLine(err))
	}
	return nil
}

// noLoader keeps schemas from reading files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("references outside the schema are not followed (%s)", url)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// neutral tells whether a value says nothing: absent, null, or empty.
func neutral(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "{}", "[]", `""`:
		return true
	}
	return false
}

// value is what p points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
