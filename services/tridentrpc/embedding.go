package tridentrpc

import (
	"context"
	"crypto/rand"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// Embed returns one vector for each input.
func (s *Service) Embed(ctx context.Context, msg *tridentv1.EmbedRequest) (*tridentv1.EmbedResponse, error) {
	req := &inference.EncodeRequest{
		ID: "embd-" + rand.Text(), Model: msg.GetModel(), Task: inference.TaskEmbed,
		Inputs: inference.EncodeInputs(textInputs(msg.GetInput())), Dimensions: int(msg.GetDimensions()),
	}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	model := s.core.Resolve(req.Model)
	encoded, err := s.core.Encode(ctx, &model, req)
	if err != nil {
		return nil, err
	}
	answer := &tridentv1.EmbedResponse{Model: req.Model, Embeddings: make([]*tridentv1.Embedding, len(encoded.Results))}
	for i := range encoded.Results {
		answer.Embeddings[i] = &tridentv1.Embedding{Index: uint32(i), Values: encoded.Results[i].Vector}
	}
	answer.Usage = usage(&encoded.Usage, server.RecordOf(ctx))
	return answer, nil
}
