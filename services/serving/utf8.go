package serving

import "unicode/utf8"

// wholeUTF8 holds back the bytes of a code point that was split between two
// responses until it is whole: a JSON string can't carry half of one.
type wholeUTF8 struct {
	held []byte // at most utf8.UTFMax-1 bytes
	buf  []byte // held and text joined, reused
}

// add returns held and new text up to the last whole code point, or all of it
// at the end of the stream. The result holds until the next call. Bytes that
// can't become valid are passed on.
func (w *wholeUTF8) add(text []byte, end bool) []byte {
	if len(w.held) > 0 {
		w.buf = append(append(w.buf[:0], w.held...), text...)
		w.held = w.held[:0]
		text = w.buf
	}
	if end {
		return text
	}
	cut := len(text) - unfinished(text)
	w.held = append(w.held, text[cut:]...)
	return text[:cut]
}

// unfinished counts the bytes at the end of b that begin a code point which
// needs more bytes.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
