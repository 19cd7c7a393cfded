package openai

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/trident-inference/trident/services/inference"
)

// checkSchema compiles the schema: engines take nonsense and answer
// unconstrained.
func checkSchema(c *inference.Structured) error {
	err := readJSON(c.Value, func(r *jsonReader) error {
		_, err := r.value(false)
		return err
	})
	switch {
	case errors.Is(err, errTooManyValues):
		return bodyError(err)
	case err != nil:
		return inference.Invalid(c.Param, "%s is not valid JSON: %s", c.Param, why(err))
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Value))
	if err != nil {
		return inference.Invalid(c.Param, "%s is not valid JSON", c.Param)
	}
	if _, isObject := doc.(map[string]any); !isObject {
		return inference.Invalid(c.Param, "%s must be a JSON schema object", c.Param)
	}
	if err := compile(doc); err != nil {
		return inference.Invalid(c.Param, "%s is not a valid JSON schema: %s", c.Param, flaw(doc, err))
	}
	return nil
}

func compile(doc any) error {
	// An absolute name: others are taken for files of the working directory.
	const name = "mem:///schema"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(name, doc); err != nil {
		return fmt.Errorf("add schema: %w", err)
	}
	_, err := compiler.Compile(name)
	return err
}

// noLoader keeps schemas from reading files or the network.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("references outside the schema are not followed")
}

// flaw says what is wrong with a schema. The library's own text is about the
// metaschema and about addresses that the client never saw.
func flaw(doc any, err error) string {
	if e, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return keywordFlaw(doc, deepest(e))
	}
	if e, ok := errors.AsType[*jsonschema.InvalidRegexError](err); ok {
		return fmt.Sprintf("the pattern %s is not a regular expression that can be read", quote(e.Regex))
	}
	switch {
	case is[*jsonschema.LoadURLError](err), is[*jsonschema.UnsupportedURLSchemeError](err):
		return "it refers to another document, and only references within the schema are followed"
	case is[*jsonschema.JSONPointerNotFoundError](err), is[*jsonschema.AnchorNotFoundError](err), is[*jsonschema.InvalidJsonPointerError](err):
		return "a $ref leads nowhere"
	case is[*jsonschema.DuplicateIDError](err), is[*jsonschema.DuplicateAnchorError](err):
		return "an $id or $anchor is given twice"
	}
	return "an address in $id, $ref, $anchor or $schema can't be used"
}

func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// deepest is the cause nearest to the value at fault, the first one of several.
func deepest(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	var found *jsonschema.ValidationError
	for _, cause := range e.Causes {
		if c := deepest(cause); found == nil || len(c.InstanceLocation) > len(found.InstanceLocation) {
			found = c
		}
	}
	if found == nil {
		return e
	}
	return found
}

// keywordFlaw says where in the schema which value can't stand.
func keywordFlaw(doc any, e *jsonschema.ValidationError) string {
	where := pathOf("", doc, e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return fmt.Sprintf("%s must be of type %s, got %s", where, listWords(k.Want), k.Got)
	case *kind.Enum:
		return fmt.Sprintf("%s must be %s, got %s", where, listWords(k.Want), quote(k.Got))
	case *kind.Format:
		return fmt.Sprintf("%s is not a valid %s", where, k.Want)
	}
	return fmt.Sprintf("%s has a value that can't stand there (%s)", where, strings.Join(e.ErrorKind.KeywordPath(), "."))
}
