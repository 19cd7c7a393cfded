// Package jsonstring encodes JSON strings for frontends that append the JSON of their events to a
// buffer. Reading JSON belongs to package strictjson.
package jsonstring

import (
	"unicode/utf8"
)

// Quoted returns a JSON string.
func Quoted(s string) []byte {
	return append(AppendEscaped([]byte{'"'}, []byte(s)), '"')
}

const hexDigits = "0123456789abcdef"

// AppendEscaped appends text as the content of a JSON string, without quotes.
// It replaces invalid UTF-8 by U+FFFD.
func AppendEscaped(dst, text []byte) []byte {
	start := 0
	for i := 0; i < len(text); {
		b := text[i]
		if b >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, text[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if b >= ' ' && b != '"' && b != '\\' {
			i++
			continue
		}
		dst = append(dst, text[start:i]...)
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
		}
		i++
		start = i
	}
	return append(dst, text[start:]...)
}
