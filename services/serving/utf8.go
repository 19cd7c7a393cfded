package serving

import "unicode/utf8"

// wholeUTF8 holds back an incomplete code point at the end of a response until the next response
// completes it: a JSON string can't contain half a code point.
type wholeUTF8 struct {
	held []byte // incomplete code point at the end of the text so far, of at most utf8.UTFMax-1 bytes
	buf  []byte // held and text joined, reused
}

// add returns the withheld and the new text, up to the last complete code point. At the end of the
// stream, it returns all of it. The result is valid until the next call. Bytes that can't become valid
// are passed on.
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

// unfinished returns the number of bytes at the end of b that are the start of an incomplete code
// point.
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
