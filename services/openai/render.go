package openai

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
)

// CountChatInputTokens returns the number of a chat's prompt tokens.
func (h *Handler) CountChatInputTokens(ctx context.Context, request api.CountChatInputTokensRequestObject) (api.CountChatInputTokensResponseObject, error) {
	req, model, err := h.newChat(ctx, request.Body)
	if err != nil {
		return nil, err
	}
	tokens, err := h.service.CountPrompt(ctx, model, req)
	if err != nil {
		return nil, clientsName(request.Body, err)
	}
	return api.CountChatInputTokens200JSONResponse{InputTokens: tokens}, nil
}

// RenderChatCompletion returns the prompt of a chat.
func (h *Handler) RenderChatCompletion(ctx context.Context, request api.RenderChatCompletionRequestObject) (api.RenderChatCompletionResponseObject, error) {
	req, model, err := h.newChat(ctx, request.Body)
	if err != nil {
		return nil, err
	}
	rendered, err := h.service.Render(ctx, model, req)
	if err != nil {
		return nil, clientsName(request.Body, err)
	}
	return newRenderedAnswer(req, rendered)
}

// RenderCompletion returns the prompts of a completion.
func (h *Handler) RenderCompletion(ctx context.Context, request api.RenderCompletionRequestObject) (api.RenderCompletionResponseObject, error) {
	server.RecordOf(ctx).Model = request.Body.Model
	req, err := completionRequest(ctx, request.Body)
	if err != nil {
		return nil, err
	}
	if req.BestOf > max(req.N, 1) {
		return nil, inference.Unsupported("best_of", "best_of above n is not supported here: it isn't a sampling parameter of engines")
	}
	req.ID = "cmpl-" + rand.Text()
	model := h.service.Resolve(req.Model)
	rendered, err := h.service.Render(ctx, &model, req)
	if err != nil {
		return nil, err
	}
	return newRenderedAnswer(req, rendered)
}

// renderedAnswer is api.RenderedPrompt or api.RenderedPrompts, encoded while it is written. A text may have
// as many tokens as bytes.
type renderedAnswer struct {
	req      *inference.Request
	rendered *serving.Rendered
	sampling []byte // JSON of api.RenderedSampling
}

func newRenderedAnswer(req *inference.Request, rendered *serving.Rendered) (*renderedAnswer, error) {
	sampling, err := json.Marshal(renderedSampling(req, rendered))
	if err != nil {
		return nil, fmt.Errorf("sampling parameters: %w", err)
	}
	return &renderedAnswer{req: req, rendered: rendered, sampling: sampling}, nil
}

// VisitRenderChatCompletionResponse writes the only prompt. It ignores write errors, since the client may
// have disconnected.
func (a *renderedAnswer) VisitRenderChatCompletionResponse(w http.ResponseWriter) error {
	return a.write(w, func(b *bufio.Writer) { a.prompt(b, a.req.ID, &a.rendered.Prompts[0]) })
}

// VisitRenderCompletionResponse writes the list of prompts, as VisitRenderChatCompletionResponse writes one.
func (a *renderedAnswer) VisitRenderCompletionResponse(w http.ResponseWriter) error {
	return a.write(w, func(b *bufio.Writer) {
		_ = b.WriteByte('[')
		for i := range a.rendered.Prompts {
			if i > 0 {
				_ = b.WriteByte(',')
			}
			a.prompt(b, fmt.Sprintf("%s-%d", a.req.ID, i), &a.rendered.Prompts[i])
		}
		_ = b.WriteByte(']')
	})
}

func (a *renderedAnswer) write(w http.ResponseWriter, body func(*bufio.Writer)) error {
	w.Header().Set("Content-Type", "application/json")
	b := bufio.NewWriterSize(w, 32<<10)
	body(b)
	_ = b.WriteByte('\n')
	return b.Flush()
}

func (a *renderedAnswer) prompt(b *bufio.Writer, id string, p *serving.RenderedPrompt) {
	priority := 0
	if a.req.Priority != nil {
		priority = *a.req.Priority
	}
	_, _ = fmt.Fprintf(b, `{"request_id":%s,"model":%s,"stream":%t,"priority":%d,"sampling_params":`,
		jsonstring.Quoted(id), jsonstring.Quoted(a.req.Model), a.req.Stream, priority)
	_, _ = b.Write(a.sampling)
	_, _ = b.WriteString(`,"prompt":`)
	_, _ = b.Write(jsonstring.Quoted(p.Text))
	_, _ = b.WriteString(`,"token_ids":`)
	writeList(b, p.IDs, func(to []byte, id int) []byte { return strconv.AppendInt(to, int64(id), 10) })
	_ = b.WriteByte('}')
}

// renderedSampling returns the options as the model gets them, by the names of vLLM's SamplingParams.
func renderedSampling(req *inference.Request, rendered *serving.Rendered) *api.RenderedSampling {
	s := &rendered.Sampling
	params := &api.RenderedSampling{
		N: max(req.N, 1), MaxTokens: rendered.MaxTokens, MinTokens: s.MinTokens,
		Temperature: s.Temperature, TopP: s.TopP, TopK: s.TopK, MinP: s.MinP, Seed: s.Seed,
		PresencePenalty: s.PresencePenalty, FrequencyPenalty: s.FrequencyPenalty, RepetitionPenalty: s.RepetitionPenalty,
		Stop: s.Stop, StopTokenIds: s.StopTokenIDs, BadWords: s.BadWords, AllowedTokenIds: s.AllowedTokenIDs,
		IgnoreEos: s.IgnoreEOS, IncludeStopStrInOutput: s.IncludeStop,
		SkipSpecialTokens: s.SkipSpecialTokens, SpacesBetweenSpecialTokens: s.SpacesBetweenSpecialTokens, Logprobs: s.Logprobs,
	}
	if top, needed := req.Scores(); needed {
		params.PromptLogprobs = &top
	}
	if s.KeepSpecialTokens != "" {
		params.SkipSpecialTokens = new(false)
	}
	if len(s.LogitBias) > 0 {
		params.LogitBias = make(map[string]float64, len(s.LogitBias))
		for id, bias := range s.LogitBias {
			params.LogitBias[strconv.Itoa(id)] = bias
		}
	}
	if s.Structured != nil {
		params.StructuredOutputs = map[string]json.RawMessage{s.Structured.Kind: s.Structured.Value}
	}
	return params
}
