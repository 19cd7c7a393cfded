package jinja

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth is the maximum nesting of arrays and objects for DecodeJSON.
const maxJSONDepth = 500

// DecodeJSON reads one JSON value. It keeps what templates can observe: the order of keys, and
// whether a number is an integer. DecodeJSON returns nil, bool, int64, *big.Int, float64, string,
// *List or *Dict. Of duplicate keys the last value applies, at the position of the first. Lone
// escaped surrogates become U+FFFD. DecodeJSON returns an error for invalid JSON, data after the
// value, more than 500 levels, and integers of more than 4300 digits.
func DecodeJSON(data []byte) (any, error) {
	if !json.Valid(data) {
		return nil, fmt.Errorf("decode JSON: %w", json.Unmarshal(data, new(any)))
	}
	r := jsonReader{text: string(data)}
	v, err := r.value(maxJSONDepth)
	if err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	return v, nil
}

// jsonReader reads a text that is valid JSON. Its strings share the text's memory.
type jsonReader struct {
	text string
	i    int
}

// next skips blanks, commas and colons, and returns the next byte. The text is valid, so their
// positions need no check.
func (r *jsonReader) next() byte {
	for strings.IndexByte(" \t\r\n,:", r.text[r.i]) >= 0 {
		r.i++
	}
	return r.text[r.i]
}

func (r *jsonReader) value(depth int) (any, error) {
	switch c := r.next(); c {
	case '{', '[':
		if depth == 0 {
			return nil, fmt.Errorf("the JSON text has more than %d levels of arrays and objects", maxJSONDepth)
		}
		r.i++
		if c == '[' {
			return r.array(depth - 1)
		}
		return r.object(depth - 1)
	case '"':
		return r.string(), nil
	}
	start := r.i
	for r.i < len(r.text) && strings.IndexByte(" \t\r\n,]}", r.text[r.i]) < 0 {
		r.i++
	}
	word := r.text[start:r.i]
	if v, ok := jsonWords[word]; ok {
		return v, nil
	}
	return decodeNumber(word)
}

var jsonWords = map[string]any{"null": nil, "true": true, "false": false}

func (r *jsonReader) array(depth int) (any, error) {
	l := &List{}
	for r.next() != ']' {
		v, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, v)
	}
	r.i++
	return l, nil
}

func (r *jsonReader) object(depth int) (any, error) {
	d := NewDict()
	for r.next() != '}' {
		var key any = r.string()
		v, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		d.put(key, key, v)
	}
	r.i++
	return d, nil
}

// string reads the string that starts here.
func (r *jsonReader) string() string {
	start, escaped := r.i, false
	for r.i++; r.text[r.i] != '"'; r.i++ {
		if r.text[r.i] == '\\' {
			r.i++
			escaped = true
		}
	}
	r.i++
	if s := r.text[start+1 : r.i-1]; !escaped && utf8.ValidString(s) {
		return s
	}
	var s string
	_ = json.Unmarshal([]byte(r.text[start:r.i]), &s) // valid, because the whole text is
	return s
}

func decodeNumber(s string) (any, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !isRangeError(err) {
			return nil, err
		}
		return f, nil
	}
	if len(s) > maxDigits {
		return nil, fmt.Errorf("the JSON text has an integer of %d digits, which is too long", len(s))
	}
	v, ok := bigFromText(s, 10)
	if !ok {
		return nil, fmt.Errorf("'%s' is not a JSON number", s)
	}
	return v, nil
}

// jsonWriter implements the tojson filter of transformers: Python's json.dumps.
type jsonWriter struct {
	rt          *runtime
	ascii, sort bool
	multiline   bool
	indent      string
	comma       string
	colon       string
	b           []byte // the render's output; the JSON after start is cut off at the end
	start       int
}

func filterToJSON(c *call) (any, error) {
	var p [4]any
	if err := c.bind("tojson", 0, p[:], "ensure_ascii", "indent", "separators", "sort_keys"); err != nil {
		return nil, err
	}
	w := &jsonWriter{rt: c.rt, comma: ", ", colon: ": ", b: c.rt.buf, start: len(c.rt.buf)}
	w.ascii = p[0] != missing && truthy(p[0])
	w.sort = p[3] != missing && truthy(p[3])
	if given(p[1]) {
		if err := w.setIndent(p[1]); err != nil {
			return nil, err
		}
	}
	if given(p[2]) {
		if err := w.setSeparators(p[2]); err != nil {
			return nil, err
		}
	}
	if err := w.value(c.self, 0); err != nil {
		return nil, err
	}
	c.rt.buf = w.b
	text := c.rt.cut(w.start)
	return text, c.rt.grow(len(text))
}

func (w *jsonWriter) setIndent(v any) error {
	w.multiline, w.comma = true, ","
	if s, ok := text(v); ok {
		w.indent = s
		return nil
	}
	n, err := wantInt("the argument indent", v, 0)
	if err == nil {
		w.indent, err = w.rt.pad("", " ", n, 0)
	}
	return err
}

func (w *jsonWriter) setSeparators(v any) error {
	parts, err := w.rt.collect(v)
	if err != nil {
		return err
	}
	if len(parts) != 2 {
		return failf("the argument separators of tojson must be a pair, not %d values", len(parts))
	}
	if w.comma, err = wantText("each of the separators of tojson", parts[0], ""); err != nil {
		return err
	}
	w.colon, err = wantText("each of the separators of tojson", parts[1], "")
	return err
}

func (w *jsonWriter) value(v any, depth int) error {
	switch v := v.(type) {
	case nil:
		w.b = append(w.b, "null"...)
	case bool:
		w.b = strconv.AppendBool(w.b, v)
	case string:
		w.b = appendJSONString(w.b, v, w.ascii)
	case markup:
		w.b = appendJSONString(w.b, string(v), w.ascii)
	case int64:
		w.b = strconv.AppendInt(w.b, v, 10)
	case *big.Int:
		var err error
		w.b, err = appendBig(w.b, v)
		return err
	case float64:
		w.b = append(w.b, jsonFloat(v)...)
	case *List:
		return w.array(v.items, depth)
	case *Tuple:
		return w.array(v.items, depth)
	case *Dict:
		return w.object(v, depth)
	case *undefined:
		return failf("an undefined value can't be written as JSON: %s", v.problem())
	default:
		return failf("a value of type %s can't be written as JSON", typeName(v))
	}
	return nil
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.Replace(floatRepr(f), "inf", "Infinity", 1)
	}
	return floatRepr(f)
}

// open checks the limits before an array or object of n elements.
func (w *jsonWriter) open(c byte, n, depth int) error {
	w.b = append(w.b, c)
	if depth >= w.rt.t.limits.Depth {
		return &LimitError{"depth", int64(w.rt.t.limits.Depth)}
	}
	return w.rt.step(1 + n)
}

// newline starts a line. It checks the size before it allocates memory.
func (w *jsonWriter) newline(depth int) error {
	limit := w.rt.t.limits.Output
	if int64(len(w.b)-w.start) > limit || int64(depth*len(w.indent)) > limit {
		return w.rt.grow(-1)
	}
	if !w.multiline {
		return nil
	}
	w.b = append(w.b, '\n')
	for range depth {
		w.b = append(w.b, w.indent...)
	}
	return nil
}

func (w *jsonWriter) array(items []any, depth int) error {
	if err := w.open('[', len(items), depth); err != nil {
		return err
	}
	for i, item := range items {
		if i > 0 {
			w.b = append(w.b, w.comma...)
		}
		if err := w.newline(depth + 1); err != nil {
			return err
		}
		if err := w.value(item, depth+1); err != nil {
			return err
		}
	}
	if len(items) > 0 {
		if err := w.newline(depth); err != nil {
			return err
		}
	}
	w.b = append(w.b, ']')
	return nil
}

func (w *jsonWriter) object(d *Dict, depth int) error {
	if err := w.open('{', d.Len(), depth); err != nil {
		return err
	}
	entries := d.entries
	if w.sort {
		var err error
		if entries, err = w.rt.sortedEntries(entries); err != nil {
			return err
		}
	}
	for i, e := range entries {
		if i > 0 {
			w.b = append(w.b, w.comma...)
		}
		if err := w.newline(depth + 1); err != nil {
			return err
		}
		if err := w.key(e.key); err != nil {
			return err
		}
		w.b = append(w.b, w.colon...)
		if err := w.value(e.value, depth+1); err != nil {
			return err
		}
	}
	if len(entries) > 0 {
		if err := w.newline(depth); err != nil {
			return err
		}
	}
	w.b = append(w.b, '}')
	return nil
}

// key writes a key as a string, as JSON requires.
func (w *jsonWriter) key(k any) error {
	switch k.(type) {
	case string, markup:
		return w.value(k, 0)
	case nil, bool, int64, *big.Int, float64:
		w.b = append(w.b, '"')
		err := w.value(k, 0)
		w.b = append(w.b, '"')
		return err
	}
	return failf("JSON keys can't be of type %s", typeName(k))
}

func appendJSONString(b []byte, s string, ascii bool) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && (c < utf8.RuneSelf || !ascii) && (c != 0x7f || !ascii) {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		size := 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			b = appendUTF16(b, r)
		}
		i += size
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

func appendUTF16(b []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		return fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
	}
	return fmt.Appendf(b, `\u%04x`, r)
}
