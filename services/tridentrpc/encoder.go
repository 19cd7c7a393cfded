package tridentrpc

import (
	"context"
	"crypto/rand"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/strictjson"
)

// encodeRequest returns a request without inputs. The list is the name of the field with the inputs.
func encodeRequest(model string, task inference.Task, truncation *tridentv1.Truncation, list string) *inference.EncodeRequest {
	req := &inference.EncodeRequest{
		ID: "enc-" + rand.Text(), Model: model, Task: task, MaxTokens: int(truncation.GetMaxTokens()),
		Param: func(i int) string { return list + strictjson.Index(i) },
	}
	req.Truncate = truncateSide(truncation)
	return req
}

// truncateSide returns the side on which texts are cut.
func truncateSide(truncation *tridentv1.Truncation) inference.TruncateSide {
	switch truncation.GetSide() {
	case tridentv1.TruncationSide_TRUNCATION_SIDE_RIGHT:
		return inference.TruncateRight
	case tridentv1.TruncationSide_TRUNCATION_SIDE_LEFT:
		return inference.TruncateLeft
	case tridentv1.TruncationSide_TRUNCATION_SIDE_UNSPECIFIED:
	}
	return inference.TruncateNever
}

// setType applies a type of inputs or the name of a prompt.
func setType(req *inference.EncodeRequest, name string) {
	switch t := inference.InputType(name); t {
	case inference.InputAny, inference.InputQuery, inference.InputDocument:
		req.Type = t
	default:
		req.PromptName, req.PromptParam = name, "input_type"
	}
}

// Rerank ranks documents by their relevance to a query.
func (s *Service) Rerank(ctx context.Context, msg *tridentv1.RerankRequest) (*tridentv1.RerankResponse, error) {
	req := encodeRequest(msg.GetModel(), inference.TaskScore, msg.GetTruncation(), "documents")
	req.Inputs, req.Raw, req.MaxSecond = inference.EncodePairs([]string{msg.GetQuery()}, msg.GetDocuments()), msg.GetRaw(), int(msg.GetMaxTokensPerDocument())
	model := s.core.Resolve(req.Model)
	answer, err := s.core.Score(ctx, &model, req, msg.GetInstruction())
	if err != nil {
		return nil, err
	}
	response := &tridentv1.RerankResponse{Model: req.Model, Usage: usage(&answer.Usage, server.RecordOf(ctx))}
	for _, i := range answer.Ranking(int(msg.GetTopN())) {
		ranked := &tridentv1.RankedDocument{Index: uint32(i), Score: answer.Results[i].Score}
		if msg.GetReturnDocuments() {
			ranked.Document = msg.GetDocuments()[i]
		}
		response.Results = append(response.Results, ranked)
	}
	return response, nil
}

// Score returns the score of each pair of texts.
func (s *Service) Score(ctx context.Context, msg *tridentv1.ScoreRequest) (*tridentv1.ScoreResponse, error) {
	req := encodeRequest(msg.GetModel(), inference.TaskScore, msg.GetTruncation(), "second")
	req.Inputs, req.Raw = inference.EncodePairs(msg.GetFirst(), msg.GetSecond()), msg.GetRaw()
	model := s.core.Resolve(req.Model)
	answer, err := s.core.Score(ctx, &model, req, msg.GetInstruction())
	if err != nil {
		return nil, err
	}
	response := &tridentv1.ScoreResponse{Model: req.Model, Usage: usage(&answer.Usage, server.RecordOf(ctx)), Scores: make([]float64, len(answer.Results))}
	for i := range answer.Results {
		response.Scores[i] = answer.Results[i].Score
	}
	return response, nil
}

// Classify returns the probabilities of the classes of each text.
func (s *Service) Classify(ctx context.Context, msg *tridentv1.ClassifyRequest) (*tridentv1.ClassifyResponse, error) {
	req := encodeRequest(msg.GetModel(), inference.TaskClassify, msg.GetTruncation(), "input")
	req.Inputs, req.Raw = inference.EncodeInputs(textInputs(msg.GetInput())), msg.GetRaw()
	answer, err := s.encode(ctx, req)
	if err != nil {
		return nil, err
	}
	response := &tridentv1.ClassifyResponse{Model: req.Model, Labels: answer.Labels, Usage: usage(&answer.Usage, server.RecordOf(ctx))}
	for i := range answer.Results {
		result := &answer.Results[i]
		response.Results = append(response.Results, &tridentv1.Classification{Index: uint32(i), Label: uint32(result.Likeliest()), Probabilities: result.Classes})
	}
	return response, nil
}

// EmbedTokens returns one vector for each token of each text.
func (s *Service) EmbedTokens(ctx context.Context, msg *tridentv1.EmbedTokensRequest) (*tridentv1.EmbedTokensResponse, error) {
	req := encodeRequest(msg.GetModel(), inference.TaskTokenEmbed, msg.GetTruncation(), "input")
	req.Inputs = inference.EncodeInputs(textInputs(msg.GetInput()))
	setType(req, msg.GetInputType())
	answer, err := s.encode(ctx, req)
	if err != nil {
		return nil, err
	}
	response := &tridentv1.EmbedTokensResponse{Model: req.Model, Usage: usage(&answer.Usage, server.RecordOf(ctx))}
	for i := range answer.Results {
		tokens := &answer.Results[i].Tokens
		response.Results = append(response.Results, &tridentv1.TokenVectors{Index: uint32(i), Dimensions: uint32(tokens.Columns), Values: tokens.Values})
	}
	return response, nil
}

// EmbedSparse returns the weights of tokens of the vocabulary for each text.
func (s *Service) EmbedSparse(ctx context.Context, msg *tridentv1.EmbedSparseRequest) (*tridentv1.EmbedSparseResponse, error) {
	req := encodeRequest(msg.GetModel(), inference.TaskSparse, msg.GetTruncation(), "input")
	req.Inputs = inference.EncodeInputs(textInputs(msg.GetInput()))
	setType(req, msg.GetInputType())
	answer, err := s.encode(ctx, req)
	if err != nil {
		return nil, err
	}
	response := &tridentv1.EmbedSparseResponse{Model: req.Model, Usage: usage(&answer.Usage, server.RecordOf(ctx))}
	for i := range answer.Results {
		vector := &tridentv1.SparseVector{Index: uint32(i)}
		for _, w := range answer.Results[i].Sparse {
			vector.TokenIds, vector.Weights = append(vector.TokenIds, uint32(w.ID)), append(vector.Weights, w.Weight)
		}
		response.Results = append(response.Results, vector)
	}
	return response, nil
}

// encode runs a request on its model.
func (s *Service) encode(ctx context.Context, req *inference.EncodeRequest) (*inference.EncodeAnswer, error) {
	model := s.core.Resolve(req.Model)
	return s.core.Encode(ctx, &model, req)
}
