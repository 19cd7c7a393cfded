package contracts

import (
	"encoding/json"
	"fmt"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// EncoderForm returns that each request has one input. vLLM batches the requests itself.
func (VLLM) EncoderForm(*kserve.ModelConfig) inference.EncoderForm {
	return inference.EncoderForm{MaxBatch: 1, SelfBatching: true, OwnSettings: true}
}

// EncodeBatch builds the request of the batch's only input. Trident shortens vectors itself, because
// only some models support pooling_params.
func (VLLM) EncodeBatch(target *inference.Target, batch *inference.EncodeBatch) (*kserve.ModelInferRequest, error) {
	input := batch.Items[0].Input
	body := struct {
		Input any `json:"input"`
	}{input.Text}
	if input.TokenIDs != nil {
		body.Input = input.TokenIDs
	}
	request, err := marshal(body)
	if err != nil {
		return nil, fmt.Errorf("embedding request: %w", err)
	}
	t := newTensors(target)
	t.req.Id = batch.ID
	t.text(vllmText, "")
	t.text(vllmEmbedding, request)
	t.bool(vllmStream, false)
	t.bool(vllmReturnInput, true)
	return t.req, nil
}

// DecodeBatch reads the vector from the text, which is a JSON list.
func (VLLM) DecodeBatch(target *inference.Target, batch *inference.EncodeBatch, resp *inference.Response) error {
	result := batch.Items[0].Result
	for i := range resp.Outputs {
		out := &resp.Outputs[i]
		var err error
		switch out.Name {
		case vllmOutput:
			var text []byte
			if text, err = firstBytes(out); err == nil {
				err = json.Unmarshal(text, &result.Vector)
			}
		case vllmInputTokens:
			result.PromptTokens, err = firstInt(out)
		}
		if err != nil {
			return fmt.Errorf("model %s: output %s: %w", target.Name, out.Name, err)
		}
	}
	return nil
}

// ExplainBatch recognizes errors caused by the input, besides those of [VLLM.Explain].
func (v VLLM) ExplainBatch(req *inference.EncodeRequest, err *inference.Error) *inference.Error {
	if err.Code != inference.CodeInternal && err.Code != inference.CodeInvalid {
		return err
	}
	const param = "input"
	switch {
	case vllmEmpty.MatchString(err.Message):
		return because(err, inference.Invalid(param, "%s must not be empty: this model's tokenizer adds no start token", param))
	case vllmTooLong.MatchString(err.Message):
		return because(err, vllmLong(param, err.Message))
	case vllmBadToken.MatchString(err.Message):
		return because(err, inference.Invalid(param, "%s has token ids that this model doesn't have: send text instead (in LangChain, set check_embedding_ctx_length=False)", param))
	}
	return v.Explain(&inference.Request{Model: req.Model, Task: req.Task}, err)
}
