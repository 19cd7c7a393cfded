package openai

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// explain converts a schema error of root into an error that names the field
// and the valid values. The message of the library shows the schema instead.
func explain(root any, err error) error {
	var verdict *openapi3.SchemaError
	if !errors.As(err, &verdict) {
		return &inference.Error{Code: inference.CodeInternal, Message: "the request body could not be validated", Err: err}
	}
	return explainAt("", root, verdict)
}

// otherPaths are the paths of requests that have the main field of another operation instead of
// their own.
var otherPaths = []struct{ pattern, missing, sent, hint string }{ //nolint:gochecknoglobals // a constant table
	{"POST /v1/completions", "prompt", "messages", "send messages to POST /v1/chat/completions"},
	{"POST /v1/chat/completions", "messages", "prompt", "send a prompt to POST /v1/completions"},
	{"POST /v1/chat/completions", "messages", "input", "send input to POST /v1/responses, or to POST /v1/embeddings for embeddings"},
	{"POST /v1/embeddings", "input", "messages", "send messages to POST /v1/chat/completions"},
}

// otherPath adds the path to use to the error of a missing field, if the body has the main field of
// another operation.
func otherPath(pattern string, unknown []string, err error) error {
	e, ok := errors.AsType[*inference.Error](err)
	if !ok || e.Code != inference.CodeInvalid {
		return err
	}
	for _, p := range otherPaths {
		if p.pattern == pattern && p.missing == e.Param && slices.Contains(unknown, p.sent) {
			return inference.Invalid(p.missing, "%s is required: %s", p.missing, p.hint)
		}
	}
	return err
}

// explainAt does the same for a schema error of the value at path.
func explainAt(path string, value any, verdict *openapi3.SchemaError) error {
	param := strictjson.PathOf(path, value, verdict.JSONPointer())
	schema := verdict.Schema
	switch verdict.SchemaField {
	case "required":
		return inference.Invalid(param, "%s is required", param)
	case "oneOf":
		return explainUnion(param, verdict)
	case "discriminator":
		return explainDiscriminator(param, verdict)
	case "enum":
		return inference.Invalid(param, "%s must be %s, got %s", param, strictjson.ListWords(schema.Enum), strictjson.Quote(verdict.Value))
	case "properties":
		return explainExtra(param, verdict)
	}
	return inference.Invalid(param, "%s must be %s, got %s", param, expected(verdict), strictjson.Show(verdict.Value))
}

// expected describes the valid values, based on the keyword of the schema that
// failed.
func expected(verdict *openapi3.SchemaError) string {
	s := verdict.Schema
	switch verdict.SchemaField {
	case "minimum":
		return "at least " + strictjson.Number(*s.Min)
	case "maximum":
		return "at most " + strictjson.Number(*s.Max)
	case "exclusiveMinimum":
		return "more than " + strictjson.Number(*s.Min)
	case "exclusiveMaximum":
		return "less than " + strictjson.Number(*s.Max)
	case "minLength", "maxLength":
		return between(s.MinLength, s.MaxLength, "character")
	case "minItems", "maxItems":
		return "a list of " + between(s.MinItems, s.MaxItems, "item")
	}
	return describeSchema(s)
}

// between describes a range of counts of the noun.
func between(low uint64, high *uint64, noun string) string {
	switch {
	case high == nil:
		return fmt.Sprintf("at least %d %s%s", low, noun, plural(low))
	case low == 0:
		return fmt.Sprintf("at most %d %s%s", *high, noun, plural(*high))
	}
	return fmt.Sprintf("%d to %d %ss", low, *high, noun)
}

func plural(n uint64) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// explainUnion explains the one alternative that fits the value's type or the
// schema's discriminator. If none or several fit, it lists all alternatives.
func explainUnion(param string, verdict *openapi3.SchemaError) error {
	var fitting []*openapi3.Schema
	for _, s := range alternatives(verdict) {
		if permits(s, typeOf(verdict.Value)) {
			fitting = append(fitting, s)
		}
	}
	var inner *openapi3.SchemaError
	if len(fitting) == 1 && errors.As(fitting[0].VisitJSON(verdict.Value, omitValues), &inner) {
		return explainAt(param, verdict.Value, inner)
	}
	return inference.Invalid(param, "%s must be %s, got %s", param, describeSchema(verdict.Schema), strictjson.Show(verdict.Value))
}

func alternatives(verdict *openapi3.SchemaError) []*openapi3.Schema {
	var chosen string
	if d := verdict.Schema.Discriminator; d != nil {
		if object, ok := verdict.Value.(map[string]any); ok {
			kind, _ := object[d.PropertyName].(string)
			chosen = d.Mapping[kind].Ref
		}
	}
	var all []*openapi3.Schema
	for _, s := range verdict.Schema.OneOf {
		if chosen == "" || s.Ref == chosen {
			all = append(all, s.Value)
		}
	}
	return all
}

// explainDiscriminator lists the valid values of the discriminator.
func explainDiscriminator(param string, verdict *openapi3.SchemaError) error {
	d := verdict.Schema.Discriminator
	param = strictjson.JoinPath(param, d.PropertyName)
	words := slices.Sorted(maps.Keys(d.Mapping))
	if verdict.Value == nil {
		return inference.Invalid(param, "%s must be %s", param, strictjson.ListWords(words))
	}
	return inference.Invalid(param, "%s must be %s, got %s", param, strictjson.ListWords(words), strictjson.Quote(verdict.Value))
}

// explainExtra names the unknown key of an object with a fixed set of keys.
func explainExtra(param string, verdict *openapi3.SchemaError) error {
	object, _ := verdict.Value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if verdict.Schema.Properties[key] == nil {
			keys := slices.Sorted(maps.Keys(verdict.Schema.Properties))
			extra := strictjson.JoinPath(param, key)
			return inference.Invalid(extra, "%s is an unknown field; the fields of %s are %s", extra, param, strings.Join(keys, ", "))
		}
	}
	return inference.Invalid(param, "%s has an unknown field", param)
}

// typeWords returns the name of a JSON schema type, in singular and plural.
func typeWords(types *openapi3.Types) (one, many string) {
	switch {
	case types.Is(openapi3.TypeString):
		return "a string", "strings"
	case types.Is(openapi3.TypeNumber):
		return "a number", "numbers"
	case types.Is(openapi3.TypeInteger):
		return "an integer", "integers"
	case types.Is(openapi3.TypeBoolean):
		return "true or false", "booleans"
	case types.Is(openapi3.TypeObject):
		return "an object", "objects"
	case types.Is(openapi3.TypeArray):
		return "a list", "lists"
	}
	return "a value", "values"
}

// describeSchema describes the valid values of the schema in a few words.
func describeSchema(s *openapi3.Schema) string {
	switch {
	case s.Type == nil && len(s.OneOf) > 0:
		var words []string
		for _, alternative := range s.OneOf {
			words = append(words, describeSchema(alternative.Value))
		}
		return strictjson.ListWords(words)
	case s.Type.Is(openapi3.TypeArray):
		_, items := typeWords(s.Items.Value.Type)
		return "a list of " + items
	case len(s.Enum) > 0:
		return strictjson.ListWords(s.Enum)
	}
	word, _ := typeWords(s.Type)
	return word
}

// typeOf returns the JSON schema type of a value as [strictjson.Reader] builds
// it.
func typeOf(value any) string {
	switch value.(type) {
	case string:
		return openapi3.TypeString
	case int64, float64:
		return openapi3.TypeNumber
	case bool:
		return openapi3.TypeBoolean
	case map[string]any:
		return openapi3.TypeObject
	case []any:
		return openapi3.TypeArray
	}
	return openapi3.TypeNull
}
