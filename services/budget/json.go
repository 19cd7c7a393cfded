package budget

import (
	"bytes"
	"encoding/json"
	"math"
)

// CheckJSON is [Message.Check] for a message in protobuf's JSON. Input that isn't JSON, or doesn't
// fit the message, is left to the decoder.
func (m *Message) CheckJSON(text []byte) error {
	s := &scanner{text: text, tally: tally{mostNumbers: JSONTokenIDs, mostElements: JSONElements}}
	if err := s.value(m, nil, Depth); err != nil {
		return err
	}
	return nil
}

// CheckMembers returns an [*Error] for a JSON object with more than [Keys] members. It doesn't check
// the members' values.
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

// scanner reads over a JSON text once. It doesn't check the grammar. If the text can't be JSON, the
// scanner stops without an error and has counted everything before.
type scanner struct {
	text  []byte
	at    int
	tally tally
}

// next skips separators between values and returns the next byte, or 0 at the end.
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

// value reads over a value of a message m, or of the list or map f. If both are nil, the value may
// have any form.
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
			return &Error{Most: Depth, What: "levels of nesting"}
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

// object reads over a message after its opening brace, or over any object if m is nil.
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

// member reads over the value of a message's field. The field is nil if it is unknown.
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

// entries reads over a map after its opening brace.
func (s *scanner) entries(f *field, depth int) *Error {
	of := f.of.fields[2].of // field 2 is the value of a map entry
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

// list reads over a list after its opening bracket. The elements are those of f, unless f is nil.
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

// string reads over a string and returns it with its quotes.
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

// escaped reports whether a quote after the text belongs to the string: an odd number of backslashes
// precedes it.
func escaped(text []byte) bool {
	return (len(text)-len(bytes.TrimRight(text, `\`)))%2 == 1
}

// plain returns a key without quotes and escapes.
func plain(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return bytes.Trim(quoted, `"`)
	}
	var key string
	_ = json.Unmarshal(quoted, &key) // a key that can't be parsed isn't a known field
	return []byte(key)
}

// skip reads over a value of any size and depth.
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

// word reads over a number or a literal.
func (s *scanner) word() {
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r', ',', ':', '"', '[', ']', '{', '}':
			return
		}
	}
}
