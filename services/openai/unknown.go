package openai

import (
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
}

// shapeOf returns the shape of a schema, which must not be recursive. It returns nil
// if no key can be unknown.
func shapeOf(schema *openapi3.Schema) *shape {
	s := &shape{keys: map[string]*shape{}}
	s.add(schema)
	return s.trimmed()
}

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
			s.items = &shape{keys: map[string]*shape{}}
		}
		s.items.add(schema.Items.Value)
	}
	extra := schema.AdditionalProperties
	s.open = s.open || extra.Schema != nil || extra.Has != nil && *extra.Has
	for name, property := range schema.Properties {
		if s.keys[name] == nil {
			s.keys[name] = &shape{keys: map[string]*shape{}}
		}
		s.keys[name].add(property.Value)
	}
}

// maxUnknown is the maximum number of unknown keys that are collected. The client
// determines the keys, and a body has room for a million.
const maxUnknown = server.MaxIgnored

// unknownKeys collects the keys of a body that the document doesn't have, up to
// maxUnknown+1 of them.
type unknownKeys struct {
	names []string
	seen  map[string]bool // true for the path of each collected key, without the positions in lists
	trail []step
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
		return r.Object(func(key string) error {
			u.trail = append(u.trail[:at], step{key: key})
			below, known := s.keys[key]
			if !known {
				u.note()
			}
			return u.walk(r, below)
		})
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

// note records the current path. Positions in lists are ignored: a key that is unknown
// in every message is recorded for the first.
func (u *unknownKeys) note() {
	if len(u.names) > maxUnknown {
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
	u.names = append(u.names, budget.Cut(path, budget.NameBytes))
}
