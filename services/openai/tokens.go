package openai

import (
	"context"
	"fmt"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// Tokenize gives the token ids of a text or of a chat.
func (h *Handler) Tokenize(ctx context.Context, request api.TokenizeRequestObject) (api.TokenizeResponseObject, error) {
	body := request.Body
	server.RecordOf(ctx).Model = body.Model
	req, err := tokenizeRequest(ctx, body)
	if err != nil {
		return nil, err
	}
	special := req.Messages == nil
	if body.AddSpecialTokens != nil {
		special = *body.AddSpecialTokens
	}
	tokens, err := h.service.Tokenize(ctx, req, special)
	if err != nil {
		return nil, err
	}
	answer := api.Tokenize200JSONResponse{Count: len(tokens.IDs), Tokens: tokens.IDs}
	if tokens.ContextLength > 0 {
		answer.MaxModelLen = &tokens.ContextLength
	}
	if value(body.ReturnTokenStrs) {
		answer.TokenStrs = tokens.Texts
	}
	return answer, nil
}

// tokenizeRequest translates a validated body for the core.
func tokenizeRequest(ctx context.Context, body *api.TokenizeRequest) (*inference.Request, error) {
	if value(body.ChatTemplate) != "" {
		return nil, inference.Unsupported("chat_template", "chat_template is not supported: the model's own template is used")
	}
	req := &inference.Request{Model: body.Model, Task: inference.TaskGenerate}
	switch chat := body.Messages != nil; {
	case chat && body.Prompt != nil:
		return nil, inference.Invalid("messages", "prompt and messages can't be used together")
	case chat:
		return req, tokenizeChat(ctx, body, req)
	case body.Prompt == nil:
		return nil, inference.Invalid("prompt", "prompt or messages is required")
	}
	for _, f := range []unsupported{
		{"tools", len(body.Tools) > 0, ""},
		{"chat_template_kwargs", !neutral(body.ChatTemplateKwargs), ""},
		{"continue_final_message", value(body.ContinueFinalMessage), ""},
	} {
		if f.used {
			return nil, inference.Invalid(f.name, "%s needs messages", f.name)
		}
	}
	req.Prompts = []inference.Input{{Text: *body.Prompt}}
	return req, nil
}

func tokenizeChat(ctx context.Context, body *api.TokenizeRequest, req *inference.Request) (err error) {
	if req.Messages, err = DecodeMessages(body.Messages); err != nil {
		return err
	}
	req.Tools = body.Tools
	for i, definition := range body.Tools {
		if err := new(schemas).tool(ctx, fmt.Sprintf("tools[%d]", i), definition, false); err != nil {
			return err
		}
	}
	if !neutral(body.ChatTemplateKwargs) {
		req.TemplateArgs = body.ChatTemplateKwargs
	}
	req.Closed = body.AddGenerationPrompt != nil && !*body.AddGenerationPrompt
	req.Continue = value(body.ContinueFinalMessage)
	if req.Continue && !req.Closed {
		return inference.Invalid("continue_final_message", "continue_final_message needs add_generation_prompt: false")
	}
	return nil
}

// Detokenize gives the text of token ids.
func (h *Handler) Detokenize(ctx context.Context, request api.DetokenizeRequestObject) (api.DetokenizeResponseObject, error) {
	server.RecordOf(ctx).Model = request.Body.Model
	text, err := h.service.Detokenize(ctx, request.Body.Model, request.Body.Tokens)
	if err != nil {
		return nil, err
	}
	return api.Detokenize200JSONResponse{Prompt: text}, nil
}
