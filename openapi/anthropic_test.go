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
