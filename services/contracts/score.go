package contracts

import (
	"fmt"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// outContextLogits is the output with the logits of the prompt's tokens: a row for each token, and a column
// for each token of the vocabulary, which may be padded.
const outContextLogits = "context_logits"

// EncodeScore returns the request of the logits of a job's prompt.
func (TensorRTLLM) EncodeScore(target *inference.Target, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	return trtContract(target).encodeScore(target, req, job)
}

// DecodeScore reads the output context_logits.
func (TensorRTLLM) DecodeScore(target *inference.Target, resp *inference.Response) (*inference.Logits, error) {
	return contextLogits(target, resp)
}

// EncodeScore returns the request of the logits of a job's prompt.
func (Python) EncodeScore(target *inference.Target, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	return contract{}.encodeScore(target, req, job)
}

// DecodeScore reads the output context_logits.
func (Python) DecodeScore(target *inference.Target, resp *inference.Response) (*inference.Logits, error) {
	return contextLogits(target, resp)
}

// encodeScore requests one response with the logits. A streamed response would repeat them with each token.
func (c contract) encodeScore(target *inference.Target, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	e := &separate{tensors: newTensors(target), target: target, model: req.Model}
	if !e.has(inReturnContext) || !declares(target.Config, outContextLogits) {
		return nil, req.UnsupportedScore(fmt.Sprintf("it does not declare the input %s and the output %s", inReturnContext, outContextLogits))
	}
	e.text(inText, job.Prompt)
	e.lora(job.LoRA)
	sendNumber(e, inMaxTokens, 1)
	if c.greedy {
		sendNumber(e, inTopK, 1)
	}
	e.flag(inStream, false)
	e.flag(inExclude, true)
	e.flag(inReturnContext, true)
	e.requested(outContextLogits, true)
	e.required()
	if err := e.priority(target, req.Priority); err != nil {
		e.fail(err)
	}
	return e.req, e.err
}

// contextLogits returns the logits of a response. The dimensions before the last two are those of the
// batch.
func contextLogits(target *inference.Target, resp *inference.Response) (*inference.Logits, error) {
	for i := range resp.Outputs {
		out := &resp.Outputs[i]
		if out.Name != outContextLogits {
			continue
		}
		size, err := floatSize(target, out)
		if err != nil {
			return nil, err
		}
		n := len(out.Shape)
		if n < 2 || out.Shape[n-2] < 0 || out.Shape[n-1] <= 0 || out.Shape[n-2] > int64(len(out.Raw)) || out.Shape[n-1] > int64(len(out.Raw)) ||
			out.Shape[n-2]*out.Shape[n-1] != int64(len(out.Raw)/size) || len(out.Raw)%size != 0 {
			return nil, fmt.Errorf("model %s: output %s: %d bytes of %s have the shape %v", target.Name, out.Name, len(out.Raw), out.Type, out.Shape)
		}
		return &inference.Logits{Type: out.Type, Rows: int(out.Shape[n-2]), Columns: int(out.Shape[n-1]), Raw: out.Raw}, nil
	}
	return nil, nil //nolint:nilnil // the response has no logits
}
