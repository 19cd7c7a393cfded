package toolform

import (
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Input decodes the input of a call from the JSON of its arguments while the model writes them. The
// pieces of the arguments may be split at any byte. Its time is linear. It keeps the arguments only
// until the input begins. The zero value is ready to use.
//
// Models break the rules of JSON in long texts: line breaks and tabs that aren't escaped, and
// backslashes before characters that need none, are kept as they are. If the arguments have no string
// under the key input, the input is the only argument if it is a string, and else the text of the
// arguments.
type Input struct {
	state  state
	depth  int    // number of objects and lists around the position, without the arguments' object
	key    []byte // the last key of the object, as far as it can be the argument's name
	found  bool   // the string under the key input has begun
	quoted bool   // the position is inside of a string of another value
	slash  bool   // the last byte was a backslash that escapes the next one
	hex    []byte // digits of an escape with u that isn't complete
	high   rune   // the first half of a pair of surrogates, or 0
	before []byte // arguments before the input begins
	part   []byte // bytes of a character that isn't complete
}

// state is the position in the arguments.
type state uint8

const (
	beforeObject state = iota
	beforeKey
	inKey
	beforeColon
	beforeValue
	inValue // a value that isn't the input
	inInput
	afterInput
	noObject // the arguments aren't an object
)

// Append decodes one more piece of the arguments and appends the decoded part of the input to dst.
func (d *Input) Append(dst, piece []byte) []byte {
	start := len(dst)
	for _, c := range piece {
		if d.state == afterInput {
			break
		}
		if d.state == inInput {
			dst = d.inputByte(dst, c)
			continue
		}
		d.before = append(d.before, c)
		d.outside(c)
	}
	return d.whole(dst, start)
}

// Finish appends the rest of the input after the last piece of the arguments.
func (d *Input) Finish(dst []byte) []byte {
	switch {
	case d.found && d.state == afterInput:
		return dst
	case d.found: // the answer ended inside of the input
		dst = d.flushHigh(append(dst, d.part...))
		d.part = nil
		return dst
	}
	return append(dst, other(d.before)...)
}

// InputOf returns the input of a call whose arguments are complete.
func InputOf(arguments []byte) string {
	var d Input
	return string(d.Finish(d.Append(nil, arguments)))
}

// other returns the input of arguments without the key input.
func other(arguments []byte) string {
	var only map[string]any
	if json.Unmarshal(arguments, &only) == nil {
		if len(only) == 0 {
			return ""
		}
		for _, value := range only {
			if s, ok := value.(string); ok && len(only) == 1 {
				return s
			}
		}
	}
	var text string
	if json.Unmarshal(arguments, &text) == nil {
		return text
	}
	return strings.TrimSpace(string(arguments))
}

// outside reads a byte that isn't part of the input.
func (d *Input) outside(c byte) {
	switch d.state {
	case beforeObject:
		if c == '{' {
			d.state = beforeKey
		} else if !isBlank(c) {
			d.state = noObject
		}
	case beforeKey:
		if c == '"' {
			d.state, d.key = inKey, d.key[:0]
		}
	case inKey:
		d.keyByte(c)
	case beforeColon:
		if c == ':' {
			d.state = beforeValue
		}
	case beforeValue:
		d.valueStart(c)
	case inValue:
		d.valueByte(c)
	case inInput, afterInput, noObject:
	}
}

func isBlank(c byte) bool { return strings.IndexByte(" \t\r\n", c) >= 0 }

func (d *Input) keyByte(c byte) {
	switch {
	case d.slash:
		d.slash = false
	case c == '\\':
		d.slash = true
	case c == '"':
		d.state = beforeColon
		return
	}
	if len(d.key) <= len(Argument) {
		d.key = append(d.key, c)
	}
}

func (d *Input) valueStart(c byte) {
	switch {
	case isBlank(c):
	case c == '"' && string(d.key) == Argument:
		d.state, d.found, d.before = inInput, true, nil
	default:
		d.state = inValue
		d.valueByte(c)
	}
}

// valueByte reads a byte of a value that isn't the input.
func (d *Input) valueByte(c byte) {
	switch {
	case d.slash:
		d.slash = false
	case d.quoted:
		d.slash, d.quoted = c == '\\', c != '"'
	case c == '"':
		d.quoted = true
	case c == '{' || c == '[':
		d.depth++
	case c == '}' || c == ']':
		d.depth--
	case c == ',' && d.depth == 0:
		d.state = beforeKey
	}
}

// inputByte decodes a byte of the input.
func (d *Input) inputByte(dst []byte, c byte) []byte {
	switch {
	case d.hex != nil:
		return d.hexByte(dst, c)
	case d.slash:
		d.slash = false
		return d.escaped(dst, c)
	case c == '\\':
		d.slash = true
		return dst
	case c == '"':
		d.state = afterInput
		return d.flushHigh(dst)
	}
	return append(d.flushHigh(dst), c)
}

func (d *Input) escaped(dst []byte, c byte) []byte {
	if c == 'u' {
		d.hex = make([]byte, 0, 4)
		return dst
	}
	dst = d.flushHigh(dst)
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return append(dst, "\"\\/\b\f\n\r\t"[i])
	}
	return append(dst, '\\', c)
}

// hexByte reads a digit of an escape with u. A byte that isn't a digit makes it text.
func (d *Input) hexByte(dst []byte, c byte) []byte {
	if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
		dst = append(append(d.flushHigh(dst), `\u`...), d.hex...)
		d.hex = nil
		return d.inputByte(dst, c)
	}
	d.hex = append(d.hex, c)
	if len(d.hex) < 4 {
		return dst
	}
	var r rune
	for _, digit := range d.hex {
		r = r<<4 | rune(strings.IndexByte("0123456789abcdef", digit|0x20))
	}
	d.hex = nil
	if pair := utf16.DecodeRune(d.high, r); d.high != 0 && pair != utf8.RuneError {
		d.high = 0
		return utf8.AppendRune(dst, pair)
	}
	dst = d.flushHigh(dst)
	if utf16.IsSurrogate(r) {
		d.high = r
		return dst
	}
	return utf8.AppendRune(dst, r)
}

// flushHigh appends the replacement character for half of a pair of surrogates.
func (d *Input) flushHigh(dst []byte) []byte {
	if d.high != 0 {
		d.high = 0
		return utf8.AppendRune(dst, utf8.RuneError)
	}
	return dst
}

// whole holds back the bytes of a character at the end that isn't complete.
func (d *Input) whole(dst []byte, start int) []byte {
	if len(dst) == start {
		return dst
	}
	if len(d.part) > 0 {
		d.part = append(d.part, dst[start:]...)
		dst, d.part = append(dst[:start], d.part...), nil
	}
	for n := 1; n < utf8.UTFMax && n <= len(dst)-start; n++ {
		if c := dst[len(dst)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(dst[len(dst)-n:]) {
				d.part = append(d.part, dst[len(dst)-n:]...)
				return dst[:len(dst)-n]
			}
			break
		}
	}
	return dst
}
