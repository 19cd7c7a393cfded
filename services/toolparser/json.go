package toolparser

// maxDepth limits the nesting of arguments. scanner.objects has one bit per level.
const maxDepth = 64

// scanned is the result of [scanner.scan].
type scanned uint8

const (
	scanMore    scanned = iota // the value goes on
	scanDone                   // the value is complete
	scanControl                // an unescaped control character is in a string
	scanBad                    // the text isn't JSON
)

// scanner follows one JSON value (RFC 8259) in text that is split anywhere. Its zero
// value is ready to use.
type scanner struct {
	mode    mode
	depth   int
	objects uint64 // the open containers, one bit per level: 1 for an object, 0 for an array
	key     bool   // the current string is a key
	digits  int    // remaining hex digits of an escape
	literal string // remaining letters of true, false or null
}

type mode uint8

const (
	modeValue mode = iota // a value must follow
	modeFirst             // a value or the end of the array must follow
	modeKeys              // a key or the end of the object must follow
	modeKey               // a key must follow
	modeColon
	modeAfter // a comma or the end of the container must follow
	modeString
	modeEscape
	modeHex
	modeLiteral
	modeMinus // the minus sign of a number was read; the modes below are of numbers, too
	modeZero
	modeInt
	modePoint
	modeFraction
	modeExponent
	modeSign
	modePower
)

// scan reads on. It returns how many bytes belong to the value. A top-level number is
// complete only when the byte after it is read.
func (s *scanner) scan(b []byte) (n int, end scanned) {
	for n < len(b) {
		if s.mode == modeString {
			n += plainString(b[n:])
			if n == len(b) {
				break
			}
		}
		again, end := s.next(b[n])
		if end == scanBad || end == scanControl {
			return n, end
		}
		if end == scanDone {
			if !again {
				n++
			}
			return n, end
		}
		if !again {
			n++
		}
	}
	return n, scanMore
}

// plainString returns the length of the prefix that needs no interpretation: no quote,
// backslash or control character.
func plainString(b []byte) int {
	for i, c := range b {
		if c == '"' || c == '\\' || c < 0x20 {
			return i
		}
	}
	return len(b)
}

// next reads one byte. again reports that the byte must be read again.
func (s *scanner) next(c byte) (again bool, end scanned) {
	switch s.mode {
	case modeString:
		return false, s.inString(c)
	case modeEscape, modeHex, modeLiteral:
		return false, s.inside(c)
	case modeMinus, modeZero, modeInt, modePoint, modeFraction, modeExponent, modeSign, modePower:
		return s.inNumber(c)
	default:
	}
	if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
		return false, scanMore
	}
	return false, s.between(c)
}

// between reads the bytes between values.
func (s *scanner) between(c byte) scanned {
	switch {
	case s.mode == modeFirst && c == ']', s.mode == modeKeys && c == '}':
		return s.pop()
	case s.mode == modeValue, s.mode == modeFirst:
		return s.value(c)
	case (s.mode == modeKeys || s.mode == modeKey) && c == '"':
		s.mode, s.key = modeString, true
	case s.mode == modeColon && c == ':':
		s.mode = modeValue
	case s.mode == modeAfter && c == ',' && s.inObject():
		s.mode = modeKey
	case s.mode == modeAfter && c == ',':
		s.mode = modeValue
	case s.mode == modeAfter && (c == '}' && s.inObject() || c == ']' && !s.inObject()):
		return s.pop()
	default:
		return scanBad
	}
	return scanMore
}

// value starts a value.
func (s *scanner) value(c byte) scanned {
	switch {
	case c == '{' || c == '[':
		return s.push(c == '{')
	case c == '"':
		s.mode, s.key = modeString, false
	case c == 't':
		s.mode, s.literal = modeLiteral, "true"[1:]
	case c == 'f':
		s.mode, s.literal = modeLiteral, "false"[1:]
	case c == 'n':
		s.mode, s.literal = modeLiteral, "null"[1:]
	case c == '-':
		s.mode = modeMinus
	case c == '0':
		s.mode = modeZero
	case isDigit(c):
		s.mode = modeInt
	default:
		return scanBad
	}
	return scanMore
}

func (s *scanner) inString(c byte) scanned {
	switch {
	case c == '"' && s.key:
		s.mode = modeColon
	case c == '"':
		return s.valueEnd()
	case c == '\\':
		s.mode = modeEscape
	default:
		return scanControl
	}
	return scanMore
}

// inside reads a byte of an escape or a literal.
func (s *scanner) inside(c byte) scanned {
	switch {
	case s.mode == modeLiteral && s.literal[0] == c:
		if s.literal = s.literal[1:]; s.literal == "" {
			return s.valueEnd()
		}
	case s.mode == modeEscape && c == 'u':
		s.mode, s.digits = modeHex, 4
	case s.mode == modeEscape && isEscape(c):
		s.mode = modeString
	case s.mode == modeHex && isHex(c):
		s.digits--
		if s.digits == 0 {
			s.mode = modeString
		}
	default:
		return scanBad
	}
	return scanMore
}

// inNumber reads a byte of a number. The number ends with the byte after it.
func (s *scanner) inNumber(c byte) (again bool, end scanned) {
	switch {
	case s.mode == modeMinus && c == '0':
		s.mode = modeZero
	case s.mode == modeMinus && isDigit(c), s.mode == modeInt && isDigit(c):
		s.mode = modeInt
	case (s.mode == modeZero || s.mode == modeInt) && c == '.':
		s.mode = modePoint
	case (s.mode == modePoint || s.mode == modeFraction) && isDigit(c):
		s.mode = modeFraction
	case (s.mode == modeZero || s.mode == modeInt || s.mode == modeFraction) && (c == 'e' || c == 'E'):
		s.mode = modeExponent
	case s.mode == modeExponent && (c == '+' || c == '-'):
		s.mode = modeSign
	case (s.mode == modeExponent || s.mode == modeSign || s.mode == modePower) && isDigit(c):
		s.mode = modePower
	case s.numberComplete():
		return true, s.valueEnd()
	default:
		return false, scanBad
	}
	return false, scanMore
}

func (s *scanner) numberComplete() bool {
	return s.mode == modeZero || s.mode == modeInt || s.mode == modeFraction || s.mode == modePower
}

func (s *scanner) inObject() bool { return s.objects>>(s.depth-1)&1 == 1 }

func (s *scanner) push(object bool) scanned {
	if s.depth == maxDepth {
		return scanBad
	}
	s.objects &^= 1 << s.depth
	s.mode = modeFirst
	if object {
		s.objects |= 1 << s.depth
		s.mode = modeKeys
	}
	s.depth++
	return scanMore
}

func (s *scanner) pop() scanned {
	s.depth--
	return s.valueEnd()
}

func (s *scanner) valueEnd() scanned {
	if s.depth == 0 {
		return scanDone
	}
	s.mode = modeAfter
	return scanMore
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isEscape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

// appendString appends s as a JSON string. Unlike encoding/json it escapes only what
// JSON requires and keeps all other bytes, invalid UTF-8 too.
func appendString(dst, s []byte) []byte {
	return append(appendEscaped(append(dst, '"'), s), '"')
}

// appendEscaped appends the content of a JSON string, without the quotes.
func appendEscaped(dst, s []byte) []byte {
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = appendControl(dst, c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// keyed returns the bytes before the value of an object's n-th key, counted from 0.
func keyed(n int, key []byte) []byte {
	before := []byte("{")
	if n > 0 {
		before = []byte(", ")
	}
	return append(appendString(before, key), ": "...)
}

// appendControl appends the escape of a control character.
func appendControl(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
