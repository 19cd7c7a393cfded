package openai

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/server"
)

// chatRequest translates a validated body into a request of the core. Each field
// of the API is used here, is metadata, or is refused by name.
func chatRequest(ctx context.Context, body *api.CreateChatCompletionRequest) (*inference.Request, error) {
	if err := refuseUnsupported(body); err != nil {
		return nil, err
	}
	if err := server.Ignore(ctx, withoutEffect(body)...); err != nil {
		return nil, err
	}
	messages, err := DecodeMessages(body.Messages)
	if err != nil {
		return nil, err
	}
	req := &inference.Request{
		Model: body.Model, Task: inference.TaskGenerate, Messages: messages,
		N: decode.Value(body.N), Stream: decode.Value(body.Stream), ReasoningEffort: string(decode.Value(body.ReasoningEffort)),
	}
	if !requests.Neutral(body.ChatTemplateKwargs) {
		req.TemplateArgs = body.ChatTemplateKwargs
	}
	if !requests.Neutral(body.Documents) {
		req.Documents = body.Documents
	}
	if err := chatContinuation(req, body); err != nil {
		return nil, err
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
	case decode.Value(options.IncludeObfuscation):
		const param = "stream_options.include_obfuscation"
		return inference.Unsupported(param, "%s is not supported: the server adds no padding to events", param)
	}
	return nil
}

// clientsName renames max_tokens, the core's name of the limit, in errors to
// max_completion_tokens if the client used that field.
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
		BadWords: decode.Texts(body.BadWords), AllowedTokenIDs: body.AllowedTokenIds, IncludeStop: body.IncludeStopStrInOutput,
		SkipSpecialTokens: body.SkipSpecialTokens, SpacesBetweenSpecialTokens: body.SpacesBetweenSpecialTokens,
		TruncatePromptTokens: body.TruncatePromptTokens,
	}
	if body.MaxCompletionTokens != nil {
		s.MaxTokens = body.MaxCompletionTokens
	}
	if s.Logprobs, err = logprobs(body); err != nil {
		return err
	}
	if s.PromptLogprobs, err = decode.PromptLogprobs(body.PromptLogprobs, decode.Value(body.Stream)); err != nil {
		return err
	}
	return decode.Constrain(s, body.Stop, body.LogitBias, decode.Constraints{
		Format: body.ResponseFormat, Outputs: body.StructuredOutputs, GuidedJSON: body.GuidedJSON,
		GuidedRegex: body.GuidedRegex, GuidedGrammar: body.GuidedGrammar, GuidedChoice: body.GuidedChoice,
	})
}

// logprobs returns the number of alternatives per token, or nil if no log
// probabilities are requested.
func logprobs(body *api.CreateChatCompletionRequest) (*int, error) {
	top := decode.Value(body.TopLogprobs)
	if decode.Value(body.Logprobs) {
		return &top, nil
	}
	if top > 0 {
		return nil, inference.Invalid("top_logprobs", "top_logprobs needs logprobs: true")
	}
	return nil, nil //nolint:nilnil // nil means not requested
}

// refuseUnsupported returns an error that names the first unsupported field.
// Values without an effect are never refused: null, empty values, and the API's
// default.
func refuseUnsupported(body *api.CreateChatCompletionRequest) error {
	return decode.FirstUsed(append(decode.UnsupportedSampling(body.UseBeamSearch, body.LengthPenalty), []decode.Unsupported{
		{Name: "functions", Used: len(body.Functions) > 0, Why: "use tools, which replace them"},
		{Name: "function_call", Used: !optionalChoice(body.FunctionCall), Why: "use tool_choice, which replaces it"},
		{Name: "modalities", Used: slices.ContainsFunc(body.Modalities, func(m api.ResponseModality) bool { return m != "text" }), Why: "models return only text"},
		{Name: "audio", Used: !requests.Neutral(body.Audio), Why: "models return only text"},
		{Name: "web_search_options", Used: !requests.Neutral(body.WebSearchOptions), Why: "web search is not available"},
		{Name: "moderation", Used: !requests.Neutral(body.Moderation), Why: "moderation is not available"},
	}...))
}

// withoutEffect returns the fields of the request that are accepted and have no effect on the
// response that a client could rely on.
func withoutEffect(body *api.CreateChatCompletionRequest) []server.IgnoredField {
	var fields []server.IgnoredField
	if !requests.Neutral(body.Prediction) {
		fields = append(fields, server.IgnoredField{Name: "prediction", Reason: "prediction has no effect: predicted outputs are not available"})
	}
	if body.Verbosity != nil && *body.Verbosity != "medium" {
		fields = append(fields, server.IgnoredField{Name: "verbosity", Reason: "verbosity has no effect: only medium, the default, is available"})
	}
	return fields
}

// chatContinuation is [requests.Continuation] for a chat, whose response is the assistant's.
func chatContinuation(req *inference.Request, body *api.CreateChatCompletionRequest) error {
	if err := requests.Continuation(req, body.AddGenerationPrompt, body.ContinueFinalMessage); err != nil {
		return err
	}
	if req.Continue && req.Messages[len(req.Messages)-1].Role != "assistant" {
		return inference.Invalid("continue_final_message", "continue_final_message needs a last message with the role assistant")
	}
	return nil
}

// optionalChoice reports whether a function choice doesn't force a call.
func optionalChoice(choice json.RawMessage) bool {
	return requests.Neutral(choice) || string(choice) == `"none"` || string(choice) == `"auto"`
}

// chatTools reads the tools and the tool choice.
func chatTools(body *api.CreateChatCompletionRequest, req *inference.Request) (err error) {
	var custom customTools
	req.Tools, custom = readTools(body.Tools)
	if err := custom.checkNames(req.Tools); err != nil {
		return err
	}
	req.SingleCall = body.ParallelToolCalls != nil && !*body.ParallelToolCalls
	if req.ToolChoice, err = decode.ToolChoice(body.ToolChoice); err != nil {
		return err
	}
	return requests.Allow(req, "tool_choice.allowed_tools.tools[%d]")
}
