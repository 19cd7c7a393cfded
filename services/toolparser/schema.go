package toolparser

import (
	"bytes"
	"encoding/json"
	"slices"
)

// properties are the schemas of a tool's parameters by name, and the types that they allow,
// once these have been found: a schema may be large, and an answer may call often.
type properties struct {
	byName map[string]json.RawMessage
	known  map[string]may
}

// properties of a tool, which may be nil, are read once.
func (t *tool) properties() *properties {
	if t == nil {
		return &properties{known: map[string]may{}}
	}
	if t.read == nil {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if json.Unmarshal(t.Parameters, &schema) != nil {
			schema.Properties = nil
		}
		t.read = &properties{schema.Properties, map[string]may{}}
	}
	return t.read
}

// allowed are the types of a property; 0 when its schema doesn't tell.
func (p *properties) allowed(name string) may {
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

// isText tells that a value is a string, whatever it is. Without a schema it is.
func (p *properties) isText(name string) bool {
	may := p.allowed(name)
	return may == 0 || may == mayString
}

// append appends the JSON of a value. It is a string unless the schema allows
// something else and the text is that.
func (p *properties) append(dst []byte, name string, value []byte) []byte {
	return appendTyped(dst, p.allowed(name), value)
}

// appendTyped appends the JSON of a value that may be of these types.
func appendTyped(dst []byte, may may, value []byte) []byte {
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

// may are the types that a schema allows.
type may uint8

const (
	mayString may = 1 << iota
	mayNumber
	mayBool
	mayNull
	mayNested // object or array
	mayAll    = mayString | mayNumber | mayBool | mayNull | mayNested
)

// maxSchema bounds how deeply alternatives of a schema are followed.
const maxSchema = 8

// allowed finds the types that a schema allows; 0 when it doesn't tell.
func allowed(schema json.RawMessage, depth int) may {
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
	var m may
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

func mayOf(name string) may {
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
