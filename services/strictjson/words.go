package strictjson

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/budget"
)

// PathOf appends a JSON pointer into value to path, in OpenAI's style. Long paths are cut.
func PathOf(path string, value any, pointer []string) string {
	for _, step := range pointer {
		path = budget.Cut(path, budget.MessageBytes)
		switch v := value.(type) {
		case []any:
			path = JoinPath(path, "["+step+"]")
			if i, err := strconv.Atoi(step); err == nil && i < len(v) {
				value = v[i]
			}
		case map[string]any:
			path = JoinPath(path, step)
			value = v[step]
		}
	}
	return path
}

// Quote formats a value for an error message about a field with a fixed list of words.
func Quote(value any) string {
	if s, ok := value.(string); ok && len(s) <= 40 {
		return strconv.Quote(s)
	}
	return Show(value)
}

// Show formats a client's value for an error message. It doesn't repeat strings, because
// messages reach the log and prompts must not.
func Show(value any) string {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("a string of %d bytes", len(v))
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		return "an object"
	case float64:
		return Number(v)
	case nil:
		return "null"
	}
	return fmt.Sprint(value)
}

// Number formats a number for an error message.
func Number(f float64) string {
	if math.Abs(f) < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// ListWords returns a list for an error message: "a", "a or b", "a, b or c".
func ListWords[T any](words []T) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = fmt.Sprint(w)
	}
	last := len(all) - 1
	if last < 1 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// Wrong returns the error of an invalid value.
func Wrong(wanted string, got any) error {
	return &Error{Message: fmt.Sprintf("must be %s, got %s", wanted, Show(got)), Named: true}
}

// Missing returns the error of a required key that the object lacks.
func Missing(key string) error {
	return &Error{Path: key, Message: "is required", Named: true}
}
