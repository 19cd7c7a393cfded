package kserve

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/trident-inference/trident/services/inference"
)

// exactPowers of ten are those that a float64 holds exactly.
var exactPowers = [...]float64{ //nolint:gochecknoglobals // a table
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// parseFloat gives the float64 nearest to a number whose grammar has been checked;
// infinity for one that is too big.
func parseFloat(text []byte) float64 {
	digits := text
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	switch digits[0] {
	case 'N':
		return math.NaN()
	case 'I':
		if negative {
			return math.Inf(-1)
		}
		return math.Inf(1)
	}
	if f, ok := exactFloat(digits); ok {
		if negative {
			return -f
		}
		return f
	}
	f, _ := strconv.ParseFloat(unsafe.String(&text[0], len(text)), 64) //nolint:gosec // not kept; the one error is infinity
	return f
}

// exactFloat computes a number without a sign where that needs no rounding but the
// last one: a whole number below 2^53, times or by an exact power of ten.
func exactFloat(text []byte) (float64, bool) {
	const exactDigits, exactWhole = 18, 1 << 53
	var whole uint64
	point := -1
	i := 0
	for ; i < len(text) && text[i]|0x20 != 'e'; i++ {
		if text[i] == '.' {
			point = i
		} else {
			whole = whole*10 + uint64(text[i]-'0')
		}
	}
	if i > exactDigits || whole >= exactWhole {
		return 0, false
	}
	exponent := 0
	if point >= 0 {
		exponent = point + 1 - i
	}
	if i < len(text) {
		e, err := strconv.Atoi(unsafe.String(&text[i+1], len(text)-i-1)) //nolint:gosec // not kept
		if err != nil {
			return 0, false
		}
		exponent += e
	}
	switch {
	case exponent >= 0 && exponent < len(exactPowers):
		return float64(whole) * exactPowers[exponent], true
	case exponent < 0 && -exponent < len(exactPowers):
		return float64(whole) / exactPowers[-exponent], true
	}
	return 0, false
}

// jsonValue is a value in a document; the zero value is none.
type jsonValue struct {
	in       *document
	from, to int
}

// root is the document's one value.
func (d *document) root() jsonValue {
	at := afterBlank(d.text, len(d.text)-len(bytes.TrimPrefix(d.text, []byte("\ufeff"))))
	return jsonValue{d, at, d.end(at)}
}

// end is where the value ends that begins at a place.
func (d *document) end(at int) int {
	switch d.text[at] {
	case '"':
		return d.endOfString(at)
	case '[', '{':
	default:
		for at < len(d.text) && scalar(d.text[at]) {
			at++
		}
		return at
	}
	if end, long := d.ends[at]; long {
		return end
	}
	for depth := 0; ; {
		switch d.text[at] {
		case '"':
			at = d.endOfString(at)
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		at++
		if depth == 0 {
			return at
		}
	}
}

// scalar is whether a byte belongs to a number or a literal.
func scalar(b byte) bool {
	return b > ' ' && b != ',' && b != ']' && b != '}' && b != 0
}

func (d *document) endOfString(at int) int {
	at++
	for quote := at; ; {
		if quote <= at {
			quote = at + bytes.IndexByte(d.text[at:], '"')
		}
		escape := bytes.IndexByte(d.text[at:quote], '\\')
		if escape < 0 {
			return quote + 1
		}
		at += escape + 2
	}
}

// none is whether there is no such value.
func (v jsonValue) none() bool { return v.in == nil }

// kind is the value's first byte, 0 for none.
func (v jsonValue) kind() byte {
	if v.none() {
		return 0
	}
	return v.in.text[v.from]
}

func (v jsonValue) raw() []byte { return v.in.text[v.from:v.to] }

// items yields the values of a list; of anything else none.
func (v jsonValue) items(yield func(jsonValue) bool) {
	if v.kind() != '[' {
		return
	}
	for at := afterBlank(v.in.text, v.from+1); v.in.text[at] != ']'; {
		item := jsonValue{v.in, at, v.in.end(at)}
		if !yield(item) {
			return
		}
		at = v.in.next(item.to)
	}
}

// next is where the value after the one that ends at a place begins, or their list
// or object ends.
func (d *document) next(at int) int {
	at = afterBlank(d.text, at)
	if d.text[at] == ',' {
		at = afterBlank(d.text, at+1)
	}
	return at
}

// flat yields what the lists in a list hold, whatever their depth; a value that is
// no list is the only one.
func (v jsonValue) flat(yield func(jsonValue) bool) {
	for at := v.from; at < v.to; {
		switch v.in.text[at] {
		case '[', ']', ',', ' ', '\n', '\r', '\t':
			at++
			continue
		}
		item := jsonValue{v.in, at, v.in.end(at)}
		if !yield(item) {
			return
		}
		at = item.to
	}
}

// length is how many values a list has; one of anything else.
func (v jsonValue) length() int64 {
	if v.kind() != '[' {
		return 1
	}
	var n int64
	for range v.items {
		n++
	}
	return n
}

// members yields the names of an object, which are texts, with their values; of
// anything else none.
func (v jsonValue) members(yield func(name, value jsonValue) bool) {
	if v.kind() != '{' {
		return
	}
	for at := afterBlank(v.in.text, v.from+1); v.in.text[at] != '}'; {
		name := jsonValue{v.in, at, v.in.end(at)}
		at = afterBlank(v.in.text, afterBlank(v.in.text, name.to)+1)
		value := jsonValue{v.in, at, v.in.end(at)}
		if !yield(name, value) {
			return
		}
		at = v.in.next(value.to)
	}
}

// member is the first of a name.
func (v jsonValue) member(name string) jsonValue {
	for n, value := range v.members {
		if n.is(name) {
			return value
		}
	}
	return jsonValue{}
}

// is compares a text.
func (v jsonValue) is(s string) bool {
	inner := v.in.text[v.from+1 : v.to-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == s
	}
	return string(appendUnescaped(nil, inner)) == s
}

// appendText adds the text that a string stands for.
func (v jsonValue) appendText(to []byte) []byte {
	return appendUnescaped(to, v.in.text[v.from+1:v.to-1])
}

func appendUnescaped(to, inner []byte) []byte {
	for {
		plain := bytes.IndexByte(inner, '\\')
		if plain < 0 {
			return append(to, inner...)
		}
		to = append(to, inner[:plain]...)
		inner = inner[plain+1:]
		used := 1
		switch b := inner[0]; b {
		case 'b':
			to = append(to, '\b')
		case 'f':
			to = append(to, '\f')
		case 'n':
			to = append(to, '\n')
		case 'r':
			to = append(to, '\r')
		case 't':
			to = append(to, '\t')
		case 'u':
			r, _ := hex4(inner, 1)
			used = 5
			switch {
			case r >= highSurrogate && r < lowSurrogate:
				low, _ := hex4(inner, 7)
				to, used = utf8.AppendRune(to, utf16.DecodeRune(r, low)), 11
			case r >= lowSurrogate && r < noSurrogate: // as it is: texts may hold any bytes
				to = append(to, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0xbf)
			default:
				to = utf8.AppendRune(to, r)
			}
		default:
			to = append(to, b)
		}
		inner = inner[used:]
	}
}

// asText and those after it decode a value, or say as tritonserver what it isn't.
func (v jsonValue) asText() (string, *inference.Error) {
	if v.kind() != '"' {
		return "", internal("attempt to access JSON non-string as string")
	}
	return string(v.appendText(nil)), nil
}

func (v jsonValue) asBool() (bool, *inference.Error) {
	switch v.kind() {
	case 't':
		return true, nil
	case 'f':
		return false, nil
	}
	return false, internal("attempt to access JSON non-boolean as boolean")
}

// asUnsigned reads a number without a fraction or an exponent from 0 to 2^64-1.
func (v jsonValue) asUnsigned() (uint64, *inference.Error) {
	if !v.none() {
		if n, negative, ok := wholeNumber(v.raw()); ok && (!negative || n == 0) {
			return n, nil
		}
	}
	return 0, internal("attempt to access JSON non-unsigned-integer as unsigned-integer")
}

// asSigned reads one from -2^63 to 2^63-1.
func (v jsonValue) asSigned() (int64, *inference.Error) {
	if !v.none() {
		if n, negative, ok := wholeNumber(v.raw()); ok {
			switch {
			case negative && n <= 1<<63:
				return -int64(n), nil
			case !negative && n <= math.MaxInt64:
				return int64(n), nil
			}
		}
	}
	return 0, internal("attempt to access JSON non-signed-integer as signed-integer")
}

func (v jsonValue) asFloat() (float64, *inference.Error) {
	if !v.number() {
		return 0, internal("attempt to access JSON non-number as double")
	}
	if raw := v.raw(); string(raw) != "-0" {
		return parseFloat(raw), nil
	}
	return 0, nil // a whole number: zero has no sign
}

func (v jsonValue) number() bool {
	switch b := v.kind(); b {
	case '-', 'N', 'I':
		return true
	default:
		return b-'0' <= 9
	}
}

// wholeNumber reads a number of digits alone that fits.
func wholeNumber(text []byte) (n uint64, negative, ok bool) {
	if text[0] == '-' {
		negative, text = true, text[1:]
	}
	const mostDigits = 20
	if len(text) > mostDigits {
		return 0, false, false
	}
	for _, b := range text {
		digit := uint64(b - '0')
		if digit > 9 || n > (math.MaxUint64-digit)/10 {
			return 0, false, false
		}
		n = n*10 + digit
	}
	return n, negative, true
}

// in puts what was read before an error.
func in(what string, err *inference.Error) *inference.Error {
	changed := *err
	changed.Message = what + ": " + err.Message
	return &changed
}

// memberOf is an object's member, which must be there.
func (v jsonValue) memberOf(name string) (jsonValue, *inference.Error) {
	m := v.member(name)
	if m.none() {
		return m, internal("attempt to access non-existing object member '%s'", name)
	}
	return m, nil
}

// listOf is an object's member, which must be a list.
func (v jsonValue) listOf(name string) (jsonValue, *inference.Error) {
	m, err := v.memberOf(name)
	if err == nil && m.kind() != '[' {
		err = internal("attempt to access JSON non-array as array")
	}
	return m, err
}

// textOf is an object's member, which must be a text.
func (v jsonValue) textOf(name string) (string, *inference.Error) {
	m, err := v.memberOf(name)
	if err != nil {
		return "", err
	}
	return m.asText()
}
