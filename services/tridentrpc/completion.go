package tridentrpc

import (
	"context"
	"crypto/rand"
	"time"

	"connectrpc.com/connect"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/server"
)

// Complete returns the whole texts.
func (s *Service) Complete(ctx context.Context, msg *tridentv1.CompleteRequest) (*tridentv1.CompleteResponse, error) {
	req, err := completeRequest(ctx, msg, false)
	if err != nil {
		return nil, err
	}
	model, created := s.core.Resolve(req.Model), now()
	all, err := inference.Collect(s.core.Generate(ctx, &model, req), len(req.Prompts)*max(req.N, 1))
	if err != nil {
		return nil, requests.CompletionNames(err)
	}
	answer := &tridentv1.CompleteResponse{
		Id: req.ID, Model: req.Model, Created: created, SystemFingerprint: model.Fingerprint(),
		Usage: usage(&all.Usage, server.RecordOf(ctx)), Choices: make([]*tridentv1.CompleteChoice, len(all.Choices)),
	}
	for i := range all.Choices {
		c := &all.Choices[i]
		answer.Choices[i] = &tridentv1.CompleteChoice{
			Index: uint32(i), Text: validText(c.Text), Logprobs: tokenLogprobs(c.Logprobs), FinishReason: finishReason(c.Finish),
		}
	}
	return answer, nil
}

// CompleteStream sends each delta as it arrives, as ChatStream does.
func (s *Service) CompleteStream(ctx context.Context, msg *tridentv1.CompleteStreamRequest, stream *connect.ServerStream[tridentv1.CompleteStreamResponse]) error {
	rec := server.RecordOf(ctx)
	req, err := completeRequest(ctx, msg.GetCompletion(), true)
	if err != nil {
		return err
	}
	model := s.core.Resolve(req.Model)
	out, piece := &tridentv1.CompleteStreamResponse{}, &tridentv1.CompleteDelta{}
	for delta, err := range s.core.Generate(ctx, &model, req) {
		if err != nil {
			return requests.CompletionNames(err)
		}
		if delta.Empty() {
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
			piece.Index, piece.Text = uint32(delta.Index), validText(delta.Text)
			piece.Logprobs, piece.FinishReason = tokenLogprobs(delta.Logprobs), finishReason(delta.Finish)
			out.Delta = piece
		}
		if err := send(stream, out); err != nil {
			return err
		}
	}
	return nil
}

func completeRequest(ctx context.Context, msg *tridentv1.CompleteRequest, stream bool) (*inference.Request, error) {
	req := &inference.Request{
		ID: "cmpl-" + rand.Text(), Model: msg.GetModel(), Task: inference.TaskGenerate, Prompts: textInputs(msg.GetPrompt()),
		Echo: msg.GetEcho(), N: int(msg.GetN()), BestOf: int(msg.GetBestOf()), Stream: stream, Priority: priority(msg.GetPriority()),
		Sampling: inference.Sampling{
			Temperature: msg.Temperature, TopP: msg.TopP, TopK: toInt(msg.TopK), MinP: msg.MinP, Seed: msg.Seed, //nolint:protogetter // unset differs from 0
			FrequencyPenalty: msg.FrequencyPenalty, PresencePenalty: msg.PresencePenalty, RepetitionPenalty: msg.RepetitionPenalty,
			MaxTokens: toInt(msg.MaxTokens), MinTokens: toInt(msg.MinTokens), TruncatePromptTokens: toInt(msg.TruncatePromptTokens), //nolint:protogetter // unset differs from 0
			IncludeStop: msg.IncludeStop, IgnoreEOS: msg.IgnoreEos, Logprobs: toInt(msg.Logprobs), //nolint:protogetter // unset differs from false and 0
			SkipSpecialTokens: msg.SkipSpecialTokens, SpacesBetweenSpecialTokens: msg.SpacesBetweenSpecialTokens,
		},
	}
	commonSampling(&req.Sampling, msg)
	if req.Echo && req.Sampling.Logprobs != nil {
		return nil, inference.Unsupported("echo", "echo together with logprobs is not supported: the response has no field for the log probabilities of the prompt")
	}
	return req, requests.CompletionNames(requests.Check(ctx, req))
}
