package openapi_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/openapi"
)

// TestAnthropicDocument checks that each operation of the document of Anthropic's API has
// descriptions and the common errors, and that each property of its schemas has a description.
func TestAnthropicDocument(t *testing.T) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(openapi.Anthropic())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	if err := doc.Validate(loader.Context, openapi3.EnableSchemaFormatValidation()); err != nil {
		t.Fatalf("validate: %v", err)
	}
	var operations []string
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			operations = append(operations, method+" "+path)
			if op.OperationID == "" || op.Summary == "" || op.Description == "" {
				t.Errorf("%s %s: operationId, summary or description is missing", method, path)
			}
			if failure := op.Responses.Default(); failure == nil && op.Responses.Status(400) == nil {
				t.Errorf("%s %s: there is no response for errors", method, path)
			}
		}
	}
	for _, want := range []string{"POST /v1/messages", "POST /v1/messages/count_tokens", "GET /v1/models", "GET /v1/models/{model_id}"} {
		if !slices.Contains(operations, want) {
			t.Errorf("the document has no operation %s: it has %s", want, strings.Join(operations, ", "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		for property, schema := range doc.Components.Schemas[name].Value.Properties {
			if schema.Ref == "" && schema.Value.Description == "" {
				t.Errorf("%s.%s has no description", name, property)
			}
		}
	}
}

// TestJSON checks that a document in JSON is a valid one with the same paths, whose nullable
// enumerations have null. A text that is no document is an error.
func TestJSON(t *testing.T) {
	for name, document := range map[string][]byte{"OpenAI": openapi.OpenAI(), "Anthropic": openapi.Anthropic()} {
		text, err := openapi.JSON(document)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, err := openapi3.NewLoader().LoadFromData(document)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := openapi3.NewLoader().LoadFromData(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(slices.Sorted(maps.Keys(got.Paths.Map())), slices.Sorted(maps.Keys(want.Paths.Map()))) {
			t.Errorf("%s: the document in JSON has other paths", name)
		}
		nullable := 0
		for schema, ref := range got.Components.Schemas {
			for property, field := range ref.Value.Properties {
				if value := field.Value; value.Nullable && len(value.Enum) > 0 {
					nullable++
					if !slices.Contains(value.Enum, nil) {
						t.Errorf("%s: %s.%s doesn't list null", name, schema, property)
					}
				}
			}
		}
		if name == "OpenAI" && nullable == 0 {
			t.Errorf("%s has no nullable enumeration", name)
		}
	}
	if _, err := openapi.JSON([]byte("openapi: [")); err == nil {
		t.Error("a text that is no document has no error")
	}
}
