package openai

import (
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"time"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/openai/internal/wire"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
)

// CreateCompletion completes prompts, with a non-streaming response or with a
// stream of events.
func (h *Handler) CreateCompletion(ctx context.Context, request api.CreateCompletionRequestObject) (api.CreateCompletionResponseObject, error) {
	server.RecordOf(ctx).Model = request.Body.Model
	req, err := completionRequest(ctx, request.Body)
	if err != nil {
		return nil, err
	}
	req.ID = "cmpl-" + rand.Text()
	if req.Stream {
		return &completionStream{ctx: ctx, service: h.service, model: h.service.Resolve(req.Model), req: req, usage: usageOf(request.Body.StreamOptions)}, nil
	}
	return h.completion(ctx, req)
}

func completionRequest(ctx context.Context, body *api.CreateCompletionRequest) (*inference.Request, error) {
	err := decode.FirstUsed(append(decode.UnsupportedSampling(body.UseBeamSearch, body.LengthPenalty),
		decode.Unsupported{Name: "suffix", Used: decode.Value(body.Suffix) != "", Why: "a completion only continues the end of a prompt"}))
	if err != nil {
		return nil, err
	}
	prompts, err := DecodePrompt(body.Prompt)
	if err != nil {
		return nil, err
	}
	req := &inference.Request{
		Model: body.Model, Task: inference.TaskGenerate, Prompts: prompts, Echo: decode.Value(body.Echo),
		N: decode.Value(body.N), BestOf: decode.Value(body.BestOf), Stream: decode.Value(body.Stream),
	}
	if err := checkStreamOptions(body.StreamOptions, req.Stream); err != nil {
		return nil, err
	}
	if decode.Value(body.Priority) != 0 {
		req.Priority = body.Priority
	}
	if err := completionSampling(body, &req.Sampling); err != nil {
		return nil, err
	}
	return req, requests.CompletionNames(requests.Check(ctx, req))
}

func completionSampling(body *api.CreateCompletionRequest, s *inference.Sampling) error {
	scored, err := decode.PromptLogprobs(body.PromptLogprobs, decode.Value(body.Stream))
	if err != nil {
		return err
	}
	*s = inference.Sampling{
		Temperature: body.Temperature, TopP: body.TopP, TopK: body.TopK, MinP: body.MinP, Seed: body.Seed,
		FrequencyPenalty: body.FrequencyPenalty, PresencePenalty: body.PresencePenalty, RepetitionPenalty: body.RepetitionPenalty,
		MaxTokens: body.MaxTokens, MinTokens: body.MinTokens, StopTokenIDs: body.StopTokenIds, IgnoreEOS: body.IgnoreEos,
		BadWords: decode.Texts(body.BadWords), AllowedTokenIDs: body.AllowedTokenIds, IncludeStop: body.IncludeStopStrInOutput,
		SkipSpecialTokens: body.SkipSpecialTokens, SpacesBetweenSpecialTokens: body.SpacesBetweenSpecialTokens,
		TruncatePromptTokens: body.TruncatePromptTokens, Logprobs: body.Logprobs, PromptLogprobs: scored,
	}
	return decode.Constrain(s, body.Stop, body.LogitBias, decode.Constraints{
		Format: body.ResponseFormat, Outputs: body.StructuredOutputs, GuidedJSON: body.GuidedJSON,
		GuidedRegex: body.GuidedRegex, GuidedGrammar: body.GuidedGrammar, GuidedChoice: body.GuidedChoice,
	})
}

// completion returns the non-streaming response.
func (h *Handler) completion(ctx context.Context, req *inference.Request) (api.CreateCompletionResponseObject, error) {
	rec := server.RecordOf(ctx)
	answer := api.CreateCompletion200JSONResponse{
		ID: req.ID, Object: textCompletion, Created: time.Now().Unix(), Model: req.Model,
	}
	model := h.service.Resolve(req.Model)
	all, err := inference.Collect(h.service.Generate(ctx, &model, req), len(req.Prompts)*max(req.N, 1))
	if err != nil {
		return nil, err
	}
	answer.SystemFingerprint, answer.Usage = wire.Optional(model.Fingerprint()), wire.Usage(&all.Usage, rec)
	for i := range all.Choices {
		c := &all.Choices[i]
		choice := api.CompletionChoice{Index: i, Text: string(c.Text), FinishReason: api.CompletionFinishReason(c.Finish)}
		choice.Logprobs = completionLogprobs(req, c)
		if c.Prompt != nil && req.Sampling.PromptLogprobs != nil {
			choice.PromptLogprobs = promptLogprobs(c.Prompt, *req.Sampling.PromptLogprobs)
		}
		answer.Choices = append(answer.Choices, choice)
	}
	return answer, nil
}

// completionLogprobs returns the log probabilities of a choice's tokens, or nil if they aren't requested.
func completionLogprobs(req *inference.Request, c *inference.Choice) *api.CompletionLogprobs {
	if req.Sampling.Logprobs == nil {
		return nil
	}
	var lists *api.CompletionLogprobs
	offset, top := 0, *req.Sampling.Logprobs
	if req.Echo && c.Prompt != nil {
		lists = addPrompt(lists, c.Prompt, top, &offset)
	}
	if c.Logprobs != nil {
		lists = addLogprobs(lists, c.Logprobs, top, &offset)
	}
	return lists
}

// textCompletion is the value of object in responses and chunks.
const textCompletion = "text_completion"

// addLogprobs appends tokens to the lists. offset is the offset of their text, in
// characters; addLogprobs advances it.
func addLogprobs(lists *api.CompletionLogprobs, tokens []inference.TokenLogprob, top int, offset *int) *api.CompletionLogprobs {
	lists = logprobLists(lists)
	for i := range tokens {
		addToken(lists, &tokens[i], top, *offset)
		*offset += len([]rune(tokens[i].Token))
	}
	return lists
}

// addPrompt appends the tokens of the client's prompt to the lists. It advances offset by the prompt.
func addPrompt(lists *api.CompletionLogprobs, prompt *inference.PromptScore, top int, offset *int) *api.CompletionLogprobs {
	lists = logprobLists(lists)
	for i := range prompt.Tokens {
		switch token := &prompt.Tokens[i]; {
		case i < prompt.Added:
		case token.Rank > 0:
			addToken(lists, &token.TokenLogprob, top, *offset+token.Offset)
		default:
			lists.Tokens, lists.TokenLogprobs = append(lists.Tokens, token.Token), append(lists.TokenLogprobs, nil)
			lists.TextOffset = append(lists.TextOffset, *offset+token.Offset)
			if top > 0 {
				lists.TopLogprobs = append(lists.TopLogprobs, nil)
			}
		}
	}
	*offset += prompt.Length
	return lists
}

func logprobLists(lists *api.CompletionLogprobs) *api.CompletionLogprobs {
	if lists == nil {
		lists = &api.CompletionLogprobs{Tokens: []string{}, TokenLogprobs: []*float64{}, TextOffset: []int{}}
	}
	return lists
}

func addToken(lists *api.CompletionLogprobs, t *inference.TokenLogprob, top, offset int) {
	lists.Tokens = append(lists.Tokens, t.Token)
	lists.TokenLogprobs = append(lists.TokenLogprobs, &t.Logprob)
	lists.TextOffset = append(lists.TextOffset, offset)
	if top == 0 {
		return
	}
	likeliest := map[string]float64{t.Token: t.Logprob}
	for _, alt := range t.Top[:min(top, len(t.Top))] {
		if _, twice := likeliest[alt.Token]; !twice { // parts of a character have the same text
			likeliest[alt.Token] = alt.Logprob
		}
	}
	lists.TopLogprobs = append(lists.TopLogprobs, likeliest)
}

// promptLogprobs returns the log probabilities of a prompt in vLLM's form. It writes JSON, because maps of a
// million tokens would take several times as much memory.
func promptLogprobs(prompt *inference.PromptScore, top int) api.PromptLogprobs {
	const most = 80 // bytes of most members
	list := append(make([]byte, 0, most*len(prompt.Tokens)*(top+1)), '[')
	for i := range prompt.Tokens {
		if i > 0 {
			list = append(list, ',')
		}
		list = appendPosition(list, &prompt.Tokens[i], top)
	}
	return append(list, ']')
}

// appendPosition appends api.PromptPosition: the token and the likeliest ones, or null for a token without a log
// probability.
func appendPosition(dst []byte, token *inference.PromptToken, top int) []byte {
	if token.Rank == 0 {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	for rank, alt := range token.Top[:min(top, len(token.Top))] {
		if alt.ID != token.ID {
			dst = append(appendLogprob(dst, &alt, rank+1), ',')
		}
	}
	own := inference.TopLogprob{ID: token.ID, Token: token.Token, Logprob: token.Logprob}
	return append(appendLogprob(dst, &own, token.Rank), '}')
}

// appendLogprob appends a member of api.PromptPosition.
func appendLogprob(dst []byte, t *inference.TopLogprob, rank int) []byte {
	dst = strconv.AppendInt(append(dst, '"'), int64(t.ID), 10)
	dst = strconv.AppendFloat(append(dst, `":{"logprob":`...), t.Logprob, 'g', -1, 64)
	dst = strconv.AppendInt(append(dst, `,"rank":`...), int64(rank), 10)
	dst = jsonstring.AppendEscaped(append(dst, `,"decoded_token":"`...), []byte(t.Token))
	return append(dst, `"}`...)
}

// completionStream is a response that is written while the model generates it.
type completionStream struct {
	ctx     context.Context //nolint:containedctx // the generated interface passes only the writer
	service *serving.Service
	model   catalog.Resolution
	req     *inference.Request
	usage   StreamUsage
}

// VisitCreateCompletionResponse writes the stream. It returns an error that
// occurs before the first event, which then gets its own status. Later errors
// become events.
func (s *completionStream) VisitCreateCompletionResponse(w http.ResponseWriter) error {
	chunks := &completionChunks{
		chunkHead: newChunkHead(s.req.ID, textCompletion, time.Now().Unix(), &s.model, s.usage),
		top:       decode.Value(s.req.Sampling.Logprobs),
		echo:      s.req.Echo,
		offsets:   make([]int, len(s.req.Prompts)*max(s.req.N, 1)),
	}
	return wire.WriteEvents(w, server.RecordOf(s.ctx), chunks, s.service.Generate(s.ctx, &s.model, s.req))
}
