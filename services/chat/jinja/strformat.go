package jinja

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// format implements str.format. Attributes are looked up by the rules of the sandbox.
func (c *call) format(args []any, kw []keyword) (any, error) {
	p := &braceFormat{rt: c.rt, args: args, kw: kw}
	_, p.escapes = c.self.(markup)
	s, err := p.run(c.text(), 2)
	if err != nil {
		return nil, err
	}
	return like(c.self, s), c.rt.grow(len(s))
}

type braceFormat struct {
	rt      *runtime
	args    []any
	kw      []keyword
	next    int  // number of the next {} field
	auto    bool // {} fields were seen
	manual  bool // {0} fields were seen
	escapes bool
}

// run formats s. depth is the number of levels of nested fields that are still allowed.
func (p *braceFormat) run(s string, depth int) (string, error) {
	if depth == 0 {
		return "", failf("the format string nests replacement fields too deep")
	}
	var out []byte
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			out = append(out, s...)
			break
		}
		out = append(out, s[:i]...)
		if i+1 < len(s) && s[i+1] == s[i] {
			out = append(out, s[i])
			s = s[i+2:]
			continue
		}
		if s[i] == '}' {
			return "", failf("the format string has a single '}'")
		}
		end := fieldEnd(s[i:])
		if end < 0 {
			return "", failf("the format string has a single '{'")
		}
		field, err := p.field(s[i+1:i+end], depth)
		if err != nil {
			return "", err
		}
		out = append(out, field...)
		if int64(len(out)) > p.rt.t.limits.Output {
			return "", p.rt.grow(-1)
		}
		s = s[i+end+1:]
	}
	return string(out), p.rt.step(1 + len(out)>>6)
}

// fieldEnd returns the position of the brace that closes the brace at the start of s. A bracketed
// key may contain braces.
func fieldEnd(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (p *braceFormat) field(s string, depth int) (string, error) {
	name, conversion, format := splitField(s)
	v, err := p.value(name)
	if err != nil {
		return "", err
	}
	if format, err = p.run(format, depth-1+boolInt(!strings.ContainsAny(format, "{}"))); err != nil {
		return "", err
	}
	switch conversion {
	case "":
	case "s":
		v, err = p.rt.str(v)
	case "r":
		v, err = p.rt.repr(v)
	case "a":
		var r string
		r, err = p.rt.repr(v)
		v = asciiOnly(r)
	default:
		err = failf("the format string has an unknown conversion '%s'", conversion)
	}
	if err != nil {
		return "", err
	}
	text, err := p.rt.formatValue(v, format)
	if p.escapes {
		text = escapeText(v, text)
	}
	return text, err
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// splitField splits name!conversion:format.
func splitField(s string) (name, conversion, format string) {
	inBrackets := false
	for i := range len(s) {
		switch {
		case s[i] == '[':
			inBrackets = true
		case s[i] == ']':
			inBrackets = false
		case s[i] == ':' && !inBrackets:
			return s[:i], "", s[i+1:]
		case s[i] == '!' && !inBrackets:
			conversion, format, _ = strings.Cut(s[i+1:], ":")
			if conversion == "" {
				conversion = " "
			}
			return s[:i], conversion, format
		}
	}
	return s, "", ""
}

// value returns the value of a field: an argument, then its attributes and items.
func (p *braceFormat) value(name string) (any, error) {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	v, err := p.argument(name[:end])
	for rest := name[end:]; rest != "" && err == nil; {
		if rest[0] == '.' {
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			attr := rest[1 : end+1]
			if attr == "" {
				return nil, failf("the format string has a replacement field with an empty attribute name")
			}
			fixed := newFixedKey(attr)
			v, err = p.rt.attr(v, &fixed)
			rest = rest[end+1:]
			continue
		}
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 2 {
			return nil, failf("the format string has a replacement field whose key is empty or not in brackets")
		}
		var key any = rest[1:end]
		if n, convErr := strconv.ParseUint(rest[1:end], 10, 31); convErr == nil {
			key = int64(n)
		}
		v, err = p.rt.item(v, key)
		rest = rest[end+1:]
	}
	return v, err
}

func (p *braceFormat) argument(name string) (any, error) {
	i, err := strconv.ParseUint(name, 10, 31)
	switch {
	case name == "":
		p.auto = true
		i = uint64(p.next)
		p.next++
	case err == nil:
		p.manual = true
	default:
		for _, k := range p.kw {
			if k.name == name {
				return k.value, nil
			}
		}
		return nil, failf("the format string names '%s', which is not an argument of format()", name)
	}
	if p.auto && p.manual {
		return nil, failf("the format string mixes {} and {0} fields")
	}
	if i >= uint64(len(p.args)) {
		return nil, failf("the format string needs the argument %d, counted from 0, but format() has only %d positional arguments", i, len(p.args))
	}
	return p.args[i], nil
}

// formatValue implements Python's format(v, spec).
func (rt *runtime) formatValue(v any, format string) (string, error) {
	if format == "" {
		return rt.str(v)
	}
	sp, err := parseSpec(format)
	if err != nil {
		return "", err
	}
	if s, ok := text(v); ok {
		return rt.formatText(sp, s)
	}
	n, ok := toNumber(v)
	if !ok {
		return "", failf("a value of type %s takes no format specification", typeName(v))
	}
	if _, isBool := v.(bool); isBool && sp.kind == 0 && sp.align == 0 && sp.fill == "" {
		sp.kind = 'd'
	}
	sign, prefix, digits, err := rt.formatNumber(sp, n)
	if err != nil {
		return "", err
	}
	if sp.grouping != 0 {
		digits = group(digits, sp)
	}
	if sp.align == '=' {
		fill := sp.fill
		if fill == "0" && sp.grouping != 0 {
			return rt.groupedZeros(sign+prefix, digits, sp)
		}
		digits, err = rt.pad(digits, fill, sp.width-len(sign)-len(prefix)-runeLen(digits), 0)
		return sign + prefix + digits, err
	}
	if sp.align == 0 {
		sp.align = '>'
	}
	return rt.aligned(sp, sign+prefix+digits)
}

func parseSpec(s string) (spec, error) {
	sp := spec{precision: -1, fill: " "}
	if r, size := utf8.DecodeRuneInString(s); len(s) > size && strings.IndexByte("<>=^", s[size]) >= 0 {
		sp.fill, sp.align, s = string(r), s[size], s[size+1:]
	} else if strings.IndexByte("<>=^", s[0]) >= 0 {
		sp.align, s = s[0], s[1:]
	}
	if s != "" && strings.IndexByte("+- ", s[0]) >= 0 {
		sp.plus, sp.blank, s = s[0] == '+', s[0] == ' ', s[1:]
	}
	s = strings.TrimPrefix(s, "z")
	if strings.HasPrefix(s, "#") {
		sp.alt, s = true, s[1:]
	}
	if strings.HasPrefix(s, "0") {
		s = s[1:]
		if sp.align == 0 {
			sp.fill, sp.align, sp.zero = "0", '=', true
		}
	}
	var err error
	if sp.width, s, err = leadingInt(s); err != nil {
		return sp, err
	}
	if s != "" && (s[0] == ',' || s[0] == '_') {
		sp.grouping, s = s[0], s[1:]
	}
	if strings.HasPrefix(s, ".") {
		if !isDigitAt(s, 1) {
			return sp, failf("a format specification has a '.' without a precision")
		}
		if sp.precision, s, err = leadingInt(s[1:]); err != nil {
			return sp, err
		}
	}
	if len(s) > 1 {
		return sp, failf("'%s' is not a valid format specification", s)
	}
	if s != "" {
		sp.kind = s[0]
	}
	return sp, nil
}

func (rt *runtime) formatText(sp spec, s string) (string, error) {
	if sp.kind != 0 && sp.kind != 's' || sp.plus || sp.blank || sp.alt || sp.grouping != 0 ||
		sp.align == '=' && !sp.zero {
		return "", failf("the format specification can't be applied to a string")
	}
	if sp.precision >= 0 {
		s = s[:runeOffset(s, sp.precision)]
	}
	if sp.align == 0 || sp.zero {
		sp.align = '<'
	}
	return rt.aligned(sp, s)
}

func (rt *runtime) aligned(sp spec, s string) (string, error) {
	n := sp.width - runeLen(s)
	switch sp.align {
	case '<':
		return rt.pad(s, sp.fill, 0, n)
	case '^':
		return rt.pad(s, sp.fill, n/2, n-n/2)
	default:
		return rt.pad(s, sp.fill, n, 0)
	}
}

// formatNumber returns the parts of a number before grouping and padding.
func (rt *runtime) formatNumber(sp spec, n number) (sign, prefix, digits string, err error) {
	switch sp.kind {
	case 'b', 'o', 'x', 'X', 'd', 'n', 'c', 0:
		if !n.isFloat {
			return integerParts(sp, n)
		}
		if sp.kind != 0 && sp.kind != 'n' {
			return "", "", "", failf("the format type '%c' needs an integer, not float", sp.kind)
		}
	case 'e', 'E', 'f', 'F', 'g', 'G', '%':
	default:
		return "", "", "", failf("the format type '%c' can't be applied to a number", sp.kind)
	}
	f, ok := n.float()
	if !ok {
		return "", "", "", errOverflow
	}
	if digits, err = numberDigits(sp, f); err != nil {
		return "", "", "", err
	}
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	} else {
		sign = sp.sign()
	}
	return sign, "", digits, nil
}

func (sp *spec) sign() string {
	switch {
	case sp.plus:
		return "+"
	case sp.blank:
		return " "
	}
	return ""
}

func numberDigits(sp spec, f float64) (string, error) {
	switch {
	case sp.kind == 0 && sp.precision < 0:
		return floatRepr(f), nil
	case sp.kind == 0 && !math.IsNaN(f) && !math.IsInf(f, 0): // without a type, a float is written like g, but always with a fraction or an exponent
		if sp.precision > maxPrecision {
			return "", failf("the format string has a precision above the maximum of %d", maxPrecision)
		}
		precision := max(sp.precision, 1)
		s := generalFloat(f, precision, precision-1, sp.alt)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s, nil
	case sp.kind == '%':
		sp.kind = 'f'
		s, err := floatDigits(sp, f*100)
		return s + "%", err
	case sp.kind == 'n' || sp.kind == 0:
		sp.kind = 'g'
	}
	return floatDigits(sp, f)
}

func integerParts(sp spec, n number) (sign, prefix, digits string, err error) {
	if sp.precision >= 0 {
		return "", "", "", failf("a format specification of an integer can't have a precision")
	}
	if sp.kind == 'c' {
		v, err := fromBig(n.bigInt())
		if err == nil {
			digits, err = convertChar(v)
		}
		return "", "", digits, err
	}
	base := map[byte]int{'b': 2, 'o': 8, 'x': 16, 'X': 16}[sp.kind]
	if base == 0 {
		base = 10
	} else if sp.alt {
		prefix = "0" + string(sp.kind)
	}
	digits = n.bigInt().Text(base)
	if base == 10 && len(digits) > maxDigits {
		return "", "", "", &LimitError{"integer digits", maxDigits}
	}
	sign = sp.sign()
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	if sp.kind == 'X' {
		digits = strings.ToUpper(digits)
	}
	return sign, prefix, digits, nil
}

// group inserts separators into the integer part of a number.
func group(s string, sp spec) string {
	end := 0
	for end < len(s) && (isDigitAt(s, end) || sp.kind|0x20 == 'x' && strings.IndexByte("abcdefABCDEF", s[end]) >= 0) {
		end++
	}
	size := 3
	if sp.kind == 'b' || sp.kind == 'o' || sp.kind|0x20 == 'x' {
		size = 4
	}
	var b strings.Builder
	for i := range end {
		if i > 0 && (end-i)%size == 0 {
			b.WriteByte(sp.grouping)
		}
		b.WriteByte(s[i])
	}
	return b.String() + s[end:]
}

// groupedZeros pads a grouped number with zeros, which are grouped too.
func (rt *runtime) groupedZeros(head, digits string, sp spec) (string, error) {
	width := sp.width - len(head)
	plain := strings.ReplaceAll(digits, string(sp.grouping), "")
	if err := rt.grow(max(width, 0)); err != nil {
		return "", err
	}
	for len(digits) < width {
		zeros := max(1, (width-len(digits))*3/4)
		plain = repeatText("0", zeros) + plain
		digits = group(plain, sp)
	}
	return head + digits, nil
}
