package structured

import (
	"fmt"
	"strings"
)

// Keywords whose values are schemas, lists of them, or objects of them.
var subschemas = map[string]bool{ //nolint:gochecknoglobals // a constant table
	"items": true, "additionalProperties": true, "additionalItems": true, "not": true, "if": true, "then": true, "else": true, "contains": true, "propertyNames": true,
	"unevaluatedProperties": true, "unevaluatedItems": true, "allOf": true, "anyOf": true, "oneOf": true, "prefixItems": true,
	"properties": false, "$defs": false, "definitions": false, "patternProperties": false, "dependentSchemas": false, // their members are
}

// guidanceSchema changes a schema for llguidance, which judges it by itself, in what would
// mean something else there: its options, by which it lets keywords go; Unicode's \d, \w
// and \s, where JSON Schema has those of ECMA 262; and quotes in patterns, which it escapes
// wrongly.
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

// asciiClasses writes \d, \w and \s of a regular expression, and outside of classes \D, \W
// and \S, as the characters of ASCII that they stand for.
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
