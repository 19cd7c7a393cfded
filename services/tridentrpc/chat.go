package tridentrpc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/server"
)

// Chat returns the whole response.
func (s *Service) Chat(ctx context.Context, msg *tridentv1.ChatRequest) (*tridentv1.ChatResponse, error) {
	req, err := chatRequest(ctx, msg, false)
	if err != nil {
		return nil, err
	}
	model, created := s.core.Resolve(req.Model), now()
	all, err := inference.Collect(s.core.Generate(ctx, &model, req), max(req.N, 1))
	if err != nil {
		return nil, err
	}
	answer := &tridentv1.ChatResponse{
		Id: req.ID, Model: req.Model, Created: created, SystemFingerprint: model.Fingerprint(),
		Usage: usage(&all.Usage, server.RecordOf(ctx)), Choices: make([]*tridentv1.ChatChoice, len(all.Choices)),
	}
	for i := range all.Choices {
		answer.Choices[i] = chatChoice(i, &all.Choices[i])
	}
	return answer, nil
}

func chatChoice(index int, c *inference.Choice) *tridentv1.ChatChoice {
	message := &tridentv1.ChatMessage{Role: tridentv1.Role_ROLE_ASSISTANT, Content: validText(c.Text)}
	for _, call := range c.ToolCalls {
		message.ToolCalls = append(message.ToolCalls, &tridentv1.ToolCall{Id: call.ID, Name: call.Name, Arguments: validText(call.Arguments)})
	}
	return &tridentv1.ChatChoice{
		Index: uint32(index), Message: message, Reasoning: validText(c.Reasoning),
		Logprobs: tokenLogprobs(c.Logprobs), FinishReason: finishReason(c.Finish),
	}
}

// ChatStream sends each delta as it arrives. Connect flushes every message, so
// that it reaches the client at once. All sends reuse one message.
func (s *Service) ChatStream(ctx context.Context, msg *tridentv1.ChatStreamRequest, stream *connect.ServerStream[tridentv1.ChatStreamResponse]) error {
	rec := server.RecordOf(ctx)
	req, err := chatRequest(ctx, msg.GetChat(), true)
	if err != nil {
		return err
	}
	model := s.core.Resolve(req.Model)
	out, piece := &tridentv1.ChatStreamResponse{}, &tridentv1.ChatDelta{}
	for delta, err := range s.core.Generate(ctx, &model, req) {
		if err != nil {
			return err
		}
		if delta.Empty() { // an empty message would be flushed, too
			continue
		}
		out = fresh(out)
		switch {
		case delta.Idle:
		case delta.Usage != nil:
			if out.Usage = usage(delta.Usage, rec); out.GetUsage() == nil {
				continue
			}
		default:
			if rec.FirstToken.IsZero() {
				rec.FirstToken = time.Now()
				out.Id, out.Model, out.Created, out.SystemFingerprint = req.ID, req.Model, now(), model.Fingerprint()
			}
			out.Delta = chatDelta(fresh(piece), &delta)
		}
		if err := send(stream, out); err != nil {
			return err
		}
	}
	return nil
}

func chatDelta(to *tridentv1.ChatDelta, d *inference.Delta) *tridentv1.ChatDelta {
	to.Index, to.Text, to.Reasoning = uint32(d.Index), validText(d.Text), validText(d.Reasoning)
	to.Logprobs, to.FinishReason = tokenLogprobs(d.Logprobs), finishReason(d.Finish)
	for _, piece := range d.ToolCalls {
		to.ToolCalls = append(to.ToolCalls, &tridentv1.ToolCallDelta{
			Index: uint32(piece.Index), Id: piece.ID, Name: piece.Name, Arguments: validText(piece.Arguments),
		})
	}
	return to
}

// roles are the names of roles in chat templates.
var roles = map[tridentv1.Role]string{ //nolint:gochecknoglobals // a constant table
	tridentv1.Role_ROLE_SYSTEM:    "system",
	tridentv1.Role_ROLE_DEVELOPER: "developer",
	tridentv1.Role_ROLE_USER:      "user",
	tridentv1.Role_ROLE_ASSISTANT: "assistant",
	tridentv1.Role_ROLE_TOOL:      "tool",
}

// chatRequest translates a request that satisfies the rules of its schema.
func chatRequest(ctx context.Context, msg *tridentv1.ChatRequest, stream bool) (*inference.Request, error) {
	var objects requests.Objects
	req := &inference.Request{
		ID: "chat-" + rand.Text(), Model: msg.GetModel(), Task: inference.TaskGenerate,
		N: int(msg.GetN()), Stream: stream, ReasoningEffort: msg.GetReasoningEffort(), Priority: priority(msg.GetPriority()),
		SingleCall: msg.ParallelToolCalls != nil && !msg.GetParallelToolCalls(), Sampling: chatSampling(msg),
	}
	req.Unenforced = func(field, _ string) error {
		ignore(ctx, field)
		return nil
	}
	var err error
	if req.ToolChoice, err = toolChoice(msg.GetToolChoice()); err != nil {
		return nil, err
	}
	for i, m := range msg.GetMessages() {
		message, err := chatMessage(&objects, fmt.Sprintf("messages[%d]", i), m)
		if err != nil {
			return nil, err
		}
		req.Messages = append(req.Messages, message)
	}
	for i, t := range msg.GetTools() {
		definition, err := toolDefinition(&objects, fmt.Sprintf("tools[%d].function", i), t.GetFunction())
		if err != nil {
			return nil, err
		}
		req.Tools = append(req.Tools, definition)
	}
	if err := requests.Allow(req, allowedFunctions+"[%d]"); err != nil {
		return nil, err
	}
	if kwargs := msg.GetChatTemplateKwargs(); kwargs != "" {
		if req.TemplateArgs, err = objects.DecodeMap("chat_template_kwargs", kwargs); err != nil {
			return nil, err
		}
	}
	return req, requests.Check(ctx, req)
}

func chatMessage(objects *requests.Objects, param string, m *tridentv1.ChatMessage) (inference.Message, error) {
	message := inference.Message{
		Role: roles[m.GetRole()], Name: m.GetName(), Text: m.GetContent(),
		Refusal: m.GetRefusal(), Reasoning: m.GetReasoning(),
		NoContent: m.GetContent() == "" && len(m.GetParts()) == 0 && (len(m.GetToolCalls()) > 0 || m.GetRefusal() != ""),
	}
	if m.GetRole() == tridentv1.Role_ROLE_TOOL {
		message.ToolCallID = m.GetToolCallId()
	}
	for _, p := range m.GetParts() {
		if image := p.GetImageUrl(); image != nil {
			message.Parts = append(message.Parts, inference.Part{Kind: inference.PartImage, URL: image.GetUrl()})
			continue
		}
		message.Parts = append(message.Parts, inference.Part{Kind: inference.PartText, Text: p.GetText()})
	}
	for i, call := range m.GetToolCalls() {
		arguments, malformed, err := objects.Arguments(fmt.Sprintf("%s.tool_calls[%d].arguments", param, i), call.GetArguments())
		if err != nil {
			return message, err
		}
		message.ToolCalls = append(message.ToolCalls, inference.ToolCall{ID: call.GetId(), Name: call.GetName(), Arguments: arguments, Malformed: malformed})
	}
	return message, nil
}

// toolDefinition returns a tool in the form of OpenAI's chats, as the prompt
// has it.
func toolDefinition(objects *requests.Objects, param string, f *tridentv1.FunctionTool) (json.RawMessage, error) {
	var parameters json.RawMessage
	if f.GetParameters() != "" {
		var err error
		if parameters, err = objects.Decode(param+".parameters", f.GetParameters()); err != nil {
			return nil, err
		}
	}
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
		Strict      *bool           `json:"strict,omitempty"`
	}
	definition, err := json.Marshal(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{f.GetName(), f.GetDescription(), parameters, f.Strict}}) //nolint:protogetter // unset differs from false
	if err != nil {
		return nil, fmt.Errorf("encode the tool definition: %w", err)
	}
	return definition, nil
}

// allowedFunctions is the path of the names of the functions that may be called.
const allowedFunctions = "tool_choice.allowed_functions"

func toolChoice(choice *tridentv1.ToolChoice) (inference.ToolChoice, error) {
	c := inference.ToolChoice{Name: choice.GetFunction(), Allowed: slices.Clone(choice.GetAllowedFunctions())}
	if c.Name != "" {
		c.Mode = inference.ToolNamed
	}
	switch choice.GetMode() {
	case tridentv1.ToolMode_TOOL_MODE_NONE:
		c.Mode = inference.ToolNone
	case tridentv1.ToolMode_TOOL_MODE_REQUIRED:
		c.Mode = inference.ToolRequired
	case tridentv1.ToolMode_TOOL_MODE_UNSPECIFIED, tridentv1.ToolMode_TOOL_MODE_AUTO:
	}
	if c.Allowed != nil && (c.Mode == inference.ToolNamed || c.Mode == inference.ToolNone) {
		return c, inference.Invalid(allowedFunctions, "%s can only be used with TOOL_MODE_AUTO or TOOL_MODE_REQUIRED", allowedFunctions)
	}
	return c, nil
}

func chatSampling(msg *tridentv1.ChatRequest) inference.Sampling {
	s := inference.Sampling{
		Temperature: msg.Temperature, TopP: msg.TopP, TopK: toInt(msg.TopK), MinP: msg.MinP, Seed: msg.Seed, //nolint:protogetter // unset differs from 0
		FrequencyPenalty: msg.FrequencyPenalty, PresencePenalty: msg.PresencePenalty, RepetitionPenalty: msg.RepetitionPenalty,
		MaxTokens: toInt(msg.MaxTokens), MinTokens: toInt(msg.MinTokens), TruncatePromptTokens: toInt(msg.TruncatePromptTokens), //nolint:protogetter // unset differs from 0
		IncludeStop: msg.IncludeStop, IgnoreEOS: msg.IgnoreEos,
		SkipSpecialTokens: msg.SkipSpecialTokens, SpacesBetweenSpecialTokens: msg.SpacesBetweenSpecialTokens,
	}
	commonSampling(&s, msg)
	if msg.GetLogprobs() {
		top := int(msg.GetTopLogprobs())
		s.Logprobs = &top
	}
	return s
}

// ignore lists a field without effect in the header of the response and in the log.
func ignore(ctx context.Context, field string) {
	rec := server.RecordOf(ctx)
	rec.Ignored = append(rec.Ignored, field)
	if call, ok := connect.CallInfoForHandlerContext(ctx); ok {
		call.ResponseHeader().Set("X-Trident-Ignored-Fields", strings.Join(rec.Ignored, ", "))
	}
}
