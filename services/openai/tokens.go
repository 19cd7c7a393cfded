package openai

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
)

// Tokenize returns the token ids of a text or of a chat.
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
	model := h.service.Resolve(req.Model)
	tokens, err := h.service.Tokenize(ctx, &model, req, special)
	if err != nil {
		return nil, err
	}
	return &tokenizeAnswer{tokens: tokens, texts: decode.Value(body.ReturnTokenStrs)}, nil
}

// tokenizeAnswer is api.TokenizeResponse, encoded while it is written. A text may have as
// many tokens as bytes, and the JSON of each token takes more memory than the token.
type tokenizeAnswer struct {
	tokens *serving.Tokens
	texts  bool // the tokens' texts are requested
}

// VisitTokenizeResponse writes the response. It ignores write errors, since the client may
// have disconnected.
func (a *tokenizeAnswer) VisitTokenizeResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	length := "null"
	if a.tokens.ContextLength > 0 {
		length = strconv.Itoa(a.tokens.ContextLength)
	}
	b := bufio.NewWriterSize(w, 32<<10)
	_, _ = fmt.Fprintf(b, `{"count":%d,"max_model_len":%s,"token_strs":`, len(a.tokens.IDs), length)
	if a.texts {
		writeList(b, a.tokens.IDs, func(to []byte, id int) []byte {
			text, _ := a.tokens.Text(id)
			return append(to, jsonstring.Quoted(text)...)
		})
	} else {
		_, _ = b.WriteString("null")
	}
	_, _ = b.WriteString(`,"tokens":`)
	writeList(b, a.tokens.IDs, func(to []byte, id int) []byte { return strconv.AppendInt(to, int64(id), 10) })
	_, _ = b.WriteString("}\n")
	return b.Flush()
}

// writeList writes a JSON list of the results of item for each token.
func writeList(b *bufio.Writer, ids []int, item func(to []byte, id int) []byte) {
	_ = b.WriteByte('[')
	for i, id := range ids {
		if i > 0 {
			_ = b.WriteByte(',')
		}
		_, _ = b.Write(item(b.AvailableBuffer(), id))
	}
	_ = b.WriteByte(']')
}

// tokenizeRequest translates a validated body into a request of the core.
func tokenizeRequest(ctx context.Context, body *api.TokenizeRequest) (*inference.Request, error) {
	if decode.Value(body.ChatTemplate) != "" {
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
	for _, f := range []decode.Unsupported{
		{Name: "tools", Used: len(body.Tools) > 0, Why: ""},
		{Name: "chat_template_kwargs", Used: !requests.Neutral(body.ChatTemplateKwargs), Why: ""},
		{Name: "continue_final_message", Used: decode.Value(body.ContinueFinalMessage), Why: ""},
	} {
		if f.Used {
			return nil, inference.Invalid(f.Name, "%s can only be used with messages", f.Name)
		}
	}
	req.Prompts = []inference.Input{{Text: *body.Prompt}}
	return req, nil
}

func tokenizeChat(ctx context.Context, body *api.TokenizeRequest, req *inference.Request) (err error) {
	if req.Messages, err = DecodeMessages(body.Messages); err != nil {
		return err
	}
	req.Tools, _ = readTools(body.Tools)
	for i, definition := range req.Tools {
		if err := new(requests.Schemas).Tool(ctx, fmt.Sprintf("tools[%d]", i), definition, false); err != nil {
			return err
		}
	}
	if !requests.Neutral(body.ChatTemplateKwargs) {
		req.TemplateArgs = body.ChatTemplateKwargs
	}
	return requests.Continuation(req, body.AddGenerationPrompt, body.ContinueFinalMessage)
}

// Detokenize returns the text of token ids.
func (h *Handler) Detokenize(ctx context.Context, request api.DetokenizeRequestObject) (api.DetokenizeResponseObject, error) {
	server.RecordOf(ctx).Model = request.Body.Model
	model := h.service.Resolve(request.Body.Model)
	text, err := h.service.Detokenize(ctx, &model, request.Body.Tokens)
	if err != nil {
		return nil, err
	}
	return api.Detokenize200JSONResponse{Prompt: text}, nil
}
