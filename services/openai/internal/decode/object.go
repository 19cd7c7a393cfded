package decode

import (
	"fmt"
	"slices"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/strictjson"
)

// AnyText reads a string, which may be empty.
func AnyText(r *strictjson.Reader) (string, error) {
	value, err := r.Value(true)
	if err != nil {
		return "", err
	}
	s, ok := value.(string)
	if !ok {
		return "", Wrong("a string", value)
	}
	return s, nil
}

// TooMany returns the error of the first message or item beyond the budget.
func TooMany(what string) error {
	return &strictjson.Error{Message: fmt.Sprintf("exceeds the maximum of %d %s in a request", budget.Messages, what), Named: true}
}

// Mismatch returns the error of a value with another type than wanted.
func Mismatch(r *strictjson.Reader, wanted string) error {
	value, err := r.Value(true)
	if err != nil {
		return err
	}
	return Wrong(wanted, value)
}

// Wrong returns the error of an invalid value.
func Wrong(wanted string, got any) error {
	return &strictjson.Error{Message: fmt.Sprintf("must be %s, got %s", wanted, strictjson.Show(got)), Named: true}
}

// Missing returns the error of a required key that the object lacks.
func Missing(key string) error {
	return &strictjson.Error{Path: key, Message: "is required", Named: true}
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
		return "", Missing(key)
	}
	return "", strictjson.At(key, Wrong("a string", value))
}

// Word returns a required string field that must have one of the given values.
func Word(object map[string]any, key string, words []string) (string, error) {
	value, there := object[key]
	if s, ok := value.(string); ok && slices.Contains(words, s) {
		return s, nil
	}
	if !there {
		return "", Missing(key)
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
		return nil, Missing(key)
	}
	return nil, strictjson.At(key, Wrong("an object", value))
}
