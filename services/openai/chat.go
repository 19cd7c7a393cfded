package openai

import (
	"context"
	"crypto/rand"
	"iter"
	"net/http"
	"time"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/wire"
	"github.com/trident-inference/trident/services/server"
)

// CreateChatCompletion answers a chat, with a non-streaming response or with a
// stream of events.
func (h *Handler) CreateChatCompletion(ctx context.Context, request api.CreateChatCompletionRequestObject) (api.CreateChatCompletionResponseObject, error) {
	req, model, err := h.newChat(ctx, request.Body)
	if err != nil {
		return nil, err
	}
	if !req.Stream {
		return h.chat(ctx, request.Body, req, model)
	}
	_, custom := readTools(request.Body.Tools)
	return &chatStream{ctx: ctx, handler: h, body: request.Body, model: *model, req: req, events: ChatEvents{
		ID: req.ID, Choices: max(req.N, 1), Record: server.RecordOf(ctx),
		Usage: usageOf(request.Body.StreamOptions), custom: custom,
	}}, nil
}

// newChat returns the request of the core for a chat, and its model.
func (h *Handler) newChat(ctx context.Context, body *api.CreateChatCompletionRequest) (*inference.Request, *catalog.Resolution, error) {
	server.RecordOf(ctx).Model = body.Model
	req, err := chatRequest(ctx, body)
	if err != nil {
		return nil, nil, err
	}
	req.ID = "chatcmpl-" + rand.Text()
	req.Unenforced = func(field, reason string) error {
		return server.Ignore(ctx, server.IgnoredField{Name: field, Reason: reason})
	}
	model := h.service.Resolve(req.Model)
	_, custom := readTools(body.Tools)
	return req, &model, custom.constrain(ctx, req, &model)
}

// generate runs the request. Its errors name the fields that the client used.
func (h *Handler) generate(ctx context.Context, model *catalog.Resolution, body *api.CreateChatCompletionRequest, req *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		for delta, err := range h.service.Generate(ctx, model, req) {
			if !yield(delta, clientsName(body, err)) {
				return
			}
		}
	}
}

// chat returns the non-streaming response.
func (h *Handler) chat(ctx context.Context, body *api.CreateChatCompletionRequest, req *inference.Request, model *catalog.Resolution) (api.CreateChatCompletionResponseObject, error) {
	rec := server.RecordOf(ctx)
	answer := api.CreateChatCompletion200JSONResponse{
		ID: req.ID, Object: "chat.completion", Created: time.Now().Unix(), Model: req.Model,
	}
	all, err := inference.Collect(h.generate(ctx, model, body, req), max(req.N, 1))
	if err != nil {
		return nil, err
	}
	answer.SystemFingerprint, answer.Usage = wire.Optional(model.Fingerprint()), wire.Usage(&all.Usage, rec)
	if prompt := all.Choices[0].Prompt; prompt != nil {
		answer.PromptLogprobs = promptLogprobs(prompt, *req.Sampling.PromptLogprobs)
	}
	_, custom := readTools(body.Tools)
	for i := range all.Choices {
		c := &all.Choices[i]
		choice := api.ChatCompletionChoice{Index: i, Message: message(c, custom), FinishReason: api.ChatCompletionFinishReason(c.Finish)}
		if c.Logprobs != nil {
			choice.Logprobs = &api.ChatCompletionChoiceLogprobs{Content: wire.TokenLogprobs(c.Logprobs)}
		}
		answer.Choices = append(answer.Choices, choice)
	}
	return answer, nil
}

// chatStream is a response that is written while the model generates it.
type chatStream struct {
	ctx     context.Context //nolint:containedctx // the generated interface passes only the writer
	handler *Handler
	body    *api.CreateChatCompletionRequest
	model   catalog.Resolution
	req     *inference.Request
	events  ChatEvents
}

// VisitCreateChatCompletionResponse writes the stream. It returns an error that
// occurs before the first event, which then gets its own status. Later errors
// become events.
func (s *chatStream) VisitCreateChatCompletionResponse(w http.ResponseWriter) error {
	s.events.Model = &s.model
	return s.events.Write(w, s.handler.generate(s.ctx, &s.model, s.body, s.req))
}

// message returns the message of a non-streaming response. A message with calls
// and no text has no content.
func message(g *inference.Choice, custom customTools) api.ChatCompletionResponseMessage {
	m := api.ChatCompletionResponseMessage{Role: "assistant"}
	if len(g.Text) > 0 || len(g.ToolCalls) == 0 {
		m.Content = new(string(g.Text))
	}
	if len(g.Reasoning) > 0 {
		m.ReasoningContent = new(string(g.Reasoning))
		m.Reasoning = m.ReasoningContent
	}
	for i := range g.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, custom.call(&g.ToolCalls[i]))
	}
	return m
}
