package openai

import (
	"encoding/json"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/strictjson"
)

// shape has the keys that a schema defines. A union has the keys of all its
// alternatives, since the key that selects the alternative may come last.
type shape struct {
	open  bool              // the object accepts any key
	keys  map[string]*shape // allowed keys of an object, with the shapes of their values
	items *shape            // shape of a list's elements; nil if the schema defines none
	// kinds has the keys of each alternative by its type, and under "" those of alternatives without one.
	kinds map[string]map[string]bool
}

// shapeOf returns the shape of a schema, which must not be recursive. It returns nil
// if no key can be unknown.
func shapeOf(schema *openapi3.Schema) *shape {
	s := newShape()
	s.add(schema)
	return s.trimmed()
}

func newShape() *shape { return &shape{keys: map[string]*shape{}, kinds: map[string]map[string]bool{}} }

// trimmed removes shapes in which no key can be unknown.
func (s *shape) trimmed() *shape {
	for name, below := range s.keys {
		s.keys[name] = below.trimmed()
	}
	if s.items != nil {
		s.items = s.items.trimmed()
	}
	if s.items == nil && (s.open || len(s.keys) == 0) {
		return nil
	}
	return s
}

func (s *shape) add(schema *openapi3.Schema) {
	for _, alternative := range schema.OneOf {
		s.add(alternative.Value)
	}
	if schema.Items != nil {
		if s.items == nil {
			s.items = newShape()
		}
		s.items.add(schema.Items.Value)
	}
	extra := schema.AdditionalProperties
	s.open = s.open || extra.Schema != nil || extra.Has != nil && *extra.Has
	for name, property := range schema.Properties {
		if s.keys[name] == nil {
			s.keys[name] = newShape()
		}
		s.keys[name].add(property.Value)
	}
	s.addKinds(schema)
}

// typeKey is the key whose value selects an alternative.
const typeKey = "type"

// addKinds records the keys of an alternative by the values of its type.
func (s *shape) addKinds(schema *openapi3.Schema) {
	if len(schema.Properties) == 0 {
		return
	}
	types := []any{""}
	if selector := schema.Properties[typeKey]; selector != nil && len(selector.Value.Enum) > 0 {
		types = selector.Value.Enum
	}
	for _, value := range types {
		kind, _ := value.(string)
		if s.kinds[kind] == nil {
			s.kinds[kind] = map[string]bool{}
		}
		for name := range schema.Properties {
			s.kinds[kind][name] = true
		}
	}
}

// misplaced reports whether only alternatives of other types than kind have a key.
func (s *shape) misplaced(kind, key string) bool {
	keys, known := s.kinds[kind]
	return known && kind != "" && !keys[key] && !s.kinds[""][key]
}

// maxUnknown is the maximum number of unknown keys that are collected. The client
// determines the keys, and a body has room for a million.
const maxUnknown = server.MaxIgnored

// unknownKeys collects the keys of a body that the document doesn't have, up to
// maxUnknown+1 of them.
type unknownKeys struct {
	names []string
	// misplaced are the known keys that objects of another type have, up to maxUnknown+1 of them. They
	// are collected if byType is true.
	misplaced []string
	byType    bool
	seen      map[string]bool // true for the path of each collected key, without the positions in lists
	trail     []step
}

// step leads from a value to a member or an item of it.
type step struct {
	key string
	// index is the index of a list's item, used if key is empty. The empty key of an
	// object thus looks like the first item, which no path has to distinguish.
	index int
}

// walk reads one value, as [strictjson.Reader.Value] does without build, and records
// the keys that the shape doesn't have.
func (u *unknownKeys) walk(r *strictjson.Reader, s *shape) error {
	at := len(u.trail)
	switch c := r.Peek(); {
	case s != nil && c == '{' && !s.open:
		if err := r.Count(); err != nil {
			return err
		}
		return u.object(r, s)
	case s != nil && c == '[' && s.items != nil:
		if err := r.Count(); err != nil {
			return err
		}
		return r.Array(func(i int) error {
			u.trail = append(u.trail[:at], step{index: i})
			return u.walk(r, s.items)
		})
	}
	_, err := r.Value(false)
	return err
}

// object reads an object. The key that selects the alternative may come last, so that the keys are compared with
// it at the end.
func (u *unknownKeys) object(r *strictjson.Reader, s *shape) error {
	at, kind := len(u.trail), ""
	var present []string // at most the keys of the shape
	err := r.Object(func(key string) error {
		u.trail = append(u.trail[:at], step{key: key})
		below, known := s.keys[key]
		if !known {
			u.note(&u.names)
		}
		if u.byType && known && len(s.kinds) > 1 {
			if key == typeKey && r.Peek() == '"' {
				value, err := r.Value(true)
				kind, _ = value.(string)
				return err
			}
			start := r.Offset()
			err := u.walk(r, below)
			if err == nil && !neutral(r.Since(start)) {
				present = append(present, key)
			}
			return err
		}
		return u.walk(r, below)
	})
	for _, key := range present {
		if s.misplaced(kind, key) {
			u.trail = append(u.trail[:at], step{key: key})
			u.note(&u.misplaced)
		}
	}
	return err
}

// neutral reports whether a value has the meaning of an absent member: null, or empty.
func neutral(raw json.RawMessage) bool {
	switch raw[0] {
	case 'n':
		return true
	case '"', '[', '{':
		return isEmpty(raw)
	}
	return false
}

// note adds the current path to names. Positions in lists are ignored: a key that is unknown
// in every message is recorded for the first.
func (u *unknownKeys) note(names *[]string) {
	if len(*names) > maxUnknown {
		return
	}
	path, general := "", ""
	for _, s := range u.trail {
		if s.key == "" {
			path, general = path+strictjson.Index(s.index), general+"[]"
		} else {
			path, general = strictjson.JoinPath(path, s.key), strictjson.JoinPath(general, s.key)
		}
	}
	if u.seen[general] {
		return
	}
	if u.seen == nil {
		u.seen = map[string]bool{}
	}
	u.seen[general] = true
	*names = append(*names, budget.Cut(path, budget.NameBytes))
}
