package decode

import (
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/toolform"
	"github.com/trident-inference/trident/services/strictjson"
)

// EachPart decodes a list of objects whose type is one of kinds.
func EachPart(list []any, kinds []string, decode func(object map[string]any, kind string) (inference.Part, error)) ([]inference.Part, error) {
	parts := make([]inference.Part, len(list))
	for i, value := range list {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, strictjson.At(strictjson.Index(i), strictjson.Wrong("an object", value))
		}
		kind, err := Word(object, "type", kinds)
		if err == nil {
			parts[i], err = decode(object, kind)
		}
		if err != nil {
			return nil, strictjson.At(strictjson.Index(i), err)
		}
	}
	return parts, nil
}

// CheckCacheHint checks the form of a part's caching hint, which has no effect on the
// response.
func CheckCacheHint(part map[string]any) error {
	const key = "prompt_cache_breakpoint"
	hint, err := Child(part, key, false)
	if err != nil || hint["mode"] == nil {
		return err
	}
	_, err = Word(hint, "mode", []string{"explicit"})
	return strictjson.At(key, err)
}

// CustomCall reads a call of a custom tool, as a call of the function that the model sees.
func CustomCall(custom map[string]any) (inference.ToolCall, error) {
	name, err := Text(custom, "name", true)
	if err != nil {
		return inference.ToolCall{}, err
	}
	input, err := Text(custom, "input", true)
	return inference.ToolCall{Name: name, Arguments: toolform.Arguments(input)}, err
}

// Function reads the name and the arguments of a call. The arguments are as a model wrote
// them.
func Function(r *strictjson.Reader, function map[string]any) (inference.ToolCall, error) {
	name, err := Text(function, "name", true)
	if err != nil {
		return inference.ToolCall{}, err
	}
	const key = "arguments"
	arguments, err := Text(function, key, true)
	if err != nil {
		return inference.ToolCall{}, err
	}
	raw, malformed, err := r.Arguments(arguments)
	return inference.ToolCall{Name: name, Arguments: raw, Malformed: malformed}, strictjson.At(key, err)
}
