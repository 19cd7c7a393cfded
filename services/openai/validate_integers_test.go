package openai

import (
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// An integer of any size would pass the schema and not fit its Go type.
func TestIntegersOfRequestsAreBounded(t *testing.T) {
	var walk func(path string, s *openapi3.Schema, above []*openapi3.Schema)
	walk = func(path string, s *openapi3.Schema, above []*openapi3.Schema) {
		if slices.Contains(above, s) {
			return
		}
		above = append(above, s)
		// The body's own fields are checked for 64 bits apart from the schema.
		if s.Type.Is(openapi3.TypeInteger) && len(above) > 2 && (s.Min == nil || s.Max == nil) {
			t.Errorf("%s has no minimum or no maximum", path)
		}
		for name, property := range s.Properties {
			walk(path+"."+name, property.Value, above)
		}
		for _, some := range [][]*openapi3.SchemaRef{s.OneOf, s.AnyOf, s.AllOf, {s.Items, s.AdditionalProperties.Schema}} {
			for _, one := range some {
				if one != nil {
					walk(path, one.Value, above)
				}
			}
		}
	}
	for pattern, body := range newValidator(t).bodies {
		walk(pattern, body.schema, nil)
	}
}
