// Package strictjson reads JSON that clients send: strictly, within the budgets of a request,
// and with errors that name the value at fault. [Read] reads a text by a [Reader], which
// builds values or skips them; words.go has how a message shows a value.
//
// What a request's fields mean belongs to the surfaces and to services/requests. Tensors of
// KServe's REST have a reader of their own, services/kserve/tensorjson, with tritonserver's
// grammar.
package strictjson

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
	// ErrTooManyKeys is returned beyond the budget of an object.
	ErrTooManyKeys = errors.New("an object in it has too many keys")
	// ErrFieldFull is returned beyond the budget of a field: see [Reader.Within].
	ErrFieldFull = errors.New("the field holds too many values")
	// The budgets of a text.
	errTooManyValues  = errors.New("it holds too many values")
	errTooManyNumbers = errors.New("it holds too many numbers")
)

// Reader reads one JSON text (RFC 8259) and refuses what encoding/json lets
// pass and two readers could understand differently: a key given twice, and bytes
// that aren't UTF-8. Keys match exactly. It holds texts to [budget.Depth],
// [budget.Values], [budget.ObjectKeys] and [budget.TokenIDs] before it builds anything.
type Reader struct {
	data   []byte
	pos    int
	depth  int
	values int
	most   int // values, the field's included; 0 where only the text is bounded
	// FreeNumbers don't count as values but as token ids. Keys count as values then.
	FreeNumbers bool
	numbers     int
}

// Error says why a text isn't JSON that we take.
type Error struct {
	Message string
	// Path leads to the value at fault; empty when the text has no shape yet.
	Path string
	// Named is true when Path is worth telling: the text is JSON up to here.
	Named bool
	// Unsupported marks what is well-formed but can't be honoured.
	Unsupported bool
}

func (e *Error) Error() string { return e.Message }

// Read reads all of data by read, which must consume exactly one value.
// Its errors are [*Error], those of the budgets, and those of read.
func Read(data []byte, read func(*Reader) error) error {
	if !utf8.Valid(data) {
		return &Error{Message: fmt.Sprintf("it is not UTF-8 at byte %d", invalidUTF8(data))}
	}
	r := &Reader{data: data}
	r.space()
	if r.pos == len(data) {
		return &Error{Message: "it is empty"}
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

// NewReader makes a reader of a part of a text that has been read before.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

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

// BeyondText reports whether an error is that of a budget of the whole text.
func BeyondText(err error) bool {
	return errors.Is(err, errTooManyValues) || errors.Is(err, ErrTooManyKeys)
}

// BodyError tells the client what is wrong with its body's JSON.
func BodyError(err error) error {
	var e *Error
	switch {
	case errors.Is(err, errTooManyValues):
		return inference.Invalid("", "the request body holds too many values: numbers, strings, lists and objects together may be %d", budget.Values)
	case errors.Is(err, ErrTooManyKeys):
		return inference.Invalid("", "the request body holds an object of more than %d keys: send fewer", budget.ObjectKeys)
	case errors.Is(err, errTooManyNumbers):
		return inference.Invalid("", "the request body holds too many token ids: all lists of a request together may have %d", budget.TokenIDs)
	case !errors.As(err, &e):
		return err
	case e.Unsupported:
		return inference.Unsupported(e.Path, "%s %s", e.Path, e.Message)
	case e.Named:
		return inference.Invalid(e.Path, "%s %s", e.Path, e.Message)
	}
	return inference.Invalid("", "the request body is not valid JSON: %s", e.Message)
}

func (r *Reader) fail(format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if r.pos >= len(r.data) {
		return &Error{Message: fmt.Sprintf("%s at byte %d, where the text ends", message, r.pos)}
	}
	c, _ := utf8.DecodeRune(r.data[r.pos:])
	return &Error{Message: fmt.Sprintf("%s at byte %d (%q)", message, r.pos, c)}
}

// At puts a step before the path of a named error. Long paths are cut: keys are the
// client's own.
func At(step string, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Named {
		e.Path = JoinPath(budget.Cut(step, budget.MessageBytes), budget.Cut(e.Path, budget.MessageBytes))
	}
	return err
}

// JoinPath appends in OpenAI's style: a.b for keys, a[0] for positions.
func JoinPath(path, step string) string {
	if path == "" || step == "" || step[0] == '[' {
		return path + step
	}
	return path + "." + step
}

// jsonPath is the path of a named error.
func jsonPath(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Named {
		return e.Path
	}
	return ""
}

// Why says in one line what is wrong with a text inside the body.
func Why(err error) string { return strings.TrimSpace(jsonPath(err) + " " + err.Error()) }

// Index is the step of a path to an item of a list.
func Index(i int) string { return "[" + strconv.Itoa(i) + "]" }

func (r *Reader) space() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// Peek is the next byte after white space, 0 at the end.
func (r *Reader) Peek() byte {
	r.space()
	if r.pos < len(r.data) {
		return r.data[r.pos]
	}
	return 0
}

// Offset is the position in the text, behind white space.
func (r *Reader) Offset() int {
	r.space()
	return r.pos
}

// Since is the text from an offset to the position.
func (r *Reader) Since(start int) json.RawMessage { return r.data[start:r.pos:r.pos] }

// Raw reads one value and gives its bytes, a part of the text.
func (r *Reader) Raw() (json.RawMessage, error) {
	start := r.Offset()
	if _, err := r.Value(false); err != nil {
		return nil, err
	}
	return r.Since(start), nil
}

// Value reads one value. With build it gives map[string]any, []any, string,
// int64 (whole numbers that fit), float64, bool or nil; without it only checks.
func (r *Reader) Value(build bool) (any, error) {
	c := r.Peek()
	number := c == '-' || IsDigit(c)
	if number && r.FreeNumbers {
		return r.FreeNumber()
	}
	if err := r.Count(); err != nil {
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

// ObjectText reads text that is a JSON object itself, as the arguments of a call are, and
// counts its values with those of r. It keeps the bytes: the order of keys reaches the
// prompt. No text stands for an object without keys.
func (r *Reader) ObjectText(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return json.RawMessage("{}"), nil
	}
	err := Read([]byte(text), func(inner *Reader) error {
		inner.values = r.values
		defer func() { r.values = inner.values }()
		return inner.Object(func(string) error {
			_, err := inner.Value(false)
			return err
		})
	})
	switch {
	case BeyondText(err):
		return nil, err
	case err != nil:
		return nil, &Error{Message: "must be a JSON object as text: " + Why(err), Named: true}
	}
	return json.RawMessage(text), nil
}

// Count takes account of one more value.
func (r *Reader) Count() error {
	r.values++
	switch {
	case r.values > budget.Values:
		return errTooManyValues
	case r.most > 0 && r.values > r.most:
		return ErrFieldFull
	}
	return nil
}

// Within reads a field that may hold so many values.
func (r *Reader) Within(most int, read func() (any, error)) (any, error) {
	r.most = r.values + most
	value, err := read()
	r.most = 0
	return value, err
}

// FreeNumber reads a number that counts as a token id.
func (r *Reader) FreeNumber() (any, error) {
	r.numbers++
	if r.numbers > budget.TokenIDs {
		return nil, errTooManyNumbers
	}
	return r.number()
}

func (r *Reader) buildObject(build bool) (any, error) {
	if !build {
		return nil, r.Object(func(string) error {
			_, err := r.Value(false)
			return err
		})
	}
	object := map[string]any{}
	return object, r.Object(func(key string) (err error) {
		object[key], err = r.Value(true)
		return err
	})
}

func (r *Reader) buildArray(build bool) (any, error) {
	if !build {
		return nil, r.Array(func(int) error {
			_, err := r.Value(false)
			return err
		})
	}
	list := make([]any, 0, r.ids())
	err := r.Array(func(int) error {
		v, err := r.Value(true)
		list = append(list, v)
		return err
	})
	return list, err
}

// ids is how many token ids the list at the position has, or a little more, if its first
// element is a number. A list that grows instead leaves as much garbage as it holds.
func (r *Reader) ids() int {
	end := bytes.IndexByte(r.data[r.pos:], ']')
	if !r.FreeNumbers || end < 1 || !IsDigit(r.data[r.pos+1]) {
		return 0
	}
	return min(1+bytes.Count(r.data[r.pos:r.pos+end], []byte{','}), budget.TokenIDs-r.numbers)
}

// Object reads an object. It calls member after each key; member reads the value.
func (r *Reader) Object(member func(key string) error) error {
	if err := r.enter('{'); err != nil {
		return err
	}
	var seen keySet
	for n := 0; ; n++ {
		if done, err := r.next('}', n == 0); done || err != nil {
			return err
		}
		if n == budget.ObjectKeys {
			return ErrTooManyKeys
		}
		if r.Peek() != '"' {
			return r.fail("a key in quotes is expected")
		}
		name, err := r.string(true)
		if err != nil {
			return err
		}
		if r.FreeNumbers {
			if err := r.Count(); err != nil { // its value may not count
				return err
			}
		}
		if !seen.add(name) {
			return &Error{Path: name, Message: "is given twice", Named: true}
		}
		if r.Peek() != ':' {
			return r.fail("a colon is expected")
		}
		r.pos++
		if err := member(name); err != nil {
			return At(name, err)
		}
	}
}

// Array reads a list. It calls item before each item, which item reads.
func (r *Reader) Array(item func(i int) error) error {
	if err := r.enter('['); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if done, err := r.next(']', i == 0); done || err != nil {
			return err
		}
		if err := item(i); err != nil {
			return At(Index(i), err)
		}
	}
}

// enter goes past an opening bracket.
func (r *Reader) enter(open byte) error {
	if r.Peek() != open {
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
func (r *Reader) next(closing byte, first bool) (done bool, err error) {
	switch c := r.Peek(); {
	case c == closing:
		r.pos++
		r.depth--
		return true, nil
	case first:
		return false, nil
	case c == ',':
		r.pos++
		if r.Peek() == closing {
			return false, r.fail("an element is expected after the comma")
		}
		return false, nil
	}
	return false, r.fail("a comma or %q is expected", closing)
}

func (r *Reader) word(word string) error {
	if !bytes.HasPrefix(r.data[r.pos:], []byte(word)) {
		return r.fail("a value is expected")
	}
	r.pos += len(word)
	return nil
}

// string reads a string and, with build, gives it.
func (r *Reader) string(build bool) (string, error) {
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
func (r *Reader) escape() error {
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
func (r *Reader) number() (any, error) {
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

func (r *Reader) digits() int {
	start := r.pos
	for r.pos < len(r.data) && IsDigit(r.data[r.pos]) {
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
		return nil, &Error{Message: "is a number too large for 64 bits", Named: true}
	}
	if f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 {
		return int64(f), nil
	}
	return f, nil
}

// IsDigit reports whether a byte is a decimal digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return IsDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

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
