package contracts

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// cumulative derives deltas from texts that each contain all previous ones, as TensorRT-LLM's LLM
// API returns them. The texts are valid UTF-8. An incomplete character appears as replacement
// characters at the end.
type cumulative struct {
	stops   []string // the request's stop sequences
	emitted []byte   // the emitted part of the latest text
	held    []byte   // the rest of the latest text, which may still change
}

// add returns the part that a text adds to the previous ones. The result is a view of text and
// valid as long as text. With final, nothing is held back.
func (c *cumulative) add(text []byte, final bool) []byte {
	tail := text[min(len(c.emitted), len(text)):]
	if !bytes.HasPrefix(text, c.emitted) {
		tail = c.changed(text)
	}
	whole := tail
	if !final {
		whole = bytes.TrimRight(tail, string(utf8.RuneError))
	}
	c.emitted = append(c.emitted, whole...)
	c.held = append(c.held[:0], tail[len(whole):]...)
	return whole
}

// changed handles a text that doesn't continue the previous one. Emitted text can't be withdrawn. A
// longer text is continued behind the emitted length. A shorter text has lost a prefix of a stop
// sequence that is now complete. The rest of that stop sequence is returned, so that the caller,
// which has received the prefix, can recognize the stop sequence.
func (c *cumulative) changed(text []byte) []byte {
	if bytes.HasPrefix(c.emitted, text) {
		lost := c.emitted[len(text):]
		c.emitted = c.emitted[:len(text)]
		i := slices.IndexFunc(c.stops, func(stop string) bool { return strings.HasPrefix(stop, string(lost)) })
		if i < 0 {
			return nil
		}
		return []byte(c.stops[i][len(lost):])
	}
	from := min(len(c.emitted), len(text))
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	c.emitted = append(c.emitted[:0], text[:from]...)
	return text[from:]
}
