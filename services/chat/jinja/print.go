package jinja

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// str implements Python's str().
func (rt *runtime) str(v any) (string, error) {
	if s, ok := text(v); ok {
		return s, nil
	}
	b, err := rt.appendStr(nil, v)
	if err != nil {
		return "", err
	}
	return string(b), rt.grow(len(b))
}

func (rt *runtime) repr(v any) (string, error) {
	b, err := rt.appendRepr(nil, v, 0)
	if err != nil {
		return "", err
	}
	return string(b), rt.grow(len(b))
}

func (rt *runtime) appendStr(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return append(b, v...), nil
	case markup:
		return append(b, v...), nil
	case *undefined:
		return b, nil
	}
	return rt.appendRepr(b, v, 0)
}

// appendRepr implements Python's repr(). Functions and iterators print without Python's address.
func (rt *runtime) appendRepr(b []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "None"...), nil
	case bool:
		if v {
			return append(b, "True"...), nil
		}
		return append(b, "False"...), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case *big.Int:
		return appendBig(b, v)
	case float64:
		return append(b, floatRepr(v)...), nil
	case string:
		return appendQuoted(b, v), nil
	case markup:
		return append(appendQuoted(append(b, "Markup("...), string(v)), ')'), nil
	case *undefined:
		return append(b, "Undefined"...), nil
	}
	if depth >= rt.t.limits.Depth {
		return nil, &LimitError{"depth", int64(rt.t.limits.Depth)}
	}
	return rt.appendReprOf(b, v, depth+1)
}

func (rt *runtime) appendReprOf(b []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case *List:
		b, err := rt.appendItems(append(b, '['), len(v.items), func(i int) any { return v.items[i] }, depth)
		return append(b, ']'), err
	case *Tuple:
		end := ")"
		if len(v.items) == 1 {
			end = ",)"
		}
		b, err := rt.appendItems(append(b, '('), len(v.items), func(i int) any { return v.items[i] }, depth)
		return append(b, end...), err
	case *dictView:
		b, err := rt.appendItems(append(b, v.kind.String()+"(["...), v.d.Len(), v.at, depth)
		return append(b, "])"...), err
	case *Dict:
		return rt.appendDict(b, v, depth)
	case *namespace:
		b, err := rt.appendDict(append(b, "<Namespace "...), v.attrs, depth)
		return append(b, '>'), err
	case *rangeValue:
		b = append(b, "range("...)
		b = strconv.AppendInt(b, v.start, 10)
		b = strconv.AppendInt(append(b, ", "...), v.stop, 10)
		if v.step != 1 {
			b = strconv.AppendInt(append(b, ", "...), v.step, 10)
		}
		return append(b, ')'), nil
	case *loopState:
		rt.buf = slices.Clip(rt.buf) // b may share the buffer's memory, and counting the items can run parts of the template
		n, err := v.length(rt)
		b = strconv.AppendInt(append(b, "<LoopContext "...), int64(v.index0+1), 10)
		b = strconv.AppendInt(append(b, '/'), int64(n), 10)
		return append(b, '>'), err
	case *macro:
		if v.def.name == "" {
			return append(b, "<Macro anonymous>"...), nil
		}
		return append(appendQuoted(append(b, "<Macro "...), v.def.name), '>'), nil
	case *builtin:
		return append(b, "<function "+v.name+">"...), nil
	}
	return append(b, "<"+typeName(v)+" object>"...), nil
}

// appendItems appends n comma-separated items. On error it returns no text.
func (rt *runtime) appendItems(b []byte, n int, at func(int) any, depth int) ([]byte, error) {
	if err := rt.step(n); err != nil {
		return nil, err
	}
	var err error
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		if b, err = rt.appendRepr(b, at(i), depth); err != nil {
			return nil, err
		}
		if int64(len(b)) > rt.t.limits.Output {
			return nil, rt.grow(-1)
		}
	}
	return b, nil
}

func (rt *runtime) appendDict(b []byte, d *Dict, depth int) ([]byte, error) {
	b = append(b, '{')
	if err := rt.step(d.Len()); err != nil {
		return nil, err
	}
	var err error
	for i := range d.entries {
		if i > 0 {
			b = append(b, ", "...)
		}
		if b, err = rt.appendRepr(b, d.entries[i].key, depth); err != nil {
			return nil, err
		}
		if b, err = rt.appendRepr(append(b, ": "...), d.entries[i].value, depth); err != nil {
			return nil, err
		}
		if int64(len(b)) > rt.t.limits.Output {
			return nil, rt.grow(-1)
		}
	}
	return append(b, '}'), nil
}

// maxDigits is the maximum length of an integer that Python converts to or from a string.
const maxDigits = 4300

func appendBig(b []byte, v *big.Int) ([]byte, error) {
	s := v.String()
	if len(strings.TrimPrefix(s, "-")) > maxDigits {
		return nil, &LimitError{"integer digits", maxDigits}
	}
	return append(b, s...), nil
}

// floatRepr formats f with the fewest digits that read back as f, in Python's notation.
func floatRepr(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// appendQuoted implements repr of a string.
func appendQuoted(b []byte, s string) []byte {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b = append(b, quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == ' ' || unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		default:
			b = appendHex(b, r)
		}
	}
	return append(b, quote)
}

// appendHex writes a code point with Python's escapes: \x1f, \u200b or \U000e0001.
func appendHex(b []byte, r rune) []byte {
	kind, width := byte('x'), 2
	if r > 0xffff {
		kind, width = 'U', 8
	} else if r > 0xff {
		kind, width = 'u', 4
	}
	hex := strconv.FormatInt(int64(r), 16)
	return append(append(b, '\\', kind), strings.Repeat("0", width-len(hex))+hex...)
}

// briefRepr formats a key for an error message.
func briefRepr(v any) string {
	switch v := v.(type) {
	case string:
		if len(v) > 80 {
			v = strings.ToValidUTF8(v[:80], "") + "…"
		}
		return string(appendQuoted(nil, v))
	case int64:
		return strconv.FormatInt(v, 10)
	default:
		return "of type " + typeName(v)
	}
}
