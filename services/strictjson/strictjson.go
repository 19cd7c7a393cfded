// Package strictjson reads JSON from clients strictly and within the budgets of a request.
// Its errors name the invalid value. [Read] reads a text with a [Reader], which builds values
// or skips them. words.go formats values for error messages. The grammar is that of
// [jsontext.Decoder]. Budgets, values and error messages are the package's own. The meaning
// of fields belongs to the frontends and to package requests.
//
// The surfaces and services/requests define the meaning of a request's fields.
// services/kserve/tensorjson reads the tensors of KServe's REST API, because tritonserver's
// grammar differs.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
)

var (
	// ErrTooManyKeys is returned when an object has more keys than allowed.
	ErrTooManyKeys = errors.New("the JSON text has an object with too many keys")
	// ErrFieldFull is returned when a field exceeds its budget of values: see
	// [Reader.Within].
	ErrFieldFull = errors.New("the JSON field has too many values")
	// Errors of the budgets of the whole text.
	errTooManyValues  = errors.New("the JSON text has too many values")
	errTooManyNumbers = errors.New("the JSON text has too many numbers")
)

// Reader reads one JSON text (RFC 8259). It rejects two things that encoding/json accepts and
// that two readers could understand differently: duplicate keys, and bytes that aren't UTF-8.
// Keys match exactly. It limits texts to [budget.Depth], [budget.Values], [budget.ObjectKeys]
// and [budget.TokenIDs] before it builds values. It must not be copied after its first use.
type Reader struct {
	data    []byte
	buffer  bytes.Buffer // holds data: the decoder copies every other io.Reader
	decoder jsontext.Decoder
	values  int
	most    int // maximum of values, including the current field's; 0 if only the whole text is limited
	// FreeNumbers makes numbers count as token ids instead of values. Keys then count as
	// values.
	FreeNumbers bool
	numbers     int
}

// Error describes why a text isn't valid JSON or isn't supported.
type Error struct {
	Message string
	// Path is the path of the invalid value. It is "" if the text isn't JSON.
	Path string
	// Named is true if Path is meaningful: the text is valid JSON up to that value.
	Named bool
	// Unsupported marks a well-formed value that the server doesn't support.
	Unsupported bool
}

func (e *Error) Error() string { return e.Message }

// Read reads all of data with the function read, which must consume exactly one value. Its
// errors are [*Error], the errors of the budgets, and the errors of read.
func Read(data []byte, read func(*Reader) error) error {
	if !utf8.Valid(data) {
		return &Error{Message: fmt.Sprintf("the JSON text is not UTF-8 at byte %d", invalidUTF8(data))}
	}
	return ReadPart(data, func(r *Reader) error { return r.whole(read) })
}

// ReadPart reads a part of a text that has been read before. Its error is that of read.
func ReadPart(data []byte, read func(*Reader) error) error {
	r, _ := readers.Get().(*Reader)
	r.reset(data)
	err := read(r)
	r.reset(nil) // the pool keeps no text
	readers.Put(r)
	return err
}

// readers holds idle readers. Their decoders keep stacks, whose memory jsontext limits.
var readers = sync.Pool{New: func() any { return new(Reader) }} //nolint:gochecknoglobals // a pool is global by design

// reset makes the reader ready for a text.
func (r *Reader) reset(data []byte) {
	r.data, r.buffer = data, *bytes.NewBuffer(data)
	r.values, r.most, r.FreeNumbers, r.numbers = 0, 0, false, 0
	r.decoder.Reset(&r.buffer, loneSurrogates)
}

// whole reads one value with the function read, and checks that nothing follows the value.
func (r *Reader) whole(read func(*Reader) error) error {
	if r.space(0) == len(r.data) {
		return &Error{Message: "the JSON text is empty"}
	}
	if err := read(r); err != nil {
		return err
	}
	switch at := r.space(r.end()); {
	case at == len(r.data):
		return nil
	case r.hasLeadingZero(at):
		return r.fail(r.digits(at), "a number without leading zeros is expected")
	default:
		return r.fail(at, "unexpected data follows the JSON value")
	}
}

// loneSurrogates makes the decoder accept an escape of half a surrogate pair, which becomes
// U+FFFD as in encoding/json. [Read] checks that the bytes are UTF-8.
var loneSurrogates = jsontext.AllowInvalidUTF8(true) //nolint:gochecknoglobals // a constant

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

// IsTextBudget reports whether an error is that of a limit on the whole text, and not of a limit on
// one field.
func IsTextBudget(err error) bool {
	return errors.Is(err, errTooManyValues) || errors.Is(err, ErrTooManyKeys)
}

// BodyError converts an error about a request body's JSON to an [*inference.Error] for the
// client.
func BodyError(err error) error {
	var e *Error
	switch {
	case errors.Is(err, errTooManyValues):
		return inference.Invalid("", "the request body holds too many values: at most %d numbers, strings, lists and objects together are allowed", budget.Values)
	case errors.Is(err, ErrTooManyKeys):
		return inference.Invalid("", "the request body holds an object of more than %d keys: send fewer", budget.ObjectKeys)
	case errors.Is(err, errTooManyNumbers):
		return inference.Invalid("", "the request body holds too many token ids: all lists of a request together may have at most %d", budget.TokenIDs)
	case !errors.As(err, &e):
		return err
	case e.Unsupported:
		return inference.Unsupported(e.Path, "%s %s", e.Path, e.Message)
	case e.Named:
		return inference.Invalid(e.Path, "%s %s", e.Path, e.Message)
	}
	return inference.Invalid("", "the request body is not valid JSON: %s", e.Message)
}

func (r *Reader) fail(at int, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if at >= len(r.data) {
		return &Error{Message: fmt.Sprintf("%s at byte %d, where the text ends", message, at)}
	}
	c, _ := utf8.DecodeRune(r.data[at:])
	return &Error{Message: fmt.Sprintf("%s at byte %d (%q)", message, at, c)}
}

// At prepends a step to the path of a named error. It cuts long paths, because the client
// chooses the keys.
func At(step string, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Named {
		e.Path = JoinPath(budget.Cut(step, budget.MessageBytes), budget.Cut(e.Path, budget.MessageBytes))
	}
	return err
}

// JoinPath appends a step in OpenAI's style: a.b for keys, a[0] for positions.
func JoinPath(path, step string) string {
	if path == "" || step == "" || step[0] == '[' {
		return path + step
	}
	return path + "." + step
}

// jsonPath returns the path of a named error, or "".
func jsonPath(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Named {
		return e.Path
	}
	return ""
}

// Describe describes in one line the error of a JSON text inside the body.
func Describe(err error) string { return strings.TrimSpace(jsonPath(err) + " " + err.Error()) }

// Index returns the path step of a list's item.
func Index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// end returns the offset after the last token that was read.
func (r *Reader) end() int { return int(r.decoder.InputOffset()) }

// space returns the offset of the first byte at or after an offset that isn't white space.
func (r *Reader) space(at int) int {
	for ; at < len(r.data); at++ {
		switch r.data[at] {
		case ' ', '\t', '\n', '\r':
		default:
			return at
		}
	}
	return at
}

// at returns the byte at an offset, and 0 at the end of the text.
func (r *Reader) at(offset int) byte {
	if offset < len(r.data) {
		return r.data[offset]
	}
	return 0
}

// Offset returns the position of the next value, key or closing bracket in the text.
func (r *Reader) Offset() int {
	at := r.space(r.end())
	if c := r.at(at); c == ',' || c == ':' {
		at = r.space(at + 1)
	}
	return at
}

// Peek returns the first byte of the next value, key or closing bracket: '0' for every
// number, and 0 at the end of the text and where the next byte is a syntax error.
func (r *Reader) Peek() byte { return byte(r.decoder.PeekKind()) }

// Since returns the JSON from an offset in the input to the current position of the reader.
func (r *Reader) Since(start int) json.RawMessage {
	end := r.end()
	return r.data[start:end:end]
}

// Raw reads one value and returns its bytes, which are a part of the text.
func (r *Reader) Raw() (json.RawMessage, error) {
	start := r.Offset()
	if _, err := r.Value(false); err != nil {
		return nil, err
	}
	return r.Since(start), nil
}

// Value reads one value. With build it returns map[string]any, []any, string, int64 (whole
// numbers that fit), float64, bool or nil. Without build it only checks the value.
func (r *Reader) Value(build bool) (any, error) {
	kind := r.decoder.PeekKind()
	if kind == jsontext.KindNumber && r.FreeNumbers {
		return r.freeNumber()
	}
	if err := r.Count(); err != nil {
		return nil, err
	}
	switch kind {
	case jsontext.KindNumber:
		return r.number()
	case jsontext.KindBeginObject:
		return r.buildObject(build)
	case jsontext.KindBeginArray:
		return r.buildArray(build)
	case jsontext.KindString:
		s, err := r.string(build)
		return s, err
	case jsontext.KindTrue, jsontext.KindFalse:
		return kind == jsontext.KindTrue, r.word()
	case jsontext.KindNull:
		return nil, r.word()
	case jsontext.KindInvalid, jsontext.KindEndObject, jsontext.KindEndArray:
	}
	return nil, r.misplaced()
}

// Text reads a string, which may be empty.
func (r *Reader) Text() (string, error) {
	value, err := r.Value(true)
	if err != nil {
		return "", err
	}
	s, ok := value.(string)
	if !ok {
		return "", Wrong("a string", value)
	}
	return s, nil
}

// Mismatch reads a value with another type than wanted, and returns its error.
func (r *Reader) Mismatch(wanted string) error {
	value, err := r.Value(true)
	if err != nil {
		return err
	}
	return Wrong(wanted, value)
}

// ObjectText reads text that is a JSON object, such as the arguments of a call, and counts
// its values with those of r. It returns the original bytes, because the order of keys
// reaches the prompt. An empty text stands for an object without keys.
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
	case IsTextBudget(err):
		return nil, err
	case err != nil:
		return nil, &Error{Message: "must be a string that contains a JSON object: " + Describe(err), Named: true}
	}
	return json.RawMessage(text), nil
}

// Arguments reads the arguments of a tool call as a model wrote them, and counts their values
// with those of r. It returns the original bytes. malformed reports that the text isn't a
// JSON object with distinct keys. Models truncate calls and repeat keys, and clients send
// such calls back in the history. An error is returned only if the request exceeds its
// budget.
func (r *Reader) Arguments(text string) (raw json.RawMessage, malformed bool, err error) {
	raw, err = r.ObjectText(text)
	switch {
	case IsTextBudget(err):
		return nil, false, err
	case err != nil:
		return json.RawMessage(text), true, nil //nolint:nilerr // malformed reports it
	}
	return raw, false, nil
}

// Count counts one more value.
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

// Within reads a field that may hold at most this many values.
func (r *Reader) Within(most int, read func() (any, error)) (any, error) {
	r.most = r.values + most
	value, err := read()
	r.most = 0
	return value, err
}

// freeNumber reads a number and counts it as a token id.
func (r *Reader) freeNumber() (any, error) {
	r.numbers++
	if r.numbers > budget.TokenIDs {
		return nil, errTooManyNumbers
	}
	return r.number()
}

// AppendTokenID reads a token id and appends it to ids. Token ids don't count as values of the body: they need
// little more memory than their JSON, and a batch of long inputs has many.
func (r *Reader) AppendTokenID(ids []int) ([]int, error) {
	if c := r.Peek(); c != '-' && !IsDigit(c) {
		return ids, r.Mismatch("a token id")
	}
	value, err := r.freeNumber()
	if err != nil {
		return ids, err
	}
	id, ok := value.(int64)
	if !ok || id < 0 || id > math.MaxInt32 {
		return ids, Wrong("a token id", value)
	}
	return append(ids, int(id)), nil
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

// ids returns the number of token ids in the next list, or a little more, if the list's first
// element is a number. Preallocation avoids the garbage of a growing list, which is as large
// as the list.
func (r *Reader) ids() int {
	if !r.FreeNumbers {
		return 0
	}
	list := r.data[r.Offset():]
	end := bytes.IndexByte(list, ']')
	if end < 1 || !IsDigit(list[1]) {
		return 0
	}
	return min(1+bytes.Count(list[:end], []byte{','}), budget.TokenIDs-r.numbers)
}

// Object reads an object. It calls member after each key, and member must read the value.
func (r *Reader) Object(member func(key string) error) error {
	if err := r.enter(jsontext.KindBeginObject); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if done, err := r.next(jsontext.KindEndObject, n == 0); done || err != nil {
			return err
		}
		if n == budget.ObjectKeys {
			return ErrTooManyKeys
		}
		if r.decoder.PeekKind() != jsontext.KindString {
			return r.misplaced()
		}
		name, err := r.string(true)
		if err != nil {
			return err
		}
		if r.FreeNumbers {
			if err := r.Count(); err != nil { // the key counts, because its value may be a number that doesn't
				return err
			}
		}
		if err := member(name); err != nil {
			return At(name, err)
		}
	}
}

// Array reads a list. It calls item before each element, and item must read the element.
func (r *Reader) Array(item func(i int) error) error {
	if err := r.enter(jsontext.KindBeginArray); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if done, err := r.next(jsontext.KindEndArray, i == 0); done || err != nil {
			return err
		}
		if err := item(i); err != nil {
			return At(Index(i), err)
		}
	}
}

// enter reads an opening bracket.
func (r *Reader) enter(open jsontext.Kind) error {
	switch {
	case r.decoder.PeekKind() != open:
		return r.fail(r.Offset(), "%q is expected", byte(open))
	case r.decoder.StackDepth() == budget.Depth:
		return r.fail(r.Offset(), "arrays and objects are nested deeper than %d levels", budget.Depth)
	}
	_, err := r.decoder.ReadToken()
	return err
}

// next reads the closing bracket and reports done, or positions the reader before the next
// element.
func (r *Reader) next(closing jsontext.Kind, first bool) (done bool, err error) {
	kind := r.decoder.PeekKind()
	switch {
	case kind == closing:
		_, err = r.decoder.ReadToken()
		return true, err
	case first:
		return false, nil
	case kind == jsontext.KindInvalid || kind == jsontext.KindEndObject || kind == jsontext.KindEndArray:
		return false, r.misplaced()
	}
	return false, nil
}

// word reads true, false or null.
func (r *Reader) word() error {
	start := r.Offset()
	if _, err := r.decoder.ReadToken(); err != nil {
		return r.fail(start, "a value is expected")
	}
	return nil
}

// string reads a string. With build it returns the string.
func (r *Reader) string(build bool) (string, error) {
	start := 0
	if build {
		start = r.Offset()
	}
	token, err := r.decoder.ReadToken()
	switch {
	case err != nil:
		return "", r.badString(err)
	case !build:
		return "", nil
	}
	quoted := r.data[start:r.end()]
	if bytes.IndexByte(quoted, '\\') >= 0 {
		return token.String(), nil
	}
	return string(quoted[1 : len(quoted)-1]), nil
}

// number reads a number. Whole numbers that fit are int64 in any notation, because 16.0 is an
// integer in JSON Schema.
func (r *Reader) number() (any, error) {
	start := r.Offset()
	if _, err := r.decoder.ReadToken(); err != nil {
		return nil, r.badNumber(start)
	}
	return toNumber(r.data[start:r.end()])
}

// maxPlainDigits is the number of digits that always fit into 64 bits.
const maxPlainDigits = 18

func toNumber(literal []byte) (any, error) {
	if n, plain := plainNumber(literal); plain {
		return n, nil
	}
	if !bytes.ContainsAny(literal, ".eE") {
		if n, err := strconv.ParseInt(string(literal), 10, 64); err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(string(literal), 64)
	if err != nil {
		return nil, &Error{Message: "is a number too large for 64 bits", Named: true}
	}
	if f == math.Trunc(f) && f > math.MinInt64 && f < math.MaxInt64 { // both limits also stand for numbers beyond them
		return int64(f), nil
	}
	return f, nil
}

// plainNumber returns the value of a literal of a few digits only, such as a token id. plain
// reports whether the literal is one.
func plainNumber(literal []byte) (n int64, plain bool) {
	if len(literal) > maxPlainDigits {
		return 0, false
	}
	for _, c := range literal {
		if !IsDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// IsDigit reports whether a byte is a decimal digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }
