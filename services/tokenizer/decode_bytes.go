package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// utf8Stage reads tokens as bytes, in GPT-2's alphabet if all characters belong to
// it. It emits whole characters. Each maximal prefix of an incomplete character
// becomes U+FFFD, as in Rust's from_utf8_lossy.
type utf8Stage struct{ pending []byte }

func (s *utf8Stage) push(token string, emit func(string)) {
	s.pending = append(s.pending, alphabetBytes([]byte(token))...)
	s.drain(emit, false)
}

func (s *utf8Stage) end(emit func(string)) { s.drain(emit, true) }

func (s *utf8Stage) drain(emit func(string), final bool) {
	b := s.pending
	var out []byte
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		switch {
		case r != utf8.RuneError || size > 1:
			out = append(out, b[:size]...)
		case !final && !utf8.FullRune(b):
			s.pending = append(s.pending[:0], b...)
			emitBytes(out, emit)
			return
		default:
			size = cutOff(b)
			out = utf8.AppendRune(out, utf8.RuneError)
		}
		b = b[size:]
	}
	s.pending = s.pending[:0]
	emitBytes(out, emit)
}

func emitBytes(text []byte, emit func(string)) {
	if len(text) > 0 {
		emit(string(text))
	}
}

// cutOff returns how many bytes at the start could begin a character, at least 1.
func cutOff(b []byte) int {
	low, high, more := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		more = 1
	case c == 0xe0:
		low, more = 0xa0, 2
	case c == 0xed:
		high, more = 0x9f, 2
	case c >= 0xe1 && c <= 0xef:
		more = 2
	case c == 0xf0:
		low, more = 0x90, 3
	case c >= 0xf1 && c <= 0xf3:
		more = 3
	case c == 0xf4:
		high, more = 0x8f, 3
	}
	n := 1
	for n < len(b) && n <= more && b[n] >= low && b[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}

// alphabetBytes returns the bytes of a token in GPT-2's alphabet. It returns the
// token unchanged if a character isn't in the alphabet.
func alphabetBytes(token []byte) []byte {
	out := make([]byte, 0, len(token))
	for at := 0; at < len(token); {
		r, size := utf8.DecodeRune(token[at:])
		b, ok := runeByte(r)
		if !ok {
			return token
		}
		out = append(out, b)
		at += size
	}
	return out
}

// fallbackStage converts the tokens <0x00> to <0xFF> to characters. In a whole
// text, a run of such tokens that isn't UTF-8 becomes U+FFFD for each byte. In a
// stream, a complete character is emitted at once and stays.
type fallbackStage struct {
	whole   bool
	pending []byte
}

func (s *fallbackStage) push(token string, emit func(string)) {
	b, ok := fallbackByte(token)
	if !ok {
		s.end(emit)
		emit(token)
		return
	}
	s.pending = append(s.pending, b)
	if s.whole {
		return
	}
	for len(s.pending) > 0 && utf8.FullRune(s.pending) {
		_, size := utf8.DecodeRune(s.pending)
		emit(strings.ToValidUTF8(string(s.pending[:size]), "\ufffd"))
		s.pending = s.pending[size:]
	}
}

func (s *fallbackStage) end(emit func(string)) {
	switch {
	case len(s.pending) == 0:
	case utf8.Valid(s.pending):
		emit(string(s.pending))
	default:
		for range s.pending {
			emit("\ufffd")
		}
	}
	s.pending = s.pending[:0]
}

func fallbackByte(token string) (byte, bool) {
	if len(token) != 6 || !strings.HasPrefix(token, "<0x") || token[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(b), err == nil
}

func fallbackBytes(token []byte) []byte {
	if b, ok := fallbackByte(string(token)); ok {
		return []byte{b}
	}
	return token
}
