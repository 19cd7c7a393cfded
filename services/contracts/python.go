package contracts

import (
	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Python speaks to any other model that takes a text_input and gives a
// text_output: what it declares of the inputs of the other contracts, under any of
// their names, it gets.
type Python struct{}

// Name is "python".
func (Python) Name() string { return "python" }

// Tasks of a model that needs no more than a text and known parameters.
func (Python) Tasks(config *kserve.ModelConfig) inference.Task {
	if !textModel(config) {
		return 0
	}
	return inference.TaskGenerate
}

// Extras are what the model declares inputs for, under any of their names. It puts
// images where it likes.
func (Python) Extras(config *kserve.ModelConfig) inference.Extras {
	images := imagesOf(config)
	images.Placed = true
	return separateExtras(config, images)
}

// Encode makes the request of one job.
func (Python) Encode(target *inference.Target, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	return contract{}.encode(target, req, job)
}

// Decoder reads responses: texts are deltas unless the parameter accumulate_tokens
// says otherwise.
func (Python) Decoder(target *inference.Target, req *inference.Request) inference.Decoder {
	return contract{cumulative: accumulates(target.Config)}.decoder(target, req)
}

// Explain knows what models of TensorRT-LLM say.
func (Python) Explain(req *inference.Request, err *inference.Error) *inference.Error {
	return trtExplain(req, err)
}
