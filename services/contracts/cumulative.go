package contracts

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// cumulative makes deltas of texts of which each holds all that came before, as
// TensorRT-LLM's LLM API gives them. The texts are valid UTF-8, in which a
// character that isn't whole yet shows as replacement characters at the end.
type cumulative struct {
	stops []string // that end the text
	told  []byte   // what of the latest text has been given
	held  []byte   // its end, which may still change
}

// add gives what a text adds to the ones before. The result is a view of it and
// holds as long. With final nothing of it is held back.
func (c *cumulative) add(text []byte, final bool) []byte {
	tail := text[min(len(c.told), len(text)):]
	if !bytes.HasPrefix(text, c.told) {
		tail = c.changed(text)
	}
	whole := tail
	if !final {
		whole = bytes.TrimRight(tail, string(utf8.RuneError))
	}
	c.told = append(c.told, whole...)
	c.held = append(c.held[:0], tail[len(whole):]...)
	return whole
}

// changed is for a text that doesn't go on from the one before. What was given
// can't be taken back: a text that has grown goes on behind it. One that became
// shorter has lost the beginning of a stop text that is now complete; the rest of
// that stop text tells the reader, who holds the beginning.
func (c *cumulative) changed(text []byte) []byte {
	if bytes.HasPrefix(c.told, text) {
		lost := c.told[len(text):]
		c.told = c.told[:len(text)]
		i := slices.IndexFunc(c.stops, func(stop string) bool { return strings.HasPrefix(stop, string(lost)) })
		if i < 0 {
			return nil
		}
		return []byte(c.stops[i][len(lost):])
	}
	from := min(len(c.told), len(text))
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	c.told = append(c.told[:0], text[:from]...)
	return text[from:]
}
