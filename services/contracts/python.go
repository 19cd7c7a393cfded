package contracts

import (
	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Python is the contract of any other model with an input text_input and an output text_output. The
// model receives those inputs of the other contracts that it declares, under any of their names.
type Python struct{}

// Name returns "python".
func (Python) Name() string { return "python" }

// Tasks returns TaskGenerate for a model that requires only a text and known parameters.
func (Python) Tasks(config *kserve.ModelConfig) inference.Task {
	if !textModel(config) {
		return 0
	}
	return inference.TaskGenerate
}

// TakesMaxTokens reports whether the model declares the input max_tokens.
func (Python) TakesMaxTokens(config *kserve.ModelConfig) bool {
	return declared(config)[inMaxTokens] != nil
}

// Extras returns the inputs that the model declares, under any of their names. The model inserts
// images into the prompt itself.
func (Python) Extras(config *kserve.ModelConfig) inference.Extras {
	images := imagesOf(config)
	images.Placed = true
	return separateExtras(config, images)
}

// Encode returns the request of one job.
func (Python) Encode(target *inference.Target, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	return contract{}.encode(target, req, job)
}

// Decoder returns a decoder of the responses. Texts are deltas unless the model's parameter
// accumulate_tokens is true.
func (Python) Decoder(target *inference.Target, req *inference.Request) inference.Decoder {
	return contract{cumulative: accumulates(target.Config)}.decoder(target, req)
}

// Explain recognizes the messages of TensorRT-LLM's models.
func (Python) Explain(req *inference.Request, err *inference.Error) *inference.Error {
	return trtExplain(req, err)
}
