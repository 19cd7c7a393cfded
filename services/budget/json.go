package budget

import (
	"bytes"
	"encoding/json"
	"math"
)

// CheckJSON is [Message.Check] for a message in protobuf's JSON. What isn't JSON, or isn't
// the message's, is left to who decodes it.
func (m *Message) CheckJSON(text []byte) error {
	s := &scanner{text: text, tally: tally{mostNumbers: JSONTokenIDs, mostElements: JSONElements}}
	if err := s.value(m, nil, Depth); err != nil {
		return err
	}
	return nil
}

// CheckMembers returns an [*Error] for a text of JSON that is an object of more than [Keys].
// What its members hold isn't looked at.
func CheckMembers(text []byte) error {
	s := &scanner{text: text}
	if s.next() != '{' {
		return nil
	}
	s.at++
	for keys := 1; s.next() == '"'; keys++ {
		if keys > Keys {
			return &Error{Most: Keys, What: "keys"}
		}
		s.string()
		s.skip()
	}
	return nil
}

// scanner goes over a text of JSON once. It doesn't check the grammar: where a text can't
// be JSON it stops without an error, and has counted all that comes before.
type scanner struct {
	text  []byte
	at    int
	tally tally
}

// next skips what stands between values and returns the byte after it, 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
		default:
			return c
		}
	}
	return 0
}

// value goes over a value of a message m, of the list or map f, or, where both are nil, of
// any form.
func (s *scanner) value(m *Message, f *field, depth int) *Error {
	c := s.next()
	if c != '-' && c-'0' > 9 {
		s.tally.values++
		if s.tally.values > Values {
			return &Error{Most: Values, What: "values"}
		}
	}
	switch c {
	case '{', '[':
		if depth == 0 {
			return &Error{Most: Depth, What: "levels"}
		}
		s.at++
		switch {
		case c == '[':
			return s.list(f, depth-1)
		case f != nil && f.entry:
			return s.entries(f, depth-1)
		}
		return s.object(m, depth-1)
	case '"':
		s.string()
	case ']', '}', 0:
		s.at = len(s.text)
	default:
		s.word()
	}
	return nil
}

// object goes over what follows the brace of a message, or of any object if m is nil.
func (s *scanner) object(m *Message, depth int) *Error {
	for keys := 1; s.next() == '"'; keys++ {
		if keys > ObjectKeys {
			return &Error{Most: ObjectKeys, What: "keys"}
		}
		key := s.string()
		var f *field
		if m != nil {
			f = m.byName[string(plain(key))]
		}
		if err := s.member(f, depth); err != nil {
			return err
		}
	}
	s.at++
	return nil
}

// member goes over the value of a message's field, nil for an unknown one.
func (s *scanner) member(f *field, depth int) *Error {
	switch {
	case f == nil:
		return s.value(nil, nil, depth)
	case f.list:
		return s.value(nil, f, depth)
	}
	if err := s.value(f.of, nil, depth); err != nil {
		return err.under(f.name)
	}
	return nil
}

// entries goes over what follows the brace of a map.
func (s *scanner) entries(f *field, depth int) *Error {
	of := f.of.fields[2].of // the value of a map's entry
	for keys := 1; s.next() == '"'; keys++ {
		s.string()
		if keys > f.most {
			return &Error{Field: f.name, Most: f.most, What: f.elements()}
		}
		if err := s.value(of, nil, depth); err != nil {
			return err.under(f.name)
		}
	}
	s.at++
	return nil
}

// anyList is a list of values of any form.
var anyList = &field{list: true, most: math.MaxInt} //nolint:gochecknoglobals // a constant

// list goes over what follows the bracket of a list, whose elements are those of f if it
// isn't nil.
func (s *scanner) list(f *field, depth int) *Error {
	if f == nil || f.entry {
		f = anyList
	}
	for n := 1; ; n++ {
		if c := s.next(); c == ']' || c == 0 {
			break
		}
		if n > f.most {
			return &Error{Field: f.name, Most: f.most, What: f.elements()}
		}
		if f.number != notNumber {
			if err := s.tally.total(f, 1); err != nil {
				return err
			}
		}
		if err := s.value(f.of, nil, depth); err != nil {
			return err.under(f.name)
		}
	}
	s.at++
	return nil
}

// string goes past a string and returns it with its quotes.
func (s *scanner) string() []byte {
	start := s.at
	for s.at++; s.at < len(s.text); {
		quote := bytes.IndexByte(s.text[s.at:], '"')
		if quote < 0 {
			break
		}
		s.at += quote + 1
		if !escaped(s.text[start+1 : s.at-1]) {
			return s.text[start:s.at]
		}
	}
	s.at = len(s.text)
	return s.text[start:]
}

// escaped reports whether a quote after the text belongs to the string: an odd number of
// backslashes stands before it.
func escaped(text []byte) bool {
	return (len(text)-len(bytes.TrimRight(text, `\`)))%2 == 1
}

// plain is a key without quotes and escapes.
func plain(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return bytes.Trim(quoted, `"`)
	}
	var key string
	_ = json.Unmarshal(quoted, &key) // a key that can't be read isn't a field's
	return []byte(key)
}

// skip goes past a value of any size and depth.
func (s *scanner) skip() {
	for depth := 0; ; {
		switch s.next() {
		case 0:
			return
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			depth--
			s.at++
		case '"':
			s.string()
		default:
			s.word()
		}
		if depth <= 0 {
			return
		}
	}
}

// word goes past a number or a literal.
func (s *scanner) word() {
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r', ',', ':', '"', '[', ']', '{', '}':
			return
		}
	}
}
