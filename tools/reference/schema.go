package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// inlined reports whether a schema is shown where it is used instead of under its own heading: it
// has neither fields nor variants.
func inlined(s *openapi3.Schema) bool {
	return len(s.Properties) == 0 && len(variants(s)) == 0 && len(s.Enum) <= 12
}

// variants returns the schemas of which a value has one.
func variants(s *openapi3.Schema) openapi3.SchemaRefs {
	return slices.Concat(s.OneOf, s.AnyOf)
}

// component returns the name of the component that a reference names, or "".
func component(ref *openapi3.SchemaRef) string {
	return strings.TrimPrefix(ref.Ref, "#/components/schemas/")
}

// typeOf returns the type of a schema as a table shows it.
func typeOf(ref *openapi3.SchemaRef) string {
	if ref == nil || ref.Value == nil {
		return "any"
	}
	s := ref.Value
	if name := component(ref); name != "" && !inlined(s) {
		return fmt.Sprintf("[%s](#%s)", name, anchor(name))
	}
	if len(s.AllOf) == 1 && len(s.Properties) == 0 {
		return typeOf(s.AllOf[0])
	}
	if all := variants(s); len(all) > 0 {
		var names []string
		for _, v := range all {
			if name := typeOf(v); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " or ")
	}
	return plainType(s)
}

func plainType(s *openapi3.Schema) string {
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			if v != nil {
				values = append(values, fmt.Sprintf("`%v`", v))
			}
		}
		return strings.Join(values, ", ")
	}
	if s.Type == nil {
		return "any"
	}
	switch {
	case s.Type.Is("array"):
		return "list of " + typeOf(s.Items)
	case s.Type.Is("object"):
		if values := s.AdditionalProperties.Schema; values != nil {
			return "object with values of type " + typeOf(values)
		}
		return "object"
	}
	return strings.Join(s.Type.Slice(), " or ")
}

// bounds returns the limits and the default of a schema as a sentence.
func bounds(s *openapi3.Schema) string {
	var parts []string
	switch {
	case s.Min != nil && s.Max != nil:
		parts = append(parts, fmt.Sprintf("from %s to %s", number(*s.Min), number(*s.Max)))
	case s.Min != nil && s.ExclusiveMin.IsTrue():
		parts = append(parts, "more than "+number(*s.Min))
	case s.Min != nil:
		parts = append(parts, "at least "+number(*s.Min))
	case s.Max != nil:
		parts = append(parts, "at most "+number(*s.Max))
	}
	if s.MinLength > 0 {
		parts = append(parts, "at least "+count(s.MinLength, "character"))
	}
	if s.MaxLength != nil && *s.MaxLength > 0 { // the description of a string that must be empty has this limit
		parts = append(parts, "at most "+count(*s.MaxLength, "character"))
	}
	if s.MinItems > 0 {
		parts = append(parts, "at least "+count(s.MinItems, "element"))
	}
	if s.MaxItems != nil {
		parts = append(parts, "at most "+count(*s.MaxItems, "element"))
	}
	text := ""
	if len(parts) > 0 {
		text = " Limits: " + strings.Join(parts, ", ") + "."
	}
	if s.Default != nil {
		if value, err := json.Marshal(s.Default); err == nil {
			text += fmt.Sprintf(" Default: `%s`.", value)
		}
	}
	return text
}

// count returns a number with its unit.
func count(n uint64, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// writeSchema writes the heading of a component, and its fields or variants.
func writeSchema(b *strings.Builder, name string, s *openapi3.Schema) {
	fmt.Fprintf(b, "### %s\n\n", name)
	if s.Description != "" {
		b.WriteString(paragraphs(s.Description) + "\n\n")
	}
	if all := variants(s); len(all) > 0 {
		var names []string
		for _, v := range all {
			names = append(names, typeOf(v))
		}
		selector := ""
		if s.Discriminator != nil {
			selector = " the following, selected by the field `" + s.Discriminator.PropertyName + "`"
		}
		fmt.Fprintf(b, "A value is one of%s: %s.\n\n", selector, strings.Join(names, ", "))
	}
	if len(s.Enum) > 0 {
		fmt.Fprintf(b, "Values: %s.\n\n", plainType(s))
	}
	var rows [][]string
	fieldRows(&rows, "", s)
	b.WriteString(table([]string{"field", "type", "required", "meaning"}, rows))
}

// fieldRows adds a row for each field, also for those of objects that have no heading.
func fieldRows(rows *[][]string, prefix string, s *openapi3.Schema) {
	for _, part := range s.AllOf {
		fieldRows(rows, prefix, part.Value)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		ref := s.Properties[name]
		v := ref.Value
		required := demanded(slices.Contains(s.Required, name))
		if required != "" && v.Nullable {
			required += ", may be null"
		}
		*rows = append(*rows, []string{"`" + prefix + name + "`", typeOf(ref), required, cell(v.Description + bounds(v))})
		inner, path := ref, prefix+name
		for inner.Value.Items != nil && component(inner) == "" {
			inner, path = inner.Value.Items, path+"[]"
		}
		if component(inner) == "" && len(inner.Value.Properties) > 0 {
			fieldRows(rows, path+".", inner.Value)
		}
	}
}
