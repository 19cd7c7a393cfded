package jinja

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// digits returns the end of a run of digits of the base. Single underscores may separate digits.
func (l *lexer) digits(i int, base string) int {
	for i < len(l.src) {
		j := i
		if l.src[j] == '_' && j > l.pos {
			j++
		}
		if j >= len(l.src) || !strings.Contains(base, strings.ToLower(l.src[j:j+1])) {
			break
		}
		i = j + 1
	}
	return i
}

func (l *lexer) number() error {
	const decimal = "0123456789"
	if l.src[l.pos] == '0' && l.pos+1 < len(l.src) {
		base := map[byte]string{'b': "01", 'o': "01234567", 'x': "0123456789abcdef"}[l.src[l.pos+1]|0x20]
		if end := l.digits(l.pos+2, base); base != "" && end > l.pos+2 {
			return l.integer(end)
		}
	}
	whole := l.digits(l.pos, decimal)
	end := whole
	afterDot := l.pos > 0 && l.src[l.pos-1] == '.'
	if !afterDot {
		if e := l.digits(end+1, decimal); end < len(l.src) && l.src[end] == '.' && e > end+1 && l.src[end+1] != '_' {
			end = e
		}
		end = l.exponent(end)
	}
	if end > whole {
		f, _ := parseFloat(strings.ReplaceAll(l.src[l.pos:end], "_", ""))
		l.emit(token{kind: tokNumber, value: f})
		l.advance(end)
		return nil
	}
	if l.src[l.pos] == '0' { // no digits except zeros may follow a leading zero
		whole = l.digits(l.pos, "0")
	}
	return l.integer(whole)
}

func (l *lexer) exponent(i int) int {
	if i >= len(l.src) || l.src[i]|0x20 != 'e' {
		return i
	}
	j := i + 1
	if j < len(l.src) && (l.src[j] == '+' || l.src[j] == '-') {
		j++
	}
	if end := l.digits(j, "0123456789"); end > j && l.src[j] != '_' {
		return end
	}
	return i
}

func (l *lexer) integer(end int) error {
	digits := strings.ReplaceAll(l.src[l.pos:end], "_", "")
	if len(digits) > maxDigits {
		return l.fail("the template has an integer of %d digits, which is too long", len(digits))
	}
	b, ok := new(big.Int).SetString(digits, 0)
	if !ok {
		b, _ = new(big.Int).SetString(digits, 10) // the digits are only zeros
	}
	v, err := fromBig(b)
	if err != nil {
		return l.fail("%s", err)
	}
	l.emit(token{kind: tokNumber, value: v})
	l.advance(end)
	return nil
}

func (l *lexer) str(quote byte) error {
	for i := l.pos + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case '\\':
			i++
		case quote:
			s, problem := unescape(l.src[l.pos+1 : i])
			if problem != "" {
				return l.fail("%s", problem)
			}
			l.emit(token{kind: tokString, text: s})
			l.advance(i + 1)
			return nil
		}
	}
	return l.fail("the string is not closed: add the closing quote")
}

var simpleEscapes = map[byte]byte{
	'\\': '\\', '\'': '\'', '"': '"', 'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
}

// unescape resolves Python's escapes and keeps unknown ones. A non-empty problem describes the
// error.
func unescape(s string) (value, problem string) {
	if !strings.Contains(s, `\`) {
		return s, ""
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b = append(b, s[i])
			i++
			continue
		}
		i++
		c := s[i] // a string never ends with an unescaped backslash
		switch plain, ok := simpleEscapes[c]; {
		case ok:
			b = append(b, plain)
			i++
		case c == '\n':
			i++
		case c == 'x' || c == 'u' || c == 'U':
			width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			if i+1+width > len(s) {
				return "", fmt.Sprintf("the escape \\%c needs %d hexadecimal digits", c, width)
			}
			n, err := strconv.ParseUint(s[i+1:i+1+width], 16, 32)
			if err != nil || n > unicode.MaxRune {
				return "", fmt.Sprintf("the escape \\%s is not a character", s[i:i+1+width])
			}
			b = utf8.AppendRune(b, rune(n))
			i += 1 + width
		case c >= '0' && c <= '7':
			end := i + 1
			for end < len(s) && end < i+3 && s[end] >= '0' && s[end] <= '7' {
				end++
			}
			n, _ := strconv.ParseUint(s[i:end], 8, 32)
			b = utf8.AppendRune(b, rune(n))
			i = end
		case c == 'N':
			return "", "\\N{...} escapes are not supported: write the character itself"
		case c >= utf8.RuneSelf: // Python escapes such a character before it looks for backslashes
			r, size := utf8.DecodeRuneInString(s[i:])
			b = append(b, '\\')
			b = append(b, appendHex(nil, r)[1:]...)
			i += size
		default:
			b = append(b, '\\', c)
			i++
		}
	}
	return string(b), ""
}
