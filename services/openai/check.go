package openai

import (
	"encoding/json"
	"fmt"

	"github.com/trident-inference/trident/services/inference"
)

// Check finds what is wrong with a chat or a completion before a model is asked: tools
// that chat templates don't know, schemas that are none, values out of their range. It
// is for every surface whose requests are these, whatever they look like on the wire.
// Errors are [*inference.Error] that name fields as chats here do.
func Check(req *inference.Request) error {
	demanded := req.ToolChoice.Mode == inference.ToolRequired || req.ToolChoice.Mode == inference.ToolNamed
	for i, definition := range req.Tools {
		if err := checkTool(fmt.Sprintf("tools[%d]", i), definition, demanded); err != nil {
			return err
		}
	}
	if err := checkStructured(req.Sampling.Structured); err != nil {
		return err
	}
	return req.Validate()
}

// checkStructured checks the schema of a form that has one.
func checkStructured(c *inference.Structured) error {
	if c == nil || c.Kind != "json" {
		return nil
	}
	return checkSchema(c)
}

// DecodeObject checks that a field's text is a JSON object, as the arguments of earlier
// calls have to be, and keeps its bytes: the order of keys reaches the prompt. No text
// stands for no keys. Errors are [*inference.Error].
func DecodeObject(param, text string) (json.RawMessage, error) {
	raw, err := decodeArguments(&jsonReader{}, text)
	if err != nil {
		return nil, bodyError(at(param, err))
	}
	return raw, nil
}
