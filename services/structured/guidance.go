package structured

import (
	"fmt"
	"strings"
)

// subschemas are keywords whose values contain schemas. The value is true for a schema or a list of
// schemas, and false for an object of schemas.
var subschemas = map[string]bool{ //nolint:gochecknoglobals // a constant table
	"items": true, "additionalProperties": true, "additionalItems": true, "not": true, "if": true, "then": true, "else": true, "contains": true, "propertyNames": true,
	"unevaluatedProperties": true, "unevaluatedItems": true, "allOf": true, "anyOf": true, "oneOf": true, "prefixItems": true,
	"properties": false, "$defs": false, "definitions": false, "patternProperties": false, "dependentSchemas": false, // objects of schemas
}

// guidanceSchema changes the parts of a schema that have another meaning in llguidance. llguidance
// checks all other parts itself. The changed parts are llguidance's own options, which disable
// keywords, and \d, \w and \s, which are Unicode's there and those of ECMA 262 in JSON Schema.
// Quotes in patterns are refused, because llguidance escapes them incorrectly.
func guidanceSchema(n *node, path string) error {
	for i := range n.members {
		m := &n.members[i]
		below := join(path, m.name)
		text, isText := m.value.text()
		single, known := subschemas[m.name]
		var err error
		switch {
		case m.name == "x-guidance":
			err = &RefusalError{Path: below, Construct: "the keyword x-guidance"}
		case m.name == "pattern" && isText && strings.Contains(text, `"`):
			err = &RefusalError{Path: below, Construct: "a quote in a pattern"}
		case m.name == "pattern" && isText:
			m.value = str(asciiClasses(text))
		case known && single:
			err = guidanceSchema(m.value, below)
		case known:
			for _, member := range m.value.members {
				if err := guidanceSchema(member.value, join(below, member.name)); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
	for i, item := range n.items {
		if err := guidanceSchema(item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

// asciiClasses replaces \d, \w and \s of a regular expression by their ASCII characters. Outside of
// classes, it also replaces \D, \W and \S.
func asciiClasses(pattern string) string {
	var out strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if c != '\\' || i+1 == len(pattern) {
			inClass = c == '[' || inClass && c != ']'
			out.WriteByte(c)
			continue
		}
		i++
		switch set := classes[pattern[i]|0x20]; {
		case set == "" || strings.IndexByte("dwsDWS", pattern[i]) < 0:
			out.WriteString(pattern[i-1 : i+1])
		case pattern[i] >= 'a' && inClass:
			out.WriteString(set)
		case pattern[i] >= 'a':
			out.WriteString("[" + set + "]")
		case inClass:
			out.WriteString(pattern[i-1 : i+1])
		default:
			out.WriteString("[^" + set + "]")
		}
	}
	return out.String()
}
