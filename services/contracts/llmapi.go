package contracts

import (
	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// LLMAPI speaks to TensorRT-LLM's model over its LLM API, and to models of that
// shape: parameters are inputs named sampling_param_…, and each text of a stream
// holds the ones before. It counts no tokens and takes no constraints.
//
// Source: triton_backend/all_models/llmapi of NVIDIA/TensorRT-LLM.
type LLMAPI struct{}

// llmapi: the text ends before the stop text.
var llmapi = contract{greedy: true, echoes: true, cumulative: true} //nolint:gochecknoglobals // a constant

// Name is "llmapi".
func (LLMAPI) Name() string { return "llmapi" }

// Tasks of a model that takes text_input and sampling_param_max_tokens and gives
// text_output.
func (LLMAPI) Tasks(config *kserve.ModelConfig) inference.Task {
	if declared(config)[aliases[inMaxTokens][0]] == nil || !textModel(config) {
		return 0
	}
	return inference.TaskGenerate
}

// Extras are images by the input image_url, and adapters as the model declares inputs
// for them. It passes over images unless its model.yaml has triton_config.multimodal,
// and then writes the chat around the prompt, with the images in it.
func (LLMAPI) Extras(config *kserve.ModelConfig) inference.Extras { return selfPlacing(config) }

// Encode makes the request of one job.
func (LLMAPI) Encode(target *inference.Target, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	return llmapi.encode(target, req, job)
}

// Decoder reads responses of this contract.
func (LLMAPI) Decoder(target *inference.Target, req *inference.Request) inference.Decoder {
	return llmapi.decoder(target, req)
}

// Explain knows the errors that are the request's fault.
func (LLMAPI) Explain(req *inference.Request, err *inference.Error) *inference.Error {
	return trtExplain(req, err)
}
