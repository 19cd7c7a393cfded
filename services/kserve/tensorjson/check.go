// Package tensorjson reads and writes the tensors of KServe's REST API as JSON. [Parse]
// checks a body's grammar once, [Value] walks the checked text, [ReadTensor] turns
// elements into their raw form, and [AppendData] writes raw elements as JSON. Grammar,
// number formats and error messages are those of tritonserver, which uses RapidJSON.
// Binary tensors belong to services/kserve/rest.
//
// services/kserve/rest determines the members of a request and their meaning. This package is
// pure and doesn't depend on HTTP.
package tensorjson

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/trident-inference/trident/services/inference"
)

// Document is a JSON text whose grammar has been checked. Values are decoded only on demand.
// Tensors are thus read from the text directly into their raw form, and a body needs no
// memory beyond its own size.
//
// The grammar, the errors and their positions are those of RapidJSON, which tritonserver
// uses. NaN, Inf and Infinity are numbers, and strings may contain bytes that aren't UTF-8.
type Document struct {
	text []byte
	// ends has the end of each long list or object by its start, so that none is walked
	// twice. It may be nil.
	ends map[int]int
}

const (
	// depthLimit is the maximum nesting depth of lists and objects.
	depthLimit = 100
	// longValue is the minimum size, in bytes, of lists and objects in ends.
	longValue = 512
)

// Parse checks a text. The document refers to text, which must not change.
func Parse(text []byte) (*Document, error) {
	c := checker{Document: Document{text: text}}
	c.at = len(text) - len(bytes.TrimPrefix(text, []byte("\ufeff")))
	c.blank()
	what := "The document is empty."
	if c.peek() != 0 {
		what = c.value(0)
	}
	if what == "" {
		what = c.rest()
	}
	switch what {
	case "":
		return &c.Document, nil
	case tooDeep:
		return nil, Invalid(tooDeep)
	}
	return nil, Internal("failed to parse the request JSON buffer: %s at %d", what, c.at)
}

// Invalid returns an error of a request with the code INVALID_ARG, as tritonserver's HTTP
// endpoint returns it.
func Invalid(format string, args ...any) *inference.Error {
	return &inference.Error{Code: inference.CodeInvalid, Triton: inference.TritonInvalidArg, Message: fmt.Sprintf(format, args...)}
}

// Internal returns an error of a request with the code INTERNAL, which tritonserver's HTTP
// endpoint returns for invalid JSON.
func Internal(format string, args ...any) *inference.Error {
	return &inference.Error{Code: inference.CodeInvalid, Triton: inference.TritonInternal, Message: fmt.Sprintf(format, args...)}
}

// The errors of values, in addition to those of each kind.
const (
	wrongValue  = "Invalid value."
	wrongNumber = "Number too big to be stored in double."
	wrongEscape = "Invalid escape character in string."
	wrongHex    = "Incorrect hex digit after \\u escape in string."
	wrongPair   = "The surrogate pair in string is invalid."
	noQuote     = "Missing a closing quotation mark in string."
	tooDeep     = "JSON nesting depth exceeds maximum allowed limit (100)"
)

// checker scans a text once. Its methods return an error message, which is empty if there is
// no error. After an error, the checker's field at is the position of the error.
type checker struct {
	Document

	at int
}

// peek returns the next byte, or 0 at the end.
func (c *checker) peek() byte {
	if c.at < len(c.text) {
		return c.text[c.at]
	}
	return 0
}

// rest checks that nothing follows the value.
func (c *checker) rest() string {
	c.blank()
	if c.peek() != 0 {
		return "The document root must not be followed by other values."
	}
	return ""
}

func (c *checker) blank() { c.at = afterBlank(c.text, c.at) }

func afterBlank(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t') {
		at++
	}
	return at
}

// plainDigits is the maximum number of digits of numbers that afterNumbers skips.
const plainDigits = 18

// afterNumbers skips numbers that consist only of digits, with their commas, as tensors have
// them. It returns the position of the first other value. It takes a fraction of the time
// that the method value takes.
func afterNumbers(text []byte, at int) int {
	for {
		end := at
		for end < len(text) && text[end]-'0' <= 9 {
			end++
		}
		if end == len(text) || text[end] != ',' || end == at || end-at > plainDigits || text[at] == '0' && end-at > 1 {
			return at
		}
		at = end + 1
	}
}

func (c *checker) value(depth int) string {
	switch c.peek() {
	case '"':
		return c.string()
	case '[', '{':
		if depth == depthLimit {
			return tooDeep
		}
		start := c.at
		what := c.collection(depth)
		if c.at-start >= longValue && what == "" {
			if c.ends == nil {
				c.ends = map[int]int{}
			}
			c.ends[start] = c.at
		}
		return what
	case 'n':
		return c.literal("null")
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	}
	return c.number()
}

func (c *checker) literal(word string) string {
	for i := range len(word) {
		if c.peek() != word[i] {
			return wrongValue
		}
		c.at++
	}
	return ""
}

func (c *checker) collection(depth int) string {
	object := c.peek() == '{'
	end, missing := byte(']'), "Missing a comma or ']' after an array element."
	if object {
		end, missing = '}', "Missing a comma or '}' after an object member."
	}
	c.at++
	c.blank()
	if c.peek() == end {
		c.at++
		return ""
	}
	for {
		if object {
			if what := c.name(); what != "" {
				return what
			}
		} else if at := afterNumbers(c.text, c.at); at > c.at {
			c.at = at
			c.blank()
		}
		if what := c.value(depth + 1); what != "" {
			return what
		}
		c.blank()
		switch c.peek() {
		case ',':
			c.at++
			c.blank()
		case end:
			c.at++
			return ""
		default:
			return missing
		}
	}
}

// name checks a member's name and the colon.
func (c *checker) name() string {
	if c.peek() != '"' {
		return "Missing a name for object member."
	}
	if what := c.string(); what != "" {
		return what
	}
	c.blank()
	if c.peek() != ':' {
		return "Missing a colon after a name of object member."
	}
	c.at++
	c.blank()
	return ""
}

func (c *checker) string() string {
	for c.at++; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; {
		case b == '"':
			c.at++
			return ""
		case b == '\\':
			if what := c.escape(); what != "" {
				return what
			}
		case b == 0:
			return noQuote
		case b < ' ':
			return wrongEscape
		}
	}
	return noQuote
}

// escape leaves at on the last byte of an escape, or on its first byte if it is invalid.
func (c *checker) escape() string {
	start := c.at
	c.at++
	switch c.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return ""
	case 'u':
	default:
		c.at = start
		return wrongEscape
	}
	first, ok := hex4(c.text, c.at+1)
	c.at += 4
	switch {
	case !ok:
		c.at = start
		return wrongHex
	case first < highSurrogate || first >= lowSurrogate: // a low surrogate may stand alone
		return ""
	}
	if !bytes.HasPrefix(c.text[c.at+1:], []byte(`\u`)) {
		c.at = start
		return wrongPair
	}
	second, ok := hex4(c.text, c.at+3)
	switch {
	case !ok:
		c.at = start
		return wrongHex
	case utf16.DecodeRune(first, second) == utf8.RuneError:
		c.at = start
		return wrongPair
	}
	c.at += 6
	return ""
}

// The first code points of the two ranges of UTF-16 surrogates, and of the range after them.
const (
	highSurrogate = 0xd800
	lowSurrogate  = 0xdc00
	noSurrogate   = 0xe000
)

// hex4 parses four hexadecimal digits.
func hex4(text []byte, at int) (rune, bool) {
	if at+4 > len(text) {
		return 0, false
	}
	var r rune
	for _, b := range text[at : at+4] {
		switch {
		case b >= '0' && b <= '9':
			r = r<<4 | rune(b-'0')
		case b >= 'a' && b <= 'f':
			r = r<<4 | rune(b-'a'+10)
		case b >= 'A' && b <= 'F':
			r = r<<4 | rune(b-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// Numbers within these limits always fit into a float64.
const (
	safeDigits   = 300
	safeExponent = 3 // exponents with fewer digits, below e100, always fit
)

func (c *checker) number() string {
	start := c.at
	if c.peek() == '-' {
		c.at++
	}
	switch b := c.peek(); {
	case b == '0':
		c.at++
	case b >= '1' && b <= '9':
		c.digits()
	case b == 'N':
		return c.literal("NaN")
	case b == 'I':
		what := c.literal("Inf")
		if what == "" && c.peek() == 'i' {
			what = c.literal("inity")
		}
		return what
	default:
		return wrongValue
	}
	if c.peek() == '.' {
		c.at++
		if !c.digits() {
			return "Miss fraction part in number."
		}
	}
	large := c.at-start > safeDigits
	if b := c.peek(); b == 'e' || b == 'E' {
		c.at++
		if b := c.peek(); b == '+' || b == '-' {
			c.at++
		}
		digits := c.at
		if !c.digits() {
			return "Miss exponent in number."
		}
		large = large || c.at-digits >= safeExponent
	}
	if large && math.IsInf(parseFloat(c.text[start:c.at]), 0) {
		c.at = start
		return wrongNumber
	}
	return ""
}

// digits skips digits and reports whether there are any.
func (c *checker) digits() bool {
	text, at := c.text, c.at
	for at < len(text) && text[at]-'0' <= 9 {
		at++
	}
	some := at > c.at
	c.at = at
	return some
}
