package backend

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

// Images tells of the input for images, under any of its names. Such a model puts them
// where it likes.
func (Python) Images(config *kserve.ModelConfig) inference.ImageInput {
	images := imagesOf(config)
	images.Placed = true
	return images
}

// LoRA is what the model declares for adapters.
func (Python) LoRA(config *kserve.ModelConfig) inference.LoRAForm { return loraForm(config) }

// Encode makes the request of one job.
func (Python) Encode(card *inference.Card, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	return contract{}.encode(card, req, job)
}

// Decoder reads responses: texts are deltas unless the parameter accumulate_tokens
// says otherwise.
func (Python) Decoder(card *inference.Card, req *inference.Request) inference.Decoder {
	return contract{cumulative: accumulates(card.Config)}.decoder(card, req)
}

// Explain knows what models of TensorRT-LLM say.
func (Python) Explain(req *inference.Request, err *inference.Error) *inference.Error {
	return trtExplain(req, err)
}
