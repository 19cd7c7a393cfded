package decode

import (
	"fmt"
	"slices"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/strictjson"
)

// TooMany returns the error of the first message or item beyond the budget.
func TooMany(what string) error {
	return &strictjson.Error{Message: fmt.Sprintf("exceeds the maximum of %d %s in a request", budget.Messages, what), Named: true}
}

// Text returns a string field. It returns an empty string for null and absent
// fields unless they are required.
func Text(object map[string]any, key string, required bool) (string, error) {
	value, there := object[key]
	if s, ok := value.(string); ok {
		return s, nil
	}
	if !required && value == nil {
		return "", nil
	}
	if !there {
		return "", strictjson.Missing(key)
	}
	return "", strictjson.At(key, strictjson.Wrong("a string", value))
}

// Word returns a required string field that must have one of the given values.
func Word(object map[string]any, key string, words []string) (string, error) {
	value, there := object[key]
	if s, ok := value.(string); ok && slices.Contains(words, s) {
		return s, nil
	}
	if !there {
		return "", strictjson.Missing(key)
	}
	return "", strictjson.At(key, &strictjson.Error{Message: fmt.Sprintf("must be %s, got %s", strictjson.ListWords(words), strictjson.Quote(value)), Named: true})
}

// Child returns an object field. It returns nil for null and absent fields
// unless they are required.
func Child(object map[string]any, key string, required bool) (map[string]any, error) {
	value, there := object[key]
	if o, ok := value.(map[string]any); ok {
		return o, nil
	}
	if !required && value == nil {
		return nil, nil //nolint:nilnil // nil means absent
	}
	if !there {
		return nil, strictjson.Missing(key)
	}
	return nil, strictjson.At(key, strictjson.Wrong("an object", value))
}
