package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// charsmap is SentencePiece's compiled normalization rules. It has a trie, which is a
// double array of the Darts library, and the replacements that the trie points to.
type charsmap struct {
	units []uint32
	// replacements are strings that end with a zero byte.
	replacements string
	// lone has characters of which two neighbors never form one grapheme.
	lone *set
	// changed has the characters of lone that have a replacement.
	changed *set
}

func newPrecompiled(c *component) (normalizer, error) {
	var f struct {
		typed
		Charsmap *string `json:"precompiled_charsmap"`
	}
	if err := c.decode(&f); err != nil {
		return nil, err
	}
	if f.Charsmap == nil {
		return nil, errors.New("Precompiled: precompiled_charsmap is missing")
	}
	data, err := base64.StdEncoding.Strict().DecodeString(*f.Charsmap)
	if err != nil {
		return nil, fmt.Errorf("Precompiled: precompiled_charsmap: %w", err)
	}
	m, err := newCharsmap(data, loneRunes())
	if err != nil {
		return nil, fmt.Errorf("Precompiled: precompiled_charsmap: %w", err)
	}
	return plain(m.normalize), nil
}

// unitSize is the size of one unit of the trie in bytes.
const unitSize = 4

func newCharsmap(data []byte, lone []span32) (*charsmap, error) {
	if len(data) < unitSize {
		return nil, errors.New("the charsmap is shorter than the size of its trie")
	}
	size := int64(binary.LittleEndian.Uint32(data)) / unitSize
	if data = data[unitSize:]; size == 0 || size*unitSize > int64(len(data)) {
		return nil, fmt.Errorf("the trie of the charsmap has %d units, but only %d bytes follow", size, len(data))
	}
	m := &charsmap{units: make([]uint32, size)}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(data[i*unitSize:])
	}
	if data = data[size*unitSize:]; !utf8.Valid(data) {
		return nil, errors.New("the replacement strings of the charsmap are not UTF-8")
	}
	m.replacements = string(data)
	m.lone = newSet(lone)
	var changed []span32
	for _, s := range lone {
		for r := s.lo; r <= s.hi; r++ {
			if _, ok := m.replacement(string(r)); ok {
				changed = append(changed, span32{r, r})
			}
		}
	}
	m.changed = newSet(changed)
	return m, nil
}

// loneRunes returns the characters below U+10000 of which no two neighbors form one
// grapheme. It excludes characters that extend the previous character, such as
// combining accents, and characters that join the next one. It excludes CR and LF
// because CR LF is one grapheme, and Hangul jamo because adjacent jamo form a syllable.
func loneRunes() []span32 {
	var all []span32
	for r := range rune(0x10000) {
		jamo := r >= 0x1100 && r <= 0x11ff || r >= 0xa960 && r <= 0xa97f || r >= 0xd7b0 && r <= 0xd7ff
		if r == '\r' || r == '\n' || jamo || !utf8.ValidRune(r) {
			continue
		}
		if text := "x" + string(r) + "x"; firstGrapheme(text) > 1 || firstGrapheme(text[1:]) == len(text)-1 {
			continue
		}
		if n := len(all); n > 0 && all[n-1].hi == r-1 {
			all[n-1].hi = r
		} else {
			all = append(all, span32{r, r})
		}
	}
	return all
}

// firstGrapheme returns the length in bytes of a text's first grapheme.
func firstGrapheme(text string) int {
	g := graphemes.FromString(text)
	g.Next()
	return len(g.Value())
}

// replacement returns the replacement of a grapheme or character. Of the rules for its
// prefixes the shortest applies, as in Hugging Face's library. A rule that points
// outside of the charsmap is ignored; Hugging Face's library fails in that case.
func (m *charsmap) replacement(chars string) (string, bool) {
	unit := m.units[0]
	node := offsetOf(unit)
	for i := range len(chars) {
		c := uint32(chars[i])
		if node ^= c; c == 0 || node >= uint32(len(m.units)) {
			return "", false
		}
		if unit = m.units[node]; unit&(1<<31|0xff) != c {
			return "", false
		}
		if node ^= offsetOf(unit); node >= uint32(len(m.units)) {
			return "", false
		}
		if unit>>8&1 == 1 {
			return m.replacementAt(m.units[node] &^ (1 << 31))
		}
	}
	return "", false
}

func offsetOf(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

func (m *charsmap) replacementAt(start uint32) (string, bool) {
	if int64(start) > int64(len(m.replacements)) {
		return "", false
	}
	text := m.replacements[start:]
	if text != "" && !utf8.RuneStart(text[0]) {
		return "", false
	}
	for i := range len(text) {
		if text[i] == 0 {
			return text[:i], true
		}
	}
	return text, true
}

// normalize replaces the characters of a text.
func (m *charsmap) normalize(text string) string {
	w := rewriter{text: text}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		end := at + size
		lone := m.lone.has(r)
		for lone && end < len(text) { // the loop continues while the next character is lone too
			next, size := utf8.DecodeRuneInString(text[end:])
			if lone = m.lone.has(next); !lone {
				break
			}
			m.replace(&w, r, at, end)
			r, at, end = next, end, end+size
		}
		if lone {
			m.replace(&w, r, at, end)
			return w.end()
		}
		end = m.group(text, at)
		m.replaceGraphemes(&w, at, end)
		at = end
	}
	return w.end()
}

// replace replaces a lone character.
func (m *charsmap) replace(w *rewriter, r rune, at, end int) {
	if m.changed.has(r) {
		if by, ok := m.replacement(w.text[at:end]); ok {
			w.replace(at, end, by)
		}
	}
}

// group returns the end of the characters from an offset on that may form graphemes
// together. The group ends before the second of two lone characters.
func (m *charsmap) group(text string, at int) int {
	before := false
	for i, r := range text[at:] {
		lone := m.lone.has(r)
		if lone && before {
			return at + i
		}
		before = lone
	}
	return len(text)
}

// maxWhole is the length in bytes of the longest grapheme that is replaced as a whole.
const maxWhole = 5

func (m *charsmap) replaceGraphemes(w *rewriter, at, end int) {
	all := graphemes.FromString(w.text[at:end])
	for all.Next() {
		g := all.Value()
		by, ok := "", false
		if len(g) <= maxWhole {
			by, ok = m.replacement(g)
		}
		if ok {
			w.replace(at, at+len(g), by)
		} else {
			m.replaceRunes(w, at, at+len(g))
		}
		at += len(g)
	}
}

func (m *charsmap) replaceRunes(w *rewriter, at, end int) {
	for at < end {
		size := runeSize(w.text, at)
		if by, ok := m.replacement(w.text[at : at+size]); ok {
			w.replace(at, at+size, by)
		}
		at += size
	}
}

// rewriter copies a text from its first change on.
type rewriter struct {
	text string
	done int
	out  []byte
}

// replace replaces a part that is after all parts replaced before.
func (w *rewriter) replace(start, end int, by string) {
	if w.out == nil {
		w.out = make([]byte, 0, len(w.text)+len(by))
	}
	w.out = append(append(w.out, w.text[w.done:start]...), by...)
	w.done = end
}

func (w *rewriter) end() string {
	if w.out == nil {
		return w.text
	}
	return string(append(w.out, w.text[w.done:]...))
}
