package toolparser

import (
	"bytes"
	"encoding/json"
	"slices"
)

// properties are the schemas of a tool's parameters by name, and a cache of the types that
// they allow. A schema may be large, and an answer may have many calls.
type properties struct {
	byName map[string]json.RawMessage
	known  map[string]typeSet
}

// properties returns the properties of a tool, which may be nil. The properties are read
// once.
func (t *tool) properties() *properties {
	if t == nil {
		return &properties{known: map[string]typeSet{}}
	}
	if t.read == nil {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if json.Unmarshal(t.Parameters, &schema) != nil {
			schema.Properties = nil
		}
		t.read = &properties{schema.Properties, map[string]typeSet{}}
	}
	return t.read
}

// allowed returns the types of a property, or 0 if its schema doesn't limit them.
func (p *properties) allowed(name string) typeSet {
	schema, ok := p.byName[name]
	if !ok {
		return 0
	}
	types, ok := p.known[name]
	if !ok {
		types = allowed(schema, maxSchema)
		p.known[name] = types
	}
	return types
}

// isText reports whether every value is a string. Without a schema this is true.
func (p *properties) isText(name string) bool {
	may := p.allowed(name)
	return may == 0 || may == mayString
}

// append appends the JSON of a value. The value is a string unless it is valid for another
// type that the schema allows.
func (p *properties) append(dst []byte, name string, value []byte) []byte {
	return appendTyped(dst, p.allowed(name), value)
}

// appendTyped appends the JSON of a value that may have any of the given types.
func appendTyped(dst []byte, may typeSet, value []byte) []byte {
	text := bytes.TrimSpace(value)
	switch word := string(bytes.ToLower(text)); {
	case word == "null" || word == "none":
		return append(dst, "null"...)
	case may&mayBool != 0 && (word == "true" || word == "false"):
		return append(dst, word...)
	case may&mayNumber != 0:
		if n, ok := number(string(text)); ok {
			return append(dst, n...)
		}
	}
	if may&mayNested != 0 && len(text) > 0 {
		if json.Valid(text) {
			return append(dst, text...)
		}
		if out, ok := appendPython(slices.Clip(dst), text); ok {
			return out
		}
	}
	return appendString(dst, value)
}

// typeSet is the set of types that a schema allows.
type typeSet uint8

const (
	mayString typeSet = 1 << iota
	mayNumber
	mayBool
	mayNull
	mayNested // the schema allows an object or an array
	mayAll    = mayString | mayNumber | mayBool | mayNull | mayNested
)

// maxSchema limits the depth to which alternatives of a schema are followed.
const maxSchema = 8

// allowed returns the types that a schema allows, or 0 if the schema doesn't limit them.
func allowed(schema json.RawMessage, depth int) typeSet {
	var s struct {
		Type  any               `json:"type"`
		AnyOf []json.RawMessage `json:"anyOf"`
		OneOf []json.RawMessage `json:"oneOf"`
		Enum  []any             `json:"enum"`
		Ref   string            `json:"$ref"`
	}
	if len(schema) == 0 || depth == 0 || json.Unmarshal(schema, &s) != nil {
		return 0
	}
	var m typeSet
	switch t := s.Type.(type) {
	case string:
		m |= mayOf(t)
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok {
				m |= mayOf(name)
			}
		}
	}
	for _, one := range append(s.AnyOf, s.OneOf...) {
		m |= allowed(one, depth-1)
	}
	if m == 0 && s.Ref != "" {
		m = mayAll
	}
	return m
}

func mayOf(name string) typeSet {
	switch name {
	case "string":
		return mayString
	case "integer", "number":
		return mayNumber
	case "boolean":
		return mayBool
	case "null":
		return mayNull
	case "object", "array":
		return mayNested
	}
	return 0
}
