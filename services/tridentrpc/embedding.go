package tridentrpc

import (
	"context"
	"crypto/rand"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/vector"
)

// Embed returns one vector for each input.
func (s *Service) Embed(ctx context.Context, msg *tridentv1.EmbedRequest) (*tridentv1.EmbedResponse, error) {
	req := &inference.EncodeRequest{
		ID: "embd-" + rand.Text(), Model: msg.GetModel(), Task: inference.TaskEmbed,
		Inputs: inference.EncodeInputs(textInputs(msg.GetInput())), Dimensions: int(msg.GetDimensions()),
	}
	req.Normalize, req.MaxTokens, req.Truncate = msg.Normalize, int(msg.GetTruncation().GetMaxTokens()), truncateSide(msg.GetTruncation())
	setType(req, msg.GetInputType())
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
		answer.Embeddings[i] = &tridentv1.Embedding{Index: uint32(i)}
		setVector(answer.GetEmbeddings()[i], encoded.Results[i].Vector, msg.GetVectorType())
	}
	answer.Usage = usage(&encoded.Usage, server.RecordOf(ctx))
	return answer, nil
}

// setVector stores a vector in the form that the client asked for.
func setVector(e *tridentv1.Embedding, v []float32, kind tridentv1.VectorType) {
	switch kind {
	case tridentv1.VectorType_VECTOR_TYPE_UNSPECIFIED:
		e.Values = v
	case tridentv1.VectorType_VECTOR_TYPE_INT8:
		e.Quantized = vector.Bytes(vector.Int8(v))
	case tridentv1.VectorType_VECTOR_TYPE_UINT8:
		e.Quantized = vector.Uint8(v)
	case tridentv1.VectorType_VECTOR_TYPE_BINARY:
		e.Quantized = vector.Bytes(vector.Binary(v))
	case tridentv1.VectorType_VECTOR_TYPE_UBINARY:
		e.Quantized = vector.Ubinary(v)
	}
}
