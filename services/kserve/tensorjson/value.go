package tensorjson

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/trident-inference/trident/services/inference"
)

// exactPowers are the powers of ten that a float64 represents exactly.
var exactPowers = [...]float64{ //nolint:gochecknoglobals // a table
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// parseFloat returns the float64 nearest to a number whose grammar has been checked,
// or infinity if it is too large.
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

// exactFloat computes an unsigned number if that needs only one rounding: the number
// must be an integer below 2^53, multiplied or divided by an exact power of ten.
// exactFloat returns false for other numbers.
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

// Value is a value in a document. The zero value represents a missing value.
type Value struct {
	in       *Document
	from, to int
}

// Root returns the document's one value.
func (d *Document) Root() Value {
	at := afterBlank(d.text, len(d.text)-len(bytes.TrimPrefix(d.text, []byte("\ufeff"))))
	return Value{d, at, d.end(at)}
}

// end returns the end of the value that starts at the given position.
func (d *Document) end(at int) int {
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

// scalar reports whether a byte belongs to a number or a literal.
func scalar(b byte) bool {
	return b > ' ' && b != ',' && b != ']' && b != '}' && b != 0
}

func (d *Document) endOfString(at int) int {
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

// None reports whether the value is missing.
func (v Value) None() bool { return v.in == nil }

// Kind returns the value's first byte, or 0 for a missing value.
func (v Value) Kind() byte {
	if v.None() {
		return 0
	}
	return v.in.text[v.from]
}

// Raw returns the value's JSON text. The value must not be missing.
func (v Value) Raw() []byte { return v.in.text[v.from:v.to] }

// Items yields the values of a list. For other values it yields nothing.
func (v Value) Items(yield func(Value) bool) {
	if v.Kind() != '[' {
		return
	}
	for at := afterBlank(v.in.text, v.from+1); v.in.text[at] != ']'; {
		item := Value{v.in, at, v.in.end(at)}
		if !yield(item) {
			return
		}
		at = v.in.next(item.to)
	}
}

// next returns the start of the value after one that ends at the given position, or
// the end of the list or object.
func (d *Document) next(at int) int {
	at = afterBlank(d.text, at)
	if d.text[at] == ',' {
		at = afterBlank(d.text, at+1)
	}
	return at
}

// Flat yields the elements of nested lists at any depth. If the value isn't a list,
// Flat yields the value itself.
func (v Value) Flat(yield func(Value) bool) {
	for at := v.from; at < v.to; {
		switch v.in.text[at] {
		case '[', ']', ',', ' ', '\n', '\r', '\t':
			at++
			continue
		}
		item := Value{v.in, at, v.in.end(at)}
		if !yield(item) {
			return
		}
		at = item.to
	}
}

// Len returns the number of values in a list, and 1 for other values.
func (v Value) Len() int64 {
	if v.Kind() != '[' {
		return 1
	}
	var n int64
	for range v.Items {
		n++
	}
	return n
}

// Members yields the names of an object, which are strings, with their values. For
// other values it yields nothing.
func (v Value) Members(yield func(name, value Value) bool) {
	if v.Kind() != '{' {
		return
	}
	for at := afterBlank(v.in.text, v.from+1); v.in.text[at] != '}'; {
		name := Value{v.in, at, v.in.end(at)}
		at = afterBlank(v.in.text, afterBlank(v.in.text, name.to)+1)
		value := Value{v.in, at, v.in.end(at)}
		if !yield(name, value) {
			return
		}
		at = v.in.next(value.to)
	}
}

// Member returns the first member with this name, or a missing value.
func (v Value) Member(name string) Value {
	for n, value := range v.Members {
		if n.is(name) {
			return value
		}
	}
	return Value{}
}

// is reports whether the string equals s.
func (v Value) is(s string) bool {
	inner := v.in.text[v.from+1 : v.to-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == s
	}
	return string(appendUnescaped(nil, inner)) == s
}

// AppendUnquoted appends the content of a JSON string, without quotes and escapes.
func (v Value) AppendUnquoted(to []byte) []byte {
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
			case r >= lowSurrogate && r < noSurrogate: // kept as it is: strings may contain any bytes
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

// Text decodes a string. For a value of another type it returns tritonserver's error,
// as do Bool, Uint64, Int64 and Float64.
func (v Value) Text() (string, *inference.Error) {
	if v.Kind() != '"' {
		return "", Internal("attempt to access JSON non-string as string")
	}
	return string(v.AppendUnquoted(nil)), nil
}

// Bool decodes true or false.
func (v Value) Bool() (bool, *inference.Error) {
	switch v.Kind() {
	case 't':
		return true, nil
	case 'f':
		return false, nil
	}
	return false, Internal("attempt to access JSON non-boolean as boolean")
}

// Uint64 decodes an integer without a fraction or an exponent, from 0 to 2^64-1.
func (v Value) Uint64() (uint64, *inference.Error) {
	if !v.None() {
		if n, negative, ok := wholeNumber(v.Raw()); ok && (!negative || n == 0) {
			return n, nil
		}
	}
	return 0, Internal("attempt to access JSON non-unsigned-integer as unsigned-integer")
}

// Int64 decodes an integer without a fraction or an exponent, from -2^63 to 2^63-1.
func (v Value) Int64() (int64, *inference.Error) {
	if !v.None() {
		if n, negative, ok := wholeNumber(v.Raw()); ok {
			switch {
			case negative && n <= 1<<63:
				return -int64(n), nil
			case !negative && n <= math.MaxInt64:
				return int64(n), nil
			}
		}
	}
	return 0, Internal("attempt to access JSON non-signed-integer as signed-integer")
}

// Float64 decodes any number.
func (v Value) Float64() (float64, *inference.Error) {
	if !v.IsNumber() {
		return 0, Internal("attempt to access JSON non-number as double")
	}
	if raw := v.Raw(); string(raw) != "-0" {
		return parseFloat(raw), nil
	}
	return 0, nil // an integer: zero has no sign
}

// IsNumber reports whether the value is a number, including NaN and Infinity.
func (v Value) IsNumber() bool {
	switch b := v.Kind(); b {
	case '-', 'N', 'I':
		return true
	default:
		return b-'0' <= 9
	}
}

// wholeNumber parses a number of digits only. It reports false if the number doesn't
// fit.
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

// Within prefixes the message of an error with the part of the request that was being
// read.
func Within(what string, err *inference.Error) *inference.Error {
	changed := *err
	changed.Message = what + ": " + err.Message
	return &changed
}

// RequiredMember returns a member of an object, which must exist.
func (v Value) RequiredMember(name string) (Value, *inference.Error) {
	m := v.Member(name)
	if m.None() {
		return m, Internal("attempt to access non-existing object member '%s'", name)
	}
	return m, nil
}

// ListMember returns a member of an object, which must be a list.
func (v Value) ListMember(name string) (Value, *inference.Error) {
	m, err := v.RequiredMember(name)
	if err == nil && m.Kind() != '[' {
		err = Internal("attempt to access JSON non-array as array")
	}
	return m, err
}

// StringMember decodes a member of an object, which must be a string.
func (v Value) StringMember(name string) (string, *inference.Error) {
	m, err := v.RequiredMember(name)
	if err != nil {
		return "", err
	}
	return m.Text()
}
