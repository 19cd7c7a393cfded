package tokenizer

import "unicode/utf8"

// GPT-2's alphabet has a visible character for each byte. Printable ASCII and
// most of Latin-1 represent themselves. The other bytes are the characters from
// U+0100 on.

// byteRune returns the character of a byte.
func byteRune(b byte) rune {
	switch {
	case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
		return rune(b)
	case b <= ' ':
		return 0x100 + rune(b)
	case b <= 0xa0:
		return 0x100 + 33 + rune(b-0x7f)
	}
	return 0x143 // this is the character of 0xad
}

// runeByte returns the byte of a character.
func runeByte(r rune) (b byte, ok bool) {
	switch {
	case r >= 0x100 && r <= 0x120:
		return byte(r - 0x100), true
	case r >= 0x121 && r <= 0x142:
		return byte(r - 0x121 + 0x7f), true
	case r == 0x143:
		return 0xad, true
	case r < 0x100:
		return byte(r), byteRune(byte(r)) == r
	}
	return 0, false
}

// appendBytes appends the characters of a text's bytes.
func appendBytes(to []byte, text string) []byte {
	for i := range len(text) {
		to = utf8.AppendRune(to, byteRune(text[i]))
	}
	return to
}

func spellBytes(text string) string {
	return string(appendBytes(make([]byte, 0, 2*len(text)), text))
}

// gpt2 is the default pattern of ByteLevel.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// byteLevelJSON is a ByteLevel in the file. It may be a splitter, a decoder or a
// post-processor. The post-processor only changes offsets.
type byteLevelJSON struct {
	typed
	AddPrefixSpace bool  `json:"add_prefix_space"`
	TrimOffsets    bool  `json:"trim_offsets"`
	UseRegex       *bool `json:"use_regex"`
}

func newByteLevel(c *component) ([]splitter, error) {
	var f byteLevelJSON
	if err := c.decode(&f); err != nil {
		return nil, err
	}
	var all []splitter
	if f.AddPrefixSpace {
		all = append(all, prefixSpace{})
	}
	if f.UseRegex == nil || *f.UseRegex {
		p, err := newRegex(gpt2)
		if err != nil {
			return nil, err
		}
		all = append(all, &cutter{p, isolated})
	}
	return append(all, alphabet{}), nil
}

// prefixSpace puts a space before a piece that doesn't start with one.
type prefixSpace struct{}

func (prefixSpace) split(e *encoder, t *Tokenizer, i int, p piece) {
	if p.text[0] != ' ' {
		p.text = " " + p.text
	}
	e.split(t, i+1, p)
}

// alphabet converts a piece to GPT-2's alphabet.
type alphabet struct{}

func (alphabet) split(e *encoder, t *Tokenizer, i int, p piece) {
	e.split(t, i+1, piece{spellBytes(p.text), p.first})
}

// dropAlphabet removes a trailing alphabet from the splitters; nearly all files
// have it there. The model then converts only the words that aren't in its cache.
func dropAlphabet(splitters *[]splitter) bool {
	s := *splitters
	if len(s) == 0 {
		return false
	}
	if _, ok := s[len(s)-1].(alphabet); !ok {
		return false
	}
	*splitters = s[:len(s)-1]
	return true
}
