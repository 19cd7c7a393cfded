package structured

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// kind is the kind of a JSON value.
type kind uint8

const (
	kindScalar kind = iota
	kindObject
	kindArray
)

// node is a JSON value that keeps the order of keys: engines write an object's properties in the
// order of its schema.
type node struct {
	kind    kind
	scalar  any // string, json.Number, bool, or nil for null
	members []member
	items   []*node
	index   map[string]int // index of the members by name, if there are many
}

type member struct {
	name  string
	value *node
}

func parse(data []byte) (*node, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	n, err := parseNext(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data follows the JSON value")
	}
	return n, nil
}

// parseNext parses the next value. encoding/json limits the nesting depth only by the length of the
// text, so the caller must have limited it.
func parseNext(dec *json.Decoder) (*node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	open, nested := token.(json.Delim)
	if !nested {
		return &node{scalar: token}, nil
	}
	n := &node{kind: kindArray}
	if open == '{' {
		n.kind = kindObject
	}
	for dec.More() {
		name := ""
		if n.kind == kindObject {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			name, _ = key.(string)
		}
		value, err := parseNext(dec)
		if err != nil {
			return nil, err
		}
		if n.kind == kindObject {
			n.members = append(n.members, member{name, value})
		} else {
			n.items = append(n.items, value)
		}
	}
	if len(n.members) > manyMembers {
		n.index = make(map[string]int, len(n.members))
		for i, m := range n.members {
			n.index[m.name] = i
		}
	}
	_, err = dec.Token()
	return n, err
}

// manyMembers is the maximum number of members that are searched without an index.
const manyMembers = 16

// get returns a member's value, or nil.
func (n *node) get(name string) *node {
	if n.index != nil {
		if i, ok := n.index[name]; ok {
			return n.members[i].value
		}
		return nil
	}
	for i := range n.members {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

// text returns the value of a string.
func (n *node) text() (string, bool) {
	if n == nil || n.kind != kindScalar {
		return "", false
	}
	s, ok := n.scalar.(string)
	return s, ok
}

// isBool reports whether the value is the wanted boolean.
func (n *node) isBool(want bool) bool {
	if n == nil || n.kind != kindScalar {
		return false
	}
	b, ok := n.scalar.(bool)
	return ok && b == want
}

// typeName returns the JSON Schema type of the value. An integer is also a number.
func (n *node) typeName() string {
	switch n.kind {
	case kindObject:
		return "object"
	case kindArray:
		return "array"
	case kindScalar:
	}
	switch s := n.scalar.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if strings.ContainsAny(s.String(), ".eE") {
			return "number"
		}
		return "integer"
	}
	return "null"
}

func object(members ...member) *node { return &node{kind: kindObject, members: members} }

func array(items ...*node) *node { return &node{kind: kindArray, items: items} }

func str(text string) *node { return &node{scalar: text} }

// appendJSON appends the value as JSON.
func (n *node) appendJSON(out []byte) []byte {
	switch n.kind {
	case kindObject:
		out = append(out, '{')
		for i, m := range n.members {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendScalar(out, m.name)
			out = m.value.appendJSON(append(out, ':'))
		}
		return append(out, '}')
	case kindArray:
		out = append(out, '[')
		for i, item := range n.items {
			if i > 0 {
				out = append(out, ',')
			}
			out = item.appendJSON(out)
		}
		return append(out, ']')
	case kindScalar:
	}
	return appendScalar(out, n.scalar)
}

func appendScalar(out []byte, v any) []byte {
	text, err := marshal(v)
	if err != nil { // can't happen: scalars always encode
		return out
	}
	return append(out, text...)
}
