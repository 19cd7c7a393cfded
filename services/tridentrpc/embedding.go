package tridentrpc

import (
	"context"
	"crypto/rand"
	"slices"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// Embed returns one vector for each input.
func (s *Service) Embed(ctx context.Context, msg *tridentv1.EmbedRequest) (*tridentv1.EmbedResponse, error) {
	req := &inference.Request{
		ID: "embd-" + rand.Text(), Model: msg.GetModel(), Task: inference.TaskEmbed,
		Inputs: textInputs(msg.GetInput()), Dimensions: int(msg.GetDimensions()),
	}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	answer := &tridentv1.EmbedResponse{Model: req.Model, Embeddings: make([]*tridentv1.Embedding, len(req.Inputs))}
	model := s.core.Resolve(req.Model)
	for delta, err := range s.core.Generate(ctx, &model, req) {
		switch {
		case err != nil:
			return nil, err
		case delta.Embedding != nil:
			answer.Embeddings[delta.Index] = &tridentv1.Embedding{Index: uint32(delta.Index), Values: slices.Clone(delta.Embedding)}
		case delta.Usage != nil:
			answer.Usage = usage(delta.Usage, server.RecordOf(ctx))
		}
	}
	return answer, nil
}
