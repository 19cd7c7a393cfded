package openapi_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/openapi"
)

func load(t *testing.T) *openapi3.T {
	t.Helper()
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(openapi.OpenAI())
	if err != nil {
		t.Fatalf("load: %v", err) // an unresolved $ref ends here
	}
	if err := doc.Validate(loader.Context, openapi3.EnableSchemaFormatValidation()); err != nil {
		t.Fatalf("validate: %v", err)
	}
	return doc
}

func TestOperationsAreDescribed(t *testing.T) {
	doc := load(t)
	if doc.OpenAPI != "3.0.3" {
		t.Errorf("version %s, want 3.0.3: generator and validator support no other version well", doc.OpenAPI)
	}
	ids := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			if op.OperationID == "" || op.Summary == "" || op.Description == "" {
				t.Errorf("%s: operationId, summary or description is missing", name)
			}
			if other, dup := ids[op.OperationID]; dup {
				t.Errorf("%s and %s have the same operationId", name, other)
			}
			ids[op.OperationID] = name
			checkResponses(t, name, op)
		}
	}
	if len(ids) != 23 {
		t.Errorf("%d operations, want 23: %v", len(ids), ids)
	}
}

// checkResponses checks the parts of responses that SDKs read: the request id, and the
// error object of failures.
func checkResponses(t *testing.T, name string, op *openapi3.Operation) {
	t.Helper()
	for status, response := range op.Responses.Map() {
		r := response.Value
		if r.Headers["x-request-id"] == nil {
			t.Errorf("%s: response %s has no header x-request-id", name, status)
		}
		if (status == "429" || status == "503") && r.Headers["Retry-After"] == nil {
			t.Errorf("%s: response %s has no header Retry-After", name, status)
		}
		if status != "200" && r.Content["application/json"].Schema.Ref != "#/components/schemas/ErrorResponse" {
			t.Errorf("%s: the schema of response %s isn't ErrorResponse", name, status)
		}
	}
}

func TestErrorHasAllFourKeys(t *testing.T) {
	got := slices.Sorted(slices.Values(load(t).Components.Schemas["Error"].Value.Required))
	if want := []string{"code", "message", "param", "type"}; !slices.Equal(got, want) {
		t.Errorf("required: %v, want %v", got, want)
	}
}

// walk visits a schema and all schemas inside it once. It passes the path of each.
func walk(ref *openapi3.SchemaRef, path string, seen map[*openapi3.Schema]bool, visit func(path string, s *openapi3.Schema)) {
	if ref == nil || seen[ref.Value] {
		return
	}
	if _, name, ok := strings.Cut(ref.Ref, "schemas/"); ok {
		path = name
	}
	seen[ref.Value] = true
	visit(path, ref.Value)
	s := ref.Value
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		walk(s.Properties[name], path+"."+name, seen, visit)
	}
	for _, all := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf, s.AllOf} {
		for _, alternative := range all {
			walk(alternative, path+"|", seen, visit)
		}
	}
	walk(s.Items, path+"[]", seen, visit)
	walk(s.AdditionalProperties.Schema, path+".*", seen, visit)
}

// reachable visits the schemas that request and response bodies use.
func reachable(doc *openapi3.T, requests, responses bool, visit func(path string, s *openapi3.Schema)) {
	seen := map[*openapi3.Schema]bool{}
	for path, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			if requests && op.RequestBody != nil {
				walk(op.RequestBody.Value.Content["application/json"].Schema, path, seen, visit)
			}
			if !responses {
				continue
			}
			for _, response := range op.Responses.Map() {
				for _, content := range response.Value.Content {
					walk(content.Schema, path, seen, visit)
				}
			}
		}
	}
}

func TestEverySchemaIsUsedAndDescribed(t *testing.T) {
	doc := load(t)
	used := map[*openapi3.Schema]bool{}
	reachable(doc, true, true, func(path string, s *openapi3.Schema) {
		used[s] = true
		if s.Description == "" {
			t.Errorf("%s has no description", path)
		}
	})
	for name, schema := range doc.Components.Schemas {
		if !used[schema.Value] {
			t.Errorf("schema %s is not used", name)
		}
	}
}

// Clients send null for unset fields, so every optional field of a request must
// accept null.
func TestOptionalRequestFieldsTakeNull(t *testing.T) {
	reachable(load(t), true, false, func(path string, s *openapi3.Schema) {
		for name, property := range s.Properties {
			if !slices.Contains(s.Required, name) && !property.Value.Nullable {
				t.Errorf("%s.%s is optional but not nullable", path, name)
			}
		}
	})
}
