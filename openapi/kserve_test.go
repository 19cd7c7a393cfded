package openapi_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/openapi"
)

func loadKServe(t *testing.T) *openapi3.T {
	t.Helper()
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(openapi.KServe())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	if err := doc.Validate(loader.Context, openapi3.EnableSchemaFormatValidation()); err != nil {
		t.Fatalf("validate: %v", err)
	}
	return doc
}

// TestKServeOperations checks that each operation of the KServe OpenAPI document has descriptions,
// one known tag, the common errors and a request id.
func TestKServeOperations(t *testing.T) {
	doc := loadKServe(t)
	ids := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			if op.OperationID == "" || op.Summary == "" || op.Description == "" || ids[op.OperationID] {
				t.Errorf("%s: a unique operationId, summary or description is missing", name)
			}
			ids[op.OperationID] = true
			if len(op.Tags) != 1 || doc.Tags.Get(op.Tags[0]) == nil {
				t.Errorf("%s: tags are %v, want one that the document declares", name, op.Tags)
			}
			if failure := op.Responses.Default(); failure == nil || failure.Ref != "#/components/responses/Error" {
				t.Errorf("%s: the default response isn't Error", name)
			}
			if ok := op.Responses.Value(strconv.Itoa(http.StatusOK)); ok == nil || ok.Value.Headers["x-request-id"] == nil {
				t.Errorf("%s: there is no response 200 with the header x-request-id", name)
			}
		}
	}
	if len(ids) != 42 {
		t.Errorf("%d operations: %v", len(ids), ids)
	}
}

// TestKServeSchemas checks that each schema of the KServe OpenAPI document is used and described,
// and that required fields are declared.
func TestKServeSchemas(t *testing.T) {
	doc := loadKServe(t)
	used, seen := map[*openapi3.Schema]bool{}, map[*openapi3.Schema]bool{}
	visit := func(path string, s *openapi3.Schema) {
		used[s] = true
		if s.Description == "" && path != "TensorData[]" { // an element of TensorData may be of any type
			t.Errorf("%s has no description", path)
		}
		for _, name := range s.Required {
			if s.Properties[name] == nil {
				t.Errorf("%s: %s is required but not declared", path, name)
			}
		}
	}
	for path, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			var contents []openapi3.Content
			if op.RequestBody != nil {
				contents = append(contents, op.RequestBody.Value.Content)
			}
			for _, response := range op.Responses.Map() {
				contents = append(contents, response.Value.Content)
			}
			for _, media := range contents {
				for _, content := range media {
					walk(content.Schema, path, seen, visit)
				}
			}
		}
	}
	for name, schema := range doc.Components.Schemas {
		if !used[schema.Value] {
			t.Errorf("schema %s is not used", name)
		}
	}
}
