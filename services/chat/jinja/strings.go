package jinja

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func runeLen(s string) int { return utf8.RuneCountInString(s) }

// runeOffset returns the byte offset of code point n, or the length of s if it has fewer.
func runeOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

func repeatText(s string, n int) string {
	if n <= 0 {
		return ""
	}
	return strings.Repeat(s, n)
}

// isSpace implements Python's str.isspace for one character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func isLineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// splitLines implements Python's str.splitlines.
func splitLines(s string, keepEnds bool) []string {
	var lines []string
	for s != "" {
		i := strings.IndexFunc(s, isLineEnd)
		if i < 0 {
			return append(lines, s)
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			size = 2
		}
		end := i
		if keepEnds {
			end = i + size
		}
		lines = append(lines, s[:end])
		s = s[i+size:]
	}
	return lines
}

// splitSpace implements str.split without a separator: at most limit cuts, or all if limit is
// negative.
func splitSpace(s string, limit int) []string {
	var parts []string
	s = strings.TrimLeftFunc(s, isSpace)
	for s != "" {
		i := strings.IndexFunc(s, isSpace)
		if i < 0 || limit >= 0 && len(parts) == limit {
			return append(parts, s)
		}
		parts = append(parts, s[:i])
		s = strings.TrimLeftFunc(s[i:], isSpace)
	}
	return parts
}

// rsplitSpace implements str.rsplit without a separator.
func rsplitSpace(s string, limit int) []string {
	var parts []string
	s = strings.TrimRightFunc(s, isSpace)
	for s != "" {
		i := strings.LastIndexFunc(s, isSpace)
		if i < 0 || limit >= 0 && len(parts) == limit {
			parts = append(parts, s)
			break
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		parts = append(parts, s[i+size:])
		s = strings.TrimRightFunc(s[:i], isSpace)
	}
	reverse(parts)
	return parts
}

func reverse[T any](list []T) {
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
}

// rsplit implements str.rsplit with a separator that isn't empty.
func rsplit(s, sep string, limit int) []string {
	var parts []string
	for limit < 0 || len(parts) < limit {
		i := strings.LastIndex(s, sep)
		if i < 0 {
			break
		}
		parts = append(parts, s[i+len(sep):])
		s = s[:i]
	}
	parts = append(parts, s)
	reverse(parts)
	return parts
}

// pad returns s between left and right copies of fill.
func (rt *runtime) pad(s, fill string, left, right int) (string, error) {
	left, right = max(left, 0), max(right, 0)
	if int64(left)+int64(right) > rt.t.limits.Output/int64(len(fill)) {
		return "", rt.grow(-1)
	}
	if err := rt.grow(len(s) + (left+right)*len(fill)); err != nil {
		return "", err
	}
	return repeatText(fill, left) + s + repeatText(fill, right), nil
}

// replace implements str.replace. A negative limit replaces all.
func (rt *runtime) replace(s, old, to string, limit int) (string, error) {
	n := strings.Count(s, old)
	if limit >= 0 {
		n = min(n, limit)
	}
	if n == 0 {
		return s, rt.step(len(s) >> 6)
	}
	if int64(n) > rt.t.limits.Output/int64(max(len(to), 1)) {
		return "", rt.grow(-1)
	}
	if err := rt.grow(len(s) + n*len(to)); err != nil {
		return "", err
	}
	return strings.Replace(s, old, to, n), nil
}

var htmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

// escapeText returns s escaped for HTML, unless v, the value of s, is markup.
func escapeText(v any, s string) string {
	if _, ok := v.(markup); ok {
		return s
	}
	return htmlEscaper.Replace(s)
}

// parseInt implements Python's int(text, base).
func parseInt(s string, base int) (any, bool) {
	s = normalDigits(strings.TrimFunc(s, isSpace))
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	if len(s) > 2 && s[0] == '0' {
		prefix := map[byte]int{'b': 2, 'o': 8, 'x': 16}[s[1]|0x20]
		if prefix != 0 && (base == 0 || base == prefix) {
			base, s = prefix, strings.TrimPrefix(s[2:], "_")
		}
	}
	if base == 0 {
		base = 10
		if len(s) > 1 && s[0] == '0' && strings.Trim(s, "0_") != "" {
			return nil, false
		}
	}
	if s == "" || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") ||
		strings.ContainsAny(s, "+-") || len(s) > maxDigits {
		return nil, false
	}
	return bigFromText(sign+strings.ReplaceAll(s, "_", ""), base)
}

// normalDigits replaces the decimal digits of other scripts.
func normalDigits(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if d := digitValue(r); d >= 0 {
			return '0' + rune(d)
		}
		return r
	}, s)
}

// digitValue returns a decimal digit's value, or -1. Unicode lists each script's ten digits in
// order.
func digitValue(r rune) int {
	if !unicode.IsDigit(r) {
		return -1
	}
	d := 0
	for ; d < 9 && unicode.IsDigit(r-1); d++ {
		switch r {
		case 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6: // mathematical zeros directly follow the nines of another style
			return d
		}
		r--
	}
	return d
}

// parseFloat implements Python's float(text). A number that is too large becomes infinite.
func parseFloat(s string) (float64, bool) {
	s = normalDigits(strings.TrimFunc(s, isSpace))
	if strings.ContainsAny(s, "xXpP") || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return 0, false
	}
	if strings.Contains(s, "_") {
		for i := range len(s) {
			if s[i] == '_' && (!isDigitAt(s, i-1) || !isDigitAt(s, i+1)) {
				return 0, false
			}
		}
		s = strings.ReplaceAll(s, "_", "")
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !isRangeError(err) {
		return 0, false
	}
	return f, true
}

func isDigitAt(s string, i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }

func formatFixed(f float64, digits int) string { return strconv.FormatFloat(f, 'f', digits, 64) }
