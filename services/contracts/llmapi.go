package contracts

import (
	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// LLMAPI is the contract of TensorRT-LLM's model over its LLM API, and of models of that form.
// Parameters are inputs named sampling_param_…. Each text of a stream contains the previous ones.
// The model counts no tokens and takes no constraints.
//
// Source: triton_backend/all_models/llmapi of NVIDIA/TensorRT-LLM.
type LLMAPI struct{}

// llmapi configures the contract. Texts end before the stop sequence.
var llmapi = contract{greedy: true, echoes: true, cumulative: true} //nolint:gochecknoglobals // a constant

// Name returns "llmapi".
func (LLMAPI) Name() string { return "llmapi" }

// Tasks returns TaskGenerate for a model with the inputs text_input and sampling_param_max_tokens
// and the output text_output.
func (LLMAPI) Tasks(config *kserve.ModelConfig) inference.Task {
	if declared(config)[aliases[inMaxTokens][0]] == nil || !textModel(config) {
		return 0
	}
	return inference.TaskGenerate
}

// Extras returns images by the input image_url, and adapters if the model declares inputs for them.
// The model ignores images unless its model.yaml has triton_config.multimodal. With that setting,
// it wraps the prompt in a chat that includes the images.
func (LLMAPI) Extras(config *kserve.ModelConfig) inference.Extras { return selfPlacing(config) }

// Encode returns the request of one job.
func (LLMAPI) Encode(target *inference.Target, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	return llmapi.encode(target, req, job)
}

// Decoder returns a decoder of this contract's responses.
func (LLMAPI) Decoder(target *inference.Target, req *inference.Request) inference.Decoder {
	return llmapi.decoder(target, req)
}

// Explain recognizes errors caused by the request.
func (LLMAPI) Explain(req *inference.Request, err *inference.Error) *inference.Error {
	return trtExplain(req, err)
}
