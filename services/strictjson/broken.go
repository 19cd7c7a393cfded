package strictjson

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// The errors of this file name the offending byte and the expected token. The decoder's
// own errors don't: their offset is only a lower bound, and their texts may change.

// misplaced returns the error for a position where the next token can't start.
func (r *Reader) misplaced() error {
	kind, length := r.decoder.StackIndex(r.decoder.StackDepth())
	expected, closing := "a value is expected", byte(']')
	if kind == jsontext.KindBeginObject {
		closing = '}'
		if length%2 == 0 {
			expected = "a key in quotes is expected"
		}
	}
	at := r.space(r.end())
	switch {
	case kind == jsontext.KindInvalid || length == 0: // no delimiter is expected
		return r.fail(at, "%s", expected)
	case kind == jsontext.KindBeginObject && length%2 == 1:
		if r.at(at) != ':' {
			return r.fail(at, "a colon is expected")
		}
	case r.hasLeadingZero(at):
		return r.fail(r.digits(at), "a number without leading zeros is expected")
	case r.at(at) != ',':
		return r.fail(at, "a comma or %q is expected", closing)
	case r.at(r.Offset()) == closing:
		return r.fail(r.Offset(), "an element is expected after the comma")
	}
	return r.fail(r.Offset(), "%s", expected)
}

// hasLeadingZero reports whether a digit follows a number at an offset. The decoder reads 01
// as two numbers.
func (r *Reader) hasLeadingZero(at int) bool {
	return at > 0 && at == r.end() && IsDigit(r.at(at)) && IsDigit(r.at(at-1))
}

// digits returns the offset of the first byte at or after an offset that isn't a digit.
func (r *Reader) digits(at int) int {
	for IsDigit(r.at(at)) {
		at++
	}
	return at
}

// badNumber returns the error for a malformed number at an offset.
func (r *Reader) badNumber(at int) error {
	if r.at(at) == '-' {
		at++
	}
	digits := r.digits(at)
	if digits == at {
		return r.fail(at, "a number without leading zeros is expected")
	}
	at = digits
	if r.at(at) == '.' {
		digits = r.digits(at + 1)
		if digits == at+1 {
			return r.fail(digits, "digits are expected after the point")
		}
		at = digits
	}
	at++ // past the letter of the exponent
	if c := r.at(at); c == '+' || c == '-' {
		at++
	}
	return r.fail(at, "digits are expected in the exponent")
}

// badString returns the error for a string that the decoder rejects: a duplicate key or a
// malformed string.
func (r *Reader) badString(err error) error {
	var e *jsontext.SyntacticError
	if !errors.As(err, &e) {
		return err
	}
	if errors.Is(e.Err, jsontext.ErrDuplicateName) {
		return &Error{Path: e.JSONPointer.LastToken(), Message: "is given twice", Named: true}
	}
	at := int(e.ByteOffset)
	switch {
	case at >= len(r.data):
		return r.fail(at, "a closing quote is expected")
	case r.data[at] != '\\':
		return r.fail(at, "control characters in strings must be escaped")
	case at+1 == len(r.data):
		return r.fail(at+1, "an escape is expected")
	case r.data[at+1] != 'u':
		return r.fail(at+1, "a valid escape sequence is expected")
	}
	at += len(`\u`)
	for isHex(r.at(at)) {
		at++
	}
	return r.fail(at, "four hexadecimal digits are expected after \\u")
}

func isHex(c byte) bool { return IsDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
