package openai

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/vector"
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
	encode := embeddingForm(request.Body)
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
	inputs, err := embeddingInputs(body)
	if err != nil {
		return nil, err
	}
	req := &inference.EncodeRequest{ID: "embd-" + rand.Text(), Model: body.Model, Task: inference.TaskEmbed, Inputs: inputs}
	if body.Messages != nil {
		req.Param = func(int) string { return "messages[0]" }
	}
	if body.Dimensions != nil {
		req.Dimensions = *body.Dimensions
	}
	req.Normalize = body.Normalize
	setPrompt(req, body)
	if err := setTruncation(req, body); err != nil {
		return nil, err
	}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	return req, nil
}

// embeddingInputs reads the inputs, which are in input or in a message.
func embeddingInputs(body *api.CreateEmbeddingRequest) ([]inference.EncodeInput, error) {
	images := decode.Value(body.Modality) == api.CreateEmbeddingRequestModalityImage
	switch {
	case body.Input == nil && body.Messages == nil:
		return nil, inference.Invalid("input", "input is required")
	case body.Input != nil && body.Messages != nil:
		return nil, inference.Invalid("messages", "messages replaces input: send one of them")
	case body.Messages != nil && images:
		return nil, inference.Invalid("modality", "modality must be text beside messages, whose parts are texts or images")
	case body.Messages != nil:
		return messageInput(body.Messages)
	}
	inputs, err := decodeEmbedded(body.Input, images)
	for i := range inputs {
		if images && inputs[i].TokenIDs != nil {
			param := "input"
			if len(inputs) > 1 {
				param = fmt.Sprintf("input[%d]", i)
			}
			return nil, inference.Invalid("modality", "modality must be text, because %s has token ids", param)
		}
	}
	return inputs, err
}

// messageInput returns the texts and the image of the only message as one input.
func messageInput(raw json.RawMessage) ([]inference.EncodeInput, error) {
	messages, err := DecodeMessages(raw)
	if err != nil {
		return nil, err
	}
	input := inference.EncodeInput{Input: inference.Input{Text: messages[0].Text}}
	var texts []string
	for i := range messages[0].Parts {
		part := &messages[0].Parts[i]
		if part.Kind == inference.PartText && part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	input.Text += strings.Join(texts, "\n")
	refs := (&inference.Request{Messages: messages}).ImageRefs()
	if len(refs) > 1 {
		return nil, inference.Unsupported(refs[1].Param, "%s is a second image: an input has at most one", refs[1].Param)
	}
	if len(refs) == 1 {
		input.Image = &refs[0]
	} else if input.Text == "" {
		return nil, inference.Invalid("messages[0].content", "messages[0].content must not be empty")
	}
	return []inference.EncodeInput{input}, nil
}

// setPrompt applies the names of prompts.
func setPrompt(req *inference.EncodeRequest, body *api.CreateEmbeddingRequest) {
	requests.SetInputType(req, decode.Value(body.InputType))
	if name := decode.Value(body.PromptName); name != "" {
		req.PromptName, req.PromptParam = name, ""
	}
}

// setTruncation applies the members about inputs that are too long.
func setTruncation(req *inference.EncodeRequest, body *api.CreateEmbeddingRequest) error {
	n := body.TruncatePromptTokens
	switch {
	case n == nil && body.TruncationSide != nil:
		return inference.Unsupported("truncation_side", "truncation_side needs truncate_prompt_tokens")
	case n == nil:
		return nil
	case *n == 0:
		return inference.Invalid("truncate_prompt_tokens", "truncate_prompt_tokens must be -1 or at least 1, got 0")
	}
	req.Truncate, req.MaxTokens = inference.TruncateRight, max(*n, 0)
	if side := body.TruncationSide; side != nil && *side == api.CreateEmbeddingRequestTruncationSideLeft {
		req.Truncate = inference.TruncateLeft
	}
	return nil
}

// embeddingForm returns the function that appends a vector in the form that the client asked for.
func embeddingForm(body *api.CreateEmbeddingRequest) func(dst []byte, v []float32) []byte {
	encoded := body.EncodingFormat != nil && *body.EncodingFormat == "base64"
	var dtype api.CreateEmbeddingRequestOutputDtype
	if body.OutputDtype != nil {
		dtype = *body.OutputDtype
	}
	switch dtype { //nolint:exhaustive // float has the forms below
	case api.CreateEmbeddingRequestOutputDtypeInt8:
		return func(dst []byte, v []float32) []byte { return appendIntegers(dst, vector.Int8(v), encoded) }
	case api.CreateEmbeddingRequestOutputDtypeUint8:
		return func(dst []byte, v []float32) []byte { return appendIntegers(dst, vector.Uint8(v), encoded) }
	case api.CreateEmbeddingRequestOutputDtypeBinary:
		return func(dst []byte, v []float32) []byte { return appendIntegers(dst, vector.Binary(v), encoded) }
	case api.CreateEmbeddingRequestOutputDtypeUbinary:
		return func(dst []byte, v []float32) []byte { return appendIntegers(dst, vector.Ubinary(v), encoded) }
	}
	if encoded {
		return vector.AppendBase64
	}
	return vector.AppendJSON
}

// appendIntegers appends a JSON list of integers, or a JSON string with their bytes in base64.
func appendIntegers[N int8 | uint8](dst []byte, v []N, encoded bool) []byte {
	if encoded {
		return vector.AppendBytes(dst, vector.Bytes(v))
	}
	dst = append(dst, '[')
	for i, n := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	return append(dst, ']')
}
