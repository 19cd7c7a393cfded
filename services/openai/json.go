package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
)

var (
	// errTooManyValues and errTooManyNumbers are returned beyond the budgets of a text,
	// errTooManyKeys beyond that of an object, and errFieldFull beyond that of a field.
	errTooManyValues  = errors.New("it holds too many values")
	errTooManyKeys    = errors.New("an object in it has too many keys")
	errTooManyNumbers = errors.New("it holds too many numbers")
	errFieldFull      = errors.New("the field holds too many values")
)

// jsonReader reads one JSON text (RFC 8259) and refuses what encoding/json lets
// pass and two readers could understand differently: a key given twice, and bytes
// that aren't UTF-8. Keys match exactly. It holds texts to [budget.Depth],
// [budget.Values], [budget.ObjectKeys] and [budget.TokenIDs] before it builds anything.
type jsonReader struct {
	data   []byte
	pos    int
	depth  int
	values int
	most   int // values, the field's included; 0 where only the text is bounded
	// freeNumbers don't count as values but as token ids. Keys count as values then.
	freeNumbers bool
	numbers     int
}

// jsonError says why a text isn't JSON that we take.
type jsonError struct {
	message string
	// path leads to the value at fault; empty when the text has no shape yet.
	path string
	// named is true when path is worth telling: the text is JSON up to here.
	named bool
	// unsupported marks what is well-formed but can't be honoured.
	unsupported bool
}

func (e *jsonError) Error() string { return e.message }

// readJSON reads all of data by read, which must consume exactly one value.
// Its errors are *jsonError and errTooManyValues.
func readJSON(data []byte, read func(*jsonReader) error) error {
	if !utf8.Valid(data) {
		return &jsonError{message: fmt.Sprintf("it is not UTF-8 at byte %d", invalidUTF8(data))}
	}
	r := &jsonReader{data: data}
	r.space()
	if r.pos == len(data) {
		return &jsonError{message: "it is empty"}
	}
	if err := read(r); err != nil {
		return err
	}
	r.space()
	if r.pos < len(data) {
		return r.fail("more follows the value")
	}
	return nil
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// beyondText reports whether an error is that of a budget of the whole text.
func beyondText(err error) bool {
	return errors.Is(err, errTooManyValues) || errors.Is(err, errTooManyKeys)
}

// bodyError tells the client what is wrong with its body's JSON.
func bodyError(err error) error {
	var e *jsonError
	switch {
	case errors.Is(err, errTooManyValues):
		return inference.Invalid("", "the request body holds too many values: numbers, strings, lists and objects together may be %d", budget.Values)
	case errors.Is(err, errTooManyKeys):
		return inference.Invalid("", "the request body holds an object of more than %d keys: send fewer", budget.ObjectKeys)
	case errors.Is(err, errTooManyNumbers):
		return inference.Invalid("", "the request body holds too many token ids: all lists of a request together may have %d", budget.TokenIDs)
	case !errors.As(err, &e):
		return err
	case e.unsupported:
		return inference.Unsupported(e.path, "%s %s", e.path, e.message)
	case e.named:
		return inference.Invalid(e.path, "%s %s", e.path, e.message)
	}
	return inference.Invalid("", "the request body is not valid JSON: %s", e.message)
}

func (r *jsonReader) fail(format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if r.pos >= len(r.data) {
		return &jsonError{message: fmt.Sprintf("%s at byte %d, where the text ends", message, r.pos)}
	}
	c, _ := utf8.DecodeRune(r.data[r.pos:])
	return &jsonError{message: fmt.Sprintf("%s at byte %d (%q)", message, r.pos, c)}
}

// at puts a step before the path of a named error. Long paths are cut: keys are the
// client's own.
func at(step string, err error) error {
	var e *jsonError
	if errors.As(err, &e) && e.named {
		e.path = joinPath(cut(step, maxMessage), cut(e.path, maxMessage))
	}
	return err
}

// joinPath appends in OpenAI's style: a.b for keys, a[0] for positions.
func joinPath(path, step string) string {
	if path == "" || step == "" || step[0] == '[' {
		return path + step
	}
	return path + "." + step
}

// jsonPath is the path of a named error.
func jsonPath(err error) string {
	var e *jsonError
	if errors.As(err, &e) && e.named {
		return e.path
	}
	return ""
}

// why says in one line what is wrong with a text inside the body.
func why(err error) string { return strings.TrimSpace(jsonPath(err) + " " + err.Error()) }

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

func (r *jsonReader) space() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// peek is the next byte after white space, 0 at the end.
func (r *jsonReader) peek() byte {
	r.space()
	if r.pos < len(r.data) {
		return r.data[r.pos]
	}
	return 0
}

// raw reads one value and gives its bytes, a part of the text.
func (r *jsonReader) raw() (json.RawMessage, error) {
	r.space()
	start := r.pos
	if _, err := r.value(false); err != nil {
		return nil, err
	}
	return r.data[start:r.pos:r.pos], nil
}

// value reads one value. With build it gives map[string]any, []any, string,
// int64 (whole numbers that fit), float64, bool or nil; without it only checks.
func (r *jsonReader) value(build bool) (any, error) {
	c := r.peek()
	number := c == '-' || isDigit(c)
	if number && r.freeNumbers {
		return r.freeNumber()
	}
	if err := r.count(); err != nil {
		return nil, err
	}
	if number {
		return r.number()
	}
	switch c {
	case '{':
		return r.buildObject(build)
	case '[':
		return r.buildArray(build)
	case '"':
		s, err := r.string(build)
		return s, err
	case 't':
		return true, r.word("true")
	case 'f':
		return false, r.word("false")
	case 'n':
		return nil, r.word("null")
	}
	return nil, r.fail("a value is expected")
}

// count takes account of one more value.
func (r *jsonReader) count() error {
	r.values++
	switch {
	case r.values > budget.Values:
		return errTooManyValues
	case r.most > 0 && r.values > r.most:
		return errFieldFull
	}
	return nil
}

// within reads a field that may hold so many values.
func (r *jsonReader) within(most int, read func() (any, error)) (any, error) {
	r.most = r.values + most
	value, err := read()
	r.most = 0
	return value, err
}

// freeNumber reads a number that counts as a token id.
func (r *jsonReader) freeNumber() (any, error) {
	r.numbers++
	if r.numbers > budget.TokenIDs {
		return nil, errTooManyNumbers
	}
	return r.number()
}

func (r *jsonReader) buildObject(build bool) (any, error) {
	if !build {
		return nil, r.object(func(string) error {
			_, err := r.value(false)
			return err
		})
	}
	object := map[string]any{}
	return object, r.object(func(key string) (err error) {
		object[key], err = r.value(true)
		return err
	})
}

func (r *jsonReader) buildArray(build bool) (any, error) {
	if !build {
		return nil, r.array(func(int) error {
			_, err := r.value(false)
			return err
		})
	}
	list := make([]any, 0, r.ids())
	err := r.array(func(int) error {
		v, err := r.value(true)
		list = append(list, v)
		return err
	})
	return list, err
}

// ids is how many token ids the list at the position has, or a little more, if its first
// element is a number. A list that grows instead leaves as much garbage as it holds.
func (r *jsonReader) ids() int {
	end := bytes.IndexByte(r.data[r.pos:], ']')
	if !r.freeNumbers || end < 1 || !isDigit(r.data[r.pos+1]) {
		return 0
	}
	return min(1+bytes.Count(r.data[r.pos:r.pos+end], []byte{','}), budget.TokenIDs-r.numbers)
}

// object reads an object. It calls member after each key; member reads the value.
func (r *jsonReader) object(member func(key string) error) error {
	if err := r.enter('{'); err != nil {
		return err
	}
	var seen keySet
	for n := 0; ; n++ {
		if done, err := r.next('}', n == 0); done || err != nil {
			return err
		}
		if n == budget.ObjectKeys {
			return errTooManyKeys
		}
		if r.peek() != '"' {
			return r.fail("a key in quotes is expected")
		}
		name, err := r.string(true)
		if err != nil {
			return err
		}
		if r.freeNumbers {
			if err := r.count(); err != nil { // its value may not count
				return err
			}
		}
		if !seen.add(name) {
			return &jsonError{path: name, message: "is given twice", named: true}
		}
		if r.peek() != ':' {
			return r.fail("a colon is expected")
		}
		r.pos++
		if err := member(name); err != nil {
			return at(name, err)
		}
	}
}

// array reads a list. It calls item before each item, which item reads.
func (r *jsonReader) array(item func(i int) error) error {
	if err := r.enter('['); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if done, err := r.next(']', i == 0); done || err != nil {
			return err
		}
		if err := item(i); err != nil {
			return at(index(i), err)
		}
	}
}

// enter goes past an opening bracket.
func (r *jsonReader) enter(open byte) error {
	if r.peek() != open {
		return r.fail("%q is expected", open)
	}
	r.depth++
	if r.depth > budget.Depth {
		return r.fail("nested deeper than %d levels", budget.Depth)
	}
	r.pos++
	return nil
}

// next goes to the next element, or past the closing bracket and reports done.
func (r *jsonReader) next(closing byte, first bool) (done bool, err error) {
	switch c := r.peek(); {
	case c == closing:
		r.pos++
		r.depth--
		return true, nil
	case first:
		return false, nil
	case c == ',':
		r.pos++
		if r.peek() == closing {
			return false, r.fail("an element is expected after the comma")
		}
		return false, nil
	}
	return false, r.fail("a comma or %q is expected", closing)
}

func (r *jsonReader) word(word string) error {
	if !bytes.HasPrefix(r.data[r.pos:], []byte(word)) {
		return r.fail("a value is expected")
	}
	r.pos += len(word)
	return nil
}

// string reads a string and, with build, gives it.
func (r *jsonReader) string(build bool) (string, error) {
	start := r.pos
	escaped := false
	for r.pos++; r.pos < len(r.data); r.pos++ {
		switch c := r.data[r.pos]; {
		case c == '"':
			r.pos++
			if !build {
				return "", nil
			}
			return unquote(r.data[start:r.pos], escaped)
		case c < ' ':
			return "", r.fail("control characters in strings must be escaped")
		case c == '\\':
			escaped = true
			if err := r.escape(); err != nil {
				return "", err
			}
		}
	}
	return "", r.fail("a closing quote is expected")
}

// escape goes to the last byte of an escape sequence.
func (r *jsonReader) escape() error {
	r.pos++
	if r.pos >= len(r.data) {
		return r.fail("an escape is expected")
	}
	switch r.data[r.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			r.pos++
			if r.pos >= len(r.data) || !isHex(r.data[r.pos]) {
				return r.fail("four hexadecimal digits are expected after \\u")
			}
		}
		return nil
	}
	return r.fail("no such escape")
}

// unquote resolves a checked string. Half a surrogate pair becomes U+FFFD, as
// everywhere in Go.
func unquote(quoted []byte, escaped bool) (string, error) {
	if !escaped {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return "", fmt.Errorf("resolve escapes: %w", err)
	}
	return s, nil
}

// number reads a number. Whole ones that fit are int64 however they are
// written, so that 16.0 is the integer it is in JSON schema.
func (r *jsonReader) number() (any, error) {
	start := r.pos
	if r.data[r.pos] == '-' {
		r.pos++
	}
	leadingZero := r.pos < len(r.data) && r.data[r.pos] == '0'
	if n := r.digits(); n == 0 || leadingZero && n > 1 {
		return nil, r.fail("a number without leading zeros is expected")
	}
	whole := true
	if r.pos < len(r.data) && r.data[r.pos] == '.' {
		whole = false
		r.pos++
		if r.digits() == 0 {
			return nil, r.fail("digits are expected after the point")
		}
	}
	if r.pos < len(r.data) && r.data[r.pos]|0x20 == 'e' {
		whole = false
		r.pos++
		if r.pos < len(r.data) && (r.data[r.pos] == '+' || r.data[r.pos] == '-') {
			r.pos++
		}
		if r.digits() == 0 {
			return nil, r.fail("digits are expected in the exponent")
		}
	}
	return toNumber(r.data[start:r.pos], whole)
}

func (r *jsonReader) digits() int {
	start := r.pos
	for r.pos < len(r.data) && isDigit(r.data[r.pos]) {
		r.pos++
	}
	return r.pos - start
}

// maxPlainDigits is how many digits surely fit into 64 bits.
const maxPlainDigits = 18

func toNumber(literal []byte, whole bool) (any, error) {
	if whole && len(literal) <= maxPlainDigits && literal[0] != '-' {
		var n int64
		for _, c := range literal {
			n = n*10 + int64(c-'0')
		}
		return n, nil
	}
	if whole {
		if n, err := strconv.ParseInt(string(literal), 10, 64); err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(string(literal), 64)
	if err != nil {
		return nil, &jsonError{message: "is a number too large for 64 bits", named: true}
	}
	if f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 {
		return int64(f), nil
	}
	return f, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// keySet holds an object's keys: a list while it is short, which most are.
type keySet struct {
	few  []string
	many map[string]struct{}
}

// add reports whether key is new.
func (s *keySet) add(key string) bool {
	if s.many == nil {
		if slices.Contains(s.few, key) {
			return false
		}
		if len(s.few) < 16 {
			s.few = append(s.few, key)
			return true
		}
		s.many = make(map[string]struct{}, 2*len(s.few))
		for _, k := range s.few {
			s.many[k] = struct{}{}
		}
	}
	if _, dup := s.many[key]; dup {
		return false
	}
	s.many[key] = struct{}{}
	return true
}
