package openai

import (
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/strictjson"
)

// shape is what a schema knows of a value's keys. A union has the keys of all its
// alternatives: which of them a value is may stand behind the keys.
type shape struct {
	open  bool              // any key may stand in an object
	keys  map[string]*shape // of objects
	items *shape            // of lists; nil where nothing is known of them
}

// shapeOf reads a schema, which must not contain itself. It is nil where no key can
// be unknown.
func shapeOf(schema *openapi3.Schema) *shape {
	s := &shape{keys: map[string]*shape{}}
	s.add(schema)
	return s.trimmed()
}

// trimmed takes out what has no keys to know.
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

// maxUnknown bounds the names that a request's unknown keys make: they are the
// client's own, and a body has room for a million.
const maxUnknown = 64

// unknownKeys collects the keys of a body that the document doesn't have, one more
// than maxUnknown at most.
type unknownKeys struct {
	names []string
	seen  map[string]bool // without positions
	trail []step
}

// step leads from a value to one in it.
type step struct {
	key string
	// index of a list's item, used where key is empty. No path needs an empty key to
	// be told from the first item.
	index int
}

// walk reads one value, as [strictjson.Reader.Value] does without build, and notes the
// keys in it that the shape doesn't have.
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

// note adds the path that the walk is at. Positions in lists make no difference:
// what is unknown in every message is told of the first.
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
