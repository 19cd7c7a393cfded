package requests

import "github.com/trident-inference/trident/services/inference"

// SetInputType applies the field input_type. It accepts the names of Cohere's and NVIDIA's APIs for the two types.
// Any other name selects one of the model's prompts. The empty name has no effect.
func SetInputType(req *inference.EncodeRequest, name string) {
	switch name {
	case "":
	case "query", "search_query":
		req.Type = inference.InputQuery
	case "document", "passage", "search_document":
		req.Type = inference.InputDocument
	default:
		req.PromptName, req.PromptParam = name, "input_type"
	}
}
