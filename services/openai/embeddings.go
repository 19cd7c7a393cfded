package openai

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// CreateEmbedding embeds a text, a list of texts, a list of token ids, or a list
// of such lists. The response has the same order.
func (h *Handler) CreateEmbedding(ctx context.Context, request api.CreateEmbeddingRequestObject) (api.CreateEmbeddingResponseObject, error) {
	rec := server.RecordOf(ctx)
	rec.Model = request.Body.Model
	req, err := embeddingRequest(request.Body)
	if err != nil {
		return nil, err
	}
	encode := appendFloats
	if f := request.Body.EncodingFormat; f != nil && *f == "base64" {
		encode = appendBase64
	}
	model := h.service.Resolve(req.Model)
	encoded, err := h.service.Encode(ctx, &model, req)
	if err != nil {
		return nil, err
	}
	answer := api.CreateEmbedding200JSONResponse{Object: "list", Model: req.Model, Data: make([]api.Embedding, len(encoded.Results))}
	for i := range encoded.Results {
		answer.Data[i] = api.Embedding{Object: "embedding", Index: i, Embedding: encode(nil, encoded.Results[i].Vector)}
	}
	rec.PromptTokens = encoded.Usage.PromptTokens
	if !encoded.Usage.Unknown {
		answer.Usage = &api.EmbeddingUsage{PromptTokens: rec.PromptTokens, TotalTokens: rec.PromptTokens}
	}
	return answer, nil
}

func embeddingRequest(body *api.CreateEmbeddingRequest) (*inference.EncodeRequest, error) {
	inputs, err := DecodeInput(body.Input)
	if err != nil {
		return nil, err
	}
	req := &inference.EncodeRequest{ID: "embd-" + rand.Text(), Model: body.Model, Task: inference.TaskEmbed, Inputs: inference.EncodeInputs(inputs)}
	if body.Dimensions != nil {
		req.Dimensions = *body.Dimensions
	}
	if body.TruncatePromptTokens != nil {
		return nil, inference.Unsupported("truncate_prompt_tokens", "truncate_prompt_tokens is not supported: send shorter inputs")
	}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	return req, nil
}

// appendFloats appends a JSON list of numbers, each in the shortest form that a
// float32 needs.
func appendFloats(dst []byte, v []float32) []byte {
	dst = append(dst, '[')
	for i, x := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(x), 'g', -1, 32)
	}
	return append(dst, ']')
}

// appendBase64 appends a JSON string with the little-endian float32 values in
// base64.
func appendBase64(dst []byte, v []float32) []byte {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, raw)
	return append(dst, '"')
}
