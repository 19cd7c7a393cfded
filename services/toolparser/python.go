package toolparser

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pythonScan finds the end of a Python literal in text that is split anywhere. The
// end is the first comma or closing parenthesis outside of the literal's brackets
// and quotes.
type pythonScan struct {
	quote   byte // quote that ends the string; 0 outside of a string
	escaped bool
	stack   []byte // expected closing brackets
}

// scan returns how many bytes belong to the value, and whether the next byte ends
// it. ok is false if a closing bracket has no opening one or too many brackets are
// open.
func (s *pythonScan) scan(b []byte) (n int, ended, ok bool) {
	for n, c := range b {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quote != 0 && c == '\\':
			s.escaped = true
		case s.quote != 0 && c == s.quote:
			s.quote = 0
		case s.quote != 0:
		case c == '\'' || c == '"':
			s.quote = c
		case len(s.stack) == 0 && (c == ',' || c == ')'):
			return n, true, true
		case !s.bracket(c):
			return n, false, false
		}
	}
	return len(b), false, true
}

func (s *pythonScan) bracket(c byte) bool {
	switch c {
	case '[', '{':
		s.stack = append(s.stack, c+2) // ASCII puts ] and } two after [ and {
	case '(':
		s.stack = append(s.stack, ')')
	case ']', '}', ')':
		if len(s.stack) == 0 || s.stack[len(s.stack)-1] != c {
			return false
		}
		s.stack = s.stack[:len(s.stack)-1]
	}
	return len(s.stack) <= maxDepth
}

// appendPython appends the JSON of a Python literal as Python's json module writes
// it. ok is false if source isn't a literal.
func appendPython(dst, source []byte) (out []byte, ok bool) {
	p := pythonReader{out: dst, in: source}
	ok = p.value(maxDepth) && len(p.in) == 0
	return p.out, ok
}

type pythonReader struct{ out, in []byte }

func (p *pythonReader) space() { p.in = bytes.TrimLeft(p.in, blanks) }

// has reads the byte c after white space. It reports whether c stood there.
func (p *pythonReader) has(c byte) bool {
	p.space()
	if len(p.in) == 0 || p.in[0] != c {
		return false
	}
	p.in = p.in[1:]
	return true
}

func (p *pythonReader) value(depth int) bool {
	p.space()
	if depth == 0 || len(p.in) == 0 {
		return false
	}
	var ok bool
	switch c := p.in[0]; c {
	case '[':
		ok = p.sequence(']', depth)
	case '(':
		ok = p.sequence(')', depth)
	case '{':
		ok = p.dict(depth)
	case '\'', '"':
		var s []byte
		if s, ok = p.str(); ok {
			p.out = appendString(p.out, s)
		}
	default:
		var s string
		if s, ok = p.scalar(); ok {
			p.out = append(p.out, s...)
		}
	}
	p.space()
	return ok
}

func (p *pythonReader) sequence(end byte, depth int) bool {
	p.in = p.in[1:]
	p.out = append(p.out, '[')
	for n := 0; !p.has(end); n++ {
		if n > 0 {
			p.out = append(p.out, ", "...)
		}
		if !p.value(depth-1) || !p.has(',') && (len(p.in) == 0 || p.in[0] != end) {
			return false
		}
	}
	p.out = append(p.out, ']')
	return true
}

func (p *pythonReader) dict(depth int) bool {
	p.in = p.in[1:]
	p.out = append(p.out, '{')
	for n := 0; !p.has('}'); n++ {
		if n > 0 {
			p.out = append(p.out, ", "...)
		}
		if !p.dictKey() || !p.has(':') {
			return false
		}
		p.out = append(p.out, ": "...)
		if !p.value(depth-1) || !p.has(',') && (len(p.in) == 0 || p.in[0] != '}') {
			return false
		}
	}
	p.out = append(p.out, '}')
	return true
}

// dictKey writes a key as a string, as json.dumps does.
func (p *pythonReader) dictKey() bool {
	p.space()
	if len(p.in) == 0 {
		return false
	}
	if c := p.in[0]; c == '\'' || c == '"' {
		s, ok := p.str()
		p.out = appendString(p.out, s)
		return ok
	}
	s, ok := p.scalar()
	p.out = append(append(append(p.out, '"'), s...), '"')
	return ok
}

// scalar reads a number or the name of a constant.
func (p *pythonReader) scalar() (string, bool) {
	n := 0
	for n < len(p.in) && (isWord(p.in[n]) || p.in[n] == '-' || p.in[n] == '+') {
		n++
	}
	word := string(p.in[:n])
	p.in = p.in[n:]
	switch word {
	case "True", "true":
		return "true", true
	case "False", "false":
		return "false", true
	case "None", "null":
		return "null", true
	}
	return number(word)
}

// number returns the JSON spelling of a Python number.
func number(word string) (string, bool) {
	if isJSONNumber(word) {
		return word, true
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(word, "+"), "-")
	if digits == "" || !isDigit(digits[0]) && digits[0] != '.' {
		return "", false // JSON has no spelling for Python's infinity and nan
	}
	if i, err := strconv.ParseInt(word, 0, 64); err == nil && strings.ContainsAny(word, "xXoObB_+") {
		return strconv.FormatInt(i, 10), true
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil || strings.ContainsAny(word, "xX_") {
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}

func isJSONNumber(word string) bool {
	var s scanner
	if word == "" || word[0] != '-' && !isDigit(word[0]) {
		return false
	}
	n, end := s.scan([]byte(word))
	return n == len(word) && end == scanMore && s.numberComplete()
}

// str reads a quoted string and returns its value.
func (p *pythonReader) str() ([]byte, bool) {
	quote := p.in[0]
	var s []byte
	for i := 1; i < len(p.in); {
		switch c := p.in[i]; c {
		case quote:
			p.in = p.in[i+1:]
			return s, true
		case '\\':
			var n int
			if s, n = appendEscape(s, p.in[i:]); n == 0 {
				return nil, false
			}
			i += n
		default:
			s = append(s, c)
			i++
		}
	}
	return nil, false
}

// appendEscape appends the meaning of the escape sequence at the start of in. n is
// the number of bytes of the sequence, or 0 if Python rejects it.
func appendEscape(dst, in []byte) (out []byte, n int) {
	if len(in) < 2 {
		return dst, 0
	}
	const plain, means = `abfnrtv\'"`, "\a\b\f\n\r\t\v\\'\""
	c := in[1]
	if i := strings.IndexByte(plain, c); i >= 0 {
		return append(dst, means[i]), 2
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	switch {
	case c == '\n':
		return dst, 2
	case digits == 0:
		return append(dst, '\\', c), 2 // Python keeps unknown escapes
	case len(in) < 2+digits:
		return dst, 0
	}
	v, err := strconv.ParseUint(string(in[2:2+digits]), 16, 32)
	if err != nil || v > utf8.MaxRune {
		return dst, 0
	}
	return utf8.AppendRune(dst, rune(v)), 2 + digits
}
