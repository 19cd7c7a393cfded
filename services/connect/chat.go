// Package connect is the frontend of the typed services in api/trident: Connect,
// gRPC and gRPC-Web on the shared port. It only translates.
package connect

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// ChatService answers trident.v1.ChatService from the shared service. It may be
// used concurrently.
type ChatService struct {
	service *inference.Service
}

// NewChatService makes the frontend.
func NewChatService(service *inference.Service) *ChatService { return &ChatService{service: service} }

// NewRoute mounts the service. Messages are bounded as the other surfaces' bodies
// are, also when they come compressed.
func NewRoute(s *ChatService, cfg server.Config) server.Route {
	path, handler := tridentv1connect.NewChatServiceHandler(s, connect.WithReadMaxBytes(int(cfg.MaxBody)))
	return server.Route{Pattern: path, Handler: handler}
}

// Chat collects the whole answer.
func (s *ChatService) Chat(ctx context.Context, msg *tridentv1.ChatRequest) (*tridentv1.ChatResponse, error) {
	rec := server.RecordOf(ctx)
	req, err := chatRequest(msg, false)
	if err != nil {
		return nil, connectError(rec, err)
	}
	rec.Model = req.Model
	answer := &tridentv1.ChatResponse{Id: req.ID, Model: req.Model, Created: now()}
	var texts, reasoning [][]byte
	reach := func(index int) { // a model may give more choices than were asked for
		for i := len(texts); i <= index; i++ {
			answer.Choices = append(answer.Choices, &tridentv1.ChatChoice{Index: uint32(i)})
			texts, reasoning = append(texts, nil), append(reasoning, nil)
		}
	}
	reach(max(req.N, 1) - 1)
	for delta, err := range s.service.Generate(ctx, req) {
		if err != nil {
			return nil, connectError(rec, err)
		}
		if delta.Usage != nil {
			answer.Usage = usage(delta.Usage, rec)
			continue
		}
		reach(delta.Index)
		choice := answer.GetChoices()[delta.Index]
		texts[delta.Index] = append(texts[delta.Index], delta.Text...)
		reasoning[delta.Index] = append(reasoning[delta.Index], delta.Reasoning...)
		choice.Logprobs = append(choice.Logprobs, tokenLogprobs(delta.Logprobs)...)
		if delta.Finish != inference.FinishNone {
			choice.FinishReason = finishReason(delta.Finish)
		}
	}
	for i, choice := range answer.GetChoices() {
		choice.Message = &tridentv1.ChatMessage{Role: tridentv1.Role_ROLE_ASSISTANT, Content: validText(texts[i])}
		choice.Reasoning = validText(reasoning[i])
	}
	return answer, nil
}

// ChatStream sends each piece as it comes. Sends reach the client at once:
// Connect flushes every message.
func (s *ChatService) ChatStream(ctx context.Context, msg *tridentv1.ChatStreamRequest, stream *connect.ServerStream[tridentv1.ChatStreamResponse]) error {
	rec := server.RecordOf(ctx)
	req, err := chatRequest(msg.GetChat(), true)
	if err != nil {
		return connectError(rec, err)
	}
	rec.Model = req.Model
	first := true
	for delta, err := range s.service.Generate(ctx, req) {
		if err != nil {
			return connectError(rec, err)
		}
		out := &tridentv1.ChatStreamResponse{}
		switch {
		case delta.Empty(): // Connect flushes every message
			continue
		case delta.Idle:
		case delta.Usage != nil:
			out.Usage = usage(delta.Usage, rec)
		default:
			if first {
				first = false
				rec.FirstToken = time.Now()
				out.Id, out.Model, out.Created = req.ID, req.Model, now()
			}
			out.Delta = &tridentv1.ChatDelta{
				Index: uint32(delta.Index), Text: validText(delta.Text), Reasoning: validText(delta.Reasoning),
				Logprobs: tokenLogprobs(delta.Logprobs), FinishReason: finishReason(delta.Finish),
			}
		}
		if err := stream.Send(out); err != nil {
			return connectError(rec, &inference.Error{Code: inference.CodeCanceled, Message: "the client closed the request", Err: err})
		}
	}
	return nil
}

// now is in whole seconds, as OpenAI's created is.
func now() *timestamppb.Timestamp { return &timestamppb.Timestamp{Seconds: time.Now().Unix()} }

// roles are the words of chat templates.
var roles = map[tridentv1.Role]string{ //nolint:gochecknoglobals // a constant table
	tridentv1.Role_ROLE_SYSTEM:    "system",
	tridentv1.Role_ROLE_DEVELOPER: "developer",
	tridentv1.Role_ROLE_USER:      "user",
	tridentv1.Role_ROLE_ASSISTANT: "assistant",
}

func chatRequest(msg *tridentv1.ChatRequest, stream bool) (*inference.Request, error) {
	if msg.GetModel() == "" {
		return nil, inference.Invalid("model", "model is required")
	}
	if len(msg.GetMessages()) == 0 {
		return nil, inference.Invalid("messages", "messages must not be empty")
	}
	req := &inference.Request{
		ID: "chat-" + rand.Text(), Model: msg.GetModel(), Task: inference.TaskGenerate,
		N: int(msg.GetN()), Stream: stream, Sampling: sampling(msg),
	}
	for i, m := range msg.GetMessages() {
		role := roles[m.GetRole()]
		if role == "" {
			return nil, inference.Invalid(fmt.Sprintf("messages[%d].role", i), "messages[%d].role is required", i)
		}
		req.Messages = append(req.Messages, inference.Message{Role: role, Name: m.GetName(), Text: m.GetContent()})
	}
	if msg.GetTopLogprobs() > 0 && !msg.GetLogprobs() {
		return nil, inference.Invalid("top_logprobs", "top_logprobs needs logprobs")
	}
	// Before anything is made in the number of choices.
	err := req.Validate()
	return req, err
}

func sampling(msg *tridentv1.ChatRequest) inference.Sampling {
	s := inference.Sampling{
		Temperature: msg.Temperature, TopP: msg.TopP, TopK: toInt(msg.TopK), MinP: msg.MinP, Seed: msg.Seed,
		FrequencyPenalty: msg.FrequencyPenalty, PresencePenalty: msg.PresencePenalty, RepetitionPenalty: msg.RepetitionPenalty,
		MaxTokens: toInt(msg.MaxTokens), Stop: msg.GetStop(),
	}
	if msg.GetLogprobs() {
		top := int(msg.GetTopLogprobs())
		s.Logprobs = &top
	}
	return s
}

func toInt(p *uint32) *int {
	if p == nil {
		return nil
	}
	n := int(*p)
	return &n
}
