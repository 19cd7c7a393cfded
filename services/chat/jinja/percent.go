package jinja

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// percent implements format % values, Python's printf-style formatting.
func (f *frame) percent(self any, format string, values any) (any, error) {
	p := &percentFormat{rt: f.rt, format: format, values: []any{values}}
	if t, ok := values.(*Tuple); ok {
		p.values = t.items
	}
	if _, ok := self.(markup); ok {
		p.escapes = true
	}
	switch v := values.(type) {
	case *Dict:
		p.mapping = v
	case *List, *undefined: // Python accepts any value with items as a mapping, so unused values are no error
		p.loose = true
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	if p.next < len(p.values) && p.mapping == nil && !p.loose {
		return nil, failf("not all arguments were converted by the %%-format string")
	}
	return like(self, string(p.out)), f.rt.grow(len(p.out))
}

type percentFormat struct {
	rt      *runtime
	format  string
	values  []any
	next    int
	mapping *Dict
	loose   bool
	escapes bool
	out     []byte
}

// spec is one conversion: %[flags][width][.precision]kind, or a format specification of str.format.
type spec struct {
	minus, plus, blank, zero, alt bool
	width, precision              int // a precision of -1 means none
	kind                          byte

	// The field fill and the following fields are set by str.format only.
	fill     string
	align    byte
	grouping byte
}

func (p *percentFormat) run() error {
	s := p.format
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			p.out = append(p.out, s...)
			return nil
		}
		p.out = append(p.out, s[:i]...)
		if int64(len(p.out)) > p.rt.t.limits.Output {
			return p.rt.grow(-1)
		}
		if err := p.rt.step(1); err != nil {
			return err
		}
		var err error
		if s, err = p.conversion(s[i+1:]); err != nil {
			return err
		}
	}
}

func (p *percentFormat) take() (any, error) {
	if p.next >= len(p.values) {
		return nil, failf("not enough arguments for the %%-format string")
	}
	p.next++
	return p.values[p.next-1], nil
}

// conversion formats the conversion after a percent sign and returns the rest of s.
func (p *percentFormat) conversion(s string) (string, error) {
	keyed := missing
	if strings.HasPrefix(s, "(") {
		key, rest, err := parenthesized(s)
		if err != nil {
			return "", err
		}
		if p.mapping == nil {
			return "", failf("the %%-format string names a key, so that its argument must be a mapping")
		}
		v, ok := p.mapping.Get(key)
		if !ok {
			return "", failf("the %%-format string names the key '%s', which is not in the mapping", key)
		}
		keyed, s = v, rest
	}
	sp := spec{precision: -1}
	s = sp.flags(s)
	var err error
	if sp.width, s, err = p.number(s); err != nil {
		return "", err
	}
	if sp.width < 0 {
		sp.minus, sp.width = true, -sp.width
	}
	if strings.HasPrefix(s, ".") {
		if sp.precision, s, err = p.number(s[1:]); err != nil {
			return "", err
		}
		sp.precision = max(sp.precision, 0)
	}
	s = strings.TrimLeft(s, "hlL")
	if s == "" {
		return "", failf("the %%-format string ends inside a conversion")
	}
	sp.kind = s[0]
	s = s[1:]
	if sp.kind == '%' {
		p.out = append(p.out, '%')
		return s, nil
	}
	v := keyed
	if v == missing {
		if v, err = p.take(); err != nil {
			return "", err
		}
	}
	return s, p.convert(sp, v)
}

func parenthesized(s string) (key, rest string, err error) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
			if depth == 0 {
				return s[1:i], s[i+1:], nil
			}
		}
	}
	return "", "", failf("the %%-format string has an unclosed (key): add ')'")
}

func (sp *spec) flags(s string) string {
	for ; s != ""; s = s[1:] {
		switch s[0] {
		case '-':
			sp.minus = true
		case '+':
			sp.plus = true
		case ' ':
			sp.blank = true
		case '0':
			sp.zero = true
		case '#':
			sp.alt = true
		default:
			return s
		}
	}
	return s
}

// number reads a width or precision: digits, or * for the next value.
func (p *percentFormat) number(s string) (int, string, error) {
	if strings.HasPrefix(s, "*") {
		v, err := p.take()
		if err != nil {
			return 0, "", err
		}
		n, err := wantInt("the width or precision * of the %-format string", v, 0)
		return n, s[1:], err
	}
	n, rest, err := leadingInt(s)
	return n, rest, err
}

func leadingInt(s string) (int, string, error) {
	end := 0
	for isDigitAt(s, end) {
		end++
	}
	if end == 0 {
		return 0, s, nil
	}
	n, err := strconv.ParseInt(s[:end], 10, 32)
	if err != nil {
		return 0, "", failf("the format string has a width or precision that is too large")
	}
	return int(n), s[end:], nil
}

func (p *percentFormat) convert(sp spec, v any) error {
	var s string
	var err error
	switch sp.kind {
	case 's', 'r', 'a':
		s, err = p.convertText(sp, v)
	case 'c':
		s, err = convertChar(v)
	case 'd', 'i', 'u', 'x', 'X', 'o':
		s, err = p.convertInt(sp, v)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		var f float64
		if f, err = toFloat(v); err == nil {
			s, err = p.rt.formatFloat(sp, f)
		}
	default:
		err = failf("the %%-format string has an unknown conversion '%c'", sp.kind)
	}
	if err != nil {
		return err
	}
	if sp.minus {
		s, err = p.rt.pad(s, " ", 0, sp.width-runeLen(s))
	} else {
		s, err = p.rt.pad(s, " ", sp.width-runeLen(s), 0)
	}
	p.out = append(p.out, s...)
	return err
}

func (p *percentFormat) convertText(sp spec, v any) (string, error) {
	var s string
	var err error
	if sp.kind == 's' {
		s, err = p.rt.str(v)
	} else {
		s, err = p.rt.repr(v)
	}
	if sp.kind == 'a' {
		s = asciiOnly(s)
	}
	if p.escapes {
		s = escapeText(v, s)
	}
	if sp.precision >= 0 {
		s = s[:runeOffset(s, sp.precision)]
	}
	return s, err
}

func asciiOnly(s string) string {
	if isASCII(s) {
		return s
	}
	var b []byte
	for _, r := range s {
		if r < utf8.RuneSelf {
			b = append(b, byte(r))
		} else {
			b = appendHex(b, r)
		}
	}
	return string(b)
}

func convertChar(v any) (string, error) {
	if s, ok := text(v); ok && runeLen(s) == 1 {
		return s, nil
	}
	n, ok := toInt(v)
	if !ok || n < 0 || n > utf8.MaxRune {
		return "", failf("the format type 'c' needs a character or the number of a character")
	}
	return string(rune(n)), nil
}

func (p *percentFormat) convertInt(sp spec, v any) (string, error) {
	n, ok := toNumber(v)
	if u, isUndefined := v.(*undefined); isUndefined {
		return "", u.err()
	}
	if !ok {
		return "", failf("the conversion %%%c needs a number, not %s", sp.kind, typeName(v))
	}
	base := map[byte]int{'x': 16, 'X': 16, 'o': 8}[sp.kind]
	if base == 0 {
		base = 10
		if n.isFloat {
			i, err := floatToInt(n.f)
			if err != nil {
				return "", err
			}
			n, _ = toNumber(i)
		}
	}
	if n.isFloat {
		return "", failf("the conversion %%%c needs an integer, not float", sp.kind)
	}
	digits := n.bigInt().Text(base)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	if base == 10 && len(digits) > maxDigits {
		return "", &LimitError{"integer digits", maxDigits}
	}
	prefix := ""
	if sp.alt && base != 10 {
		prefix = "0" + string(sp.kind|0x20)
	}
	if sp.kind == 'X' {
		digits, prefix = strings.ToUpper(digits), strings.ToUpper(prefix)
	}
	digits, err := p.rt.pad(digits, "0", sp.precision-len(digits), 0)
	if err != nil {
		return "", err
	}
	return p.rt.signed(sp, sign, prefix, digits)
}

// signed puts sign and prefix before digits, and pads with zeros up to the width if the flags
// require it.
func (rt *runtime) signed(sp spec, sign, prefix, digits string) (string, error) {
	if sign == "" && sp.plus {
		sign = "+"
	} else if sign == "" && sp.blank {
		sign = " "
	}
	if sp.zero && !sp.minus {
		var err error
		digits, err = rt.pad(digits, "0", sp.width-len(sign)-len(prefix)-len(digits), 0)
		if err != nil {
			return "", err
		}
	}
	return sign + prefix + digits, nil
}

func toFloat(v any) (float64, error) {
	if u, ok := v.(*undefined); ok {
		return 0, u.err()
	}
	n, ok := toNumber(v)
	if !ok {
		return 0, failf("the %%-format string needs a number, not %s", typeName(v))
	}
	f, ok := n.float()
	if !ok {
		return 0, errOverflow
	}
	return f, nil
}

// maxPrecision is far above the number of digits of a float64.
const maxPrecision = 2000

func (rt *runtime) formatFloat(sp spec, f float64) (string, error) {
	digits, err := floatDigits(sp, f)
	if err != nil {
		return "", err
	}
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	return rt.signed(sp, sign, "", digits)
}

// floatDigits formats f without padding.
func floatDigits(sp spec, f float64) (string, error) {
	precision := sp.precision
	if precision < 0 {
		precision = 6
	}
	if precision > maxPrecision {
		return "", failf("the format string has a precision above the maximum of %d", maxPrecision)
	}
	var s string
	switch kind := sp.kind | 0x20; {
	case math.IsNaN(f):
		s = "nan"
	case math.IsInf(f, 0):
		s = strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64), "+")
		s = strings.ToLower(s)
	case kind == 'g':
		s = generalFloat(f, max(precision, 1), max(precision, 1), sp.alt)
	default:
		s = strconv.FormatFloat(f, kind, precision, 64)
		if sp.alt && precision == 0 {
			s += "."
		}
	}
	if sp.kind < 'a' {
		s = strings.ToUpper(s)
	}
	return s, nil
}

// generalFloat implements C's %g, with an exponent from 10**limit on.
func generalFloat(f float64, precision, limit int, keepZeros bool) string {
	exp := strconv.FormatFloat(f, 'e', precision-1, 64)
	mantissa, power, _ := strings.Cut(exp, "e")
	x, _ := strconv.Atoi(power)
	if x < -4 || x >= limit {
		if !keepZeros {
			mantissa = trimZeros(mantissa)
		}
		return mantissa + "e" + power
	}
	s := strconv.FormatFloat(f, 'f', precision-1-x, 64)
	if !keepZeros {
		s = trimZeros(s)
	}
	return s
}

func trimZeros(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
