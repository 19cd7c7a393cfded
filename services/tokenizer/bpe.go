package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// bpe merges the characters of a word pair by pair. The pair with the lowest rank,
// its position in the file, is merged first, and the leftmost of equal pairs.
type bpe struct {
	ids    map[string]int32
	merges map[pair]merge
	// unknown is the token for characters without a token. It is -1 if such
	// characters are omitted.
	unknown int32
	// fuse merges adjacent unknown tokens into one.
	fuse bool
	// bytes are the tokens <0x00> to <0xFF> of a file with byte_fallback. These tokens
	// encode the bytes of characters that have no token of their own. A missing token is
	// -1.
	bytes    [256]int32
	fallback bool
	// whole is ignore_merges of tokenizer.json. If true, a word that is in the vocabulary is encoded
	// as that one token, without applying merges.
	whole          bool
	prefix, suffix string // prefix of tokens inside of a word, suffix of tokens at its end
	alphabet       bool   // words must be converted to GPT-2's alphabet
	ascii          [utf8.RuneSelf]int32
	// mark is SentencePiece's space, at which a text can be split into words. It is empty if the model
	// doesn't allow that: see findMark.
	mark  string
	cache *cache
}

type pair struct{ left, right int32 }

type merge struct {
	rank uint32
	id   int32
}

type bpeJSON struct {
	typed
	Dropout      *float64         `json:"dropout"` // dropout probability of training; Trident ignores it
	Unknown      *string          `json:"unk_token"`
	Prefix       *string          `json:"continuing_subword_prefix"`
	Suffix       *string          `json:"end_of_word_suffix"`
	Fuse         *bool            `json:"fuse_unk"`
	ByteFallback *bool            `json:"byte_fallback"`
	IgnoreMerges *bool            `json:"ignore_merges"`
	Vocab        map[string]int32 `json:"vocab"`
	Merges       merges           `json:"merges"`
}

func newBPE(c *component) (vocab, func(bool) (model, error), error) {
	var f bpeJSON
	if err := c.decode(&f); err != nil {
		return vocab{}, nil, err
	}
	if f.Vocab == nil || f.Merges == nil {
		return vocab{}, nil, fmt.Errorf("BPE: the field vocab or merges is missing")
	}
	return vocab{ids: f.Vocab}, func(alphabet bool) (model, error) { return f.build(alphabet) }, nil
}

func (f *bpeJSON) build(alphabet bool) (*bpe, error) {
	b := &bpe{
		ids: f.Vocab, unknown: -1, alphabet: alphabet, cache: newCache(),
		fuse: or(f.Fuse), fallback: or(f.ByteFallback), whole: or(f.IgnoreMerges), prefix: or(f.Prefix), suffix: or(f.Suffix),
	}
	if token := or(f.Unknown); token != "" {
		id, ok := b.ids[token]
		if !ok {
			return nil, fmt.Errorf("BPE: unk_token %q is not in the vocabulary", token)
		}
		b.unknown = id
	}
	for i := range b.bytes {
		b.bytes[i] = b.id(fmt.Sprintf("<0x%02X>", i))
	}
	for i := range b.ascii {
		b.ascii[i] = b.id(string(rune(i)))
	}
	if err := b.join(f.Merges); err != nil {
		return nil, err
	}
	b.mark = b.findMark(f.Merges)
	return b, nil
}

func or[T any](value *T) (zero T) {
	if value != nil {
		return *value
	}
	return zero
}

// id returns the id of a token, or -1.
func (b *bpe) id(token string) int32 {
	if id, ok := b.ids[token]; ok {
		return id
	}
	return -1
}

func (b *bpe) join(merges merges) error {
	b.merges = make(map[pair]merge, len(merges))
	var joined []byte
	for rank, m := range merges {
		left, right := b.id(m[0]), b.id(m[1])
		joined = append(append(joined[:0], m[0]...), strings.TrimPrefix(m[1], b.prefix)...)
		id, ok := b.ids[string(joined)]
		if left < 0 || right < 0 || !ok {
			return fmt.Errorf("BPE: merge %q %q is not in the vocabulary", m[0], m[1])
		}
		b.merges[pair{left, right}] = merge{uint32(rank), id}
	}
	return nil
}

// spaceMark is SentencePiece's character for a space.
const spaceMark = "▁"

// findMark returns SentencePiece's space if no token has it after another character.
// Then no merge crosses the border before a space. Files with this mark don't split
// a text, but the text can then be split into words, which are short and repeat.
func (b *bpe) findMark(merges merges) string {
	if _, ok := b.ids[spaceMark]; !ok || b.alphabet || b.whole || b.prefix != "" || b.suffix != "" {
		return ""
	}
	for _, m := range merges {
		if strings.HasPrefix(m[1], spaceMark) && !strings.HasSuffix(m[0], spaceMark) {
			return ""
		}
	}
	return spaceMark
}

// encode appends the ids of a word, or of a text whose words have the prefix mark.
func (b *bpe) encode(word string, scratch *wordScratch, ids []int32) []int32 {
	if b.mark == "" {
		return b.encodeWord(word, scratch, ids)
	}
	for word != "" {
		end := b.wordEnd(word)
		if !scratch.watch.proceed(end) {
			return ids
		}
		ids = b.encodeWord(word[:end], scratch, ids)
		word = word[end:]
	}
	return ids
}

// wordEnd returns the offset of the first mark after another character.
func (b *bpe) wordEnd(text string) int {
	start := len(text) - len(strings.TrimLeft(text, b.mark))
	if i := strings.Index(text[start:], b.mark); i >= 0 {
		return start + i
	}
	return len(text)
}

func (b *bpe) encodeWord(word string, scratch *wordScratch, ids []int32) []int32 {
	switch {
	case !scratch.watch.takeWord(word):
		return ids
	case len(word) > maxCached:
		return b.merge(word, scratch).append(ids)
	}
	slot := b.cache.slot(word)
	known := slot.Load()
	if known == nil || known.word != word {
		known = &cached{strings.Clone(word), b.merge(word, scratch).collect()}
		slot.Store(known)
	}
	return append(ids, known.ids...)
}

// merge puts the tokens of a word into the scratch.
func (b *bpe) merge(word string, s *wordScratch) *wordScratch {
	s.symbols = s.symbols[:0]
	if b.alphabet {
		s.text = appendBytes(slices.Grow(s.text[:0], 2*len(word)), word)
	} else {
		s.text = append(s.text[:0], word...)
	}
	if b.whole {
		if id, ok := b.ids[string(s.text)]; ok {
			s.push(id)
			return s
		}
	}
	s.symbols = slices.Grow(s.symbols, min(len(word), len(s.text)))
	b.begin(s)
	s.join(b.merges)
	return s
}

// begin pushes the token of each character of the scratch's text.
func (b *bpe) begin(s *wordScratch) {
	unknown := false // an unknown token was pushed and may be fused
	for at, look := 0, checkEvery; at < len(s.text); {
		if at >= look {
			if look += checkEvery; !s.watch.proceed(checkEvery) {
				return
			}
		}
		_, size := utf8.DecodeRune(s.text[at:])
		char := b.withAffixes(s, at, at+size)
		at += size
		id := b.char(char)
		switch {
		case id >= 0:
			if unknown {
				s.push(b.unknown)
				unknown = false
			}
			s.push(id)
		case b.fallback && b.pushBytes(char, s):
		case b.unknown >= 0:
			if unknown && !b.fuse {
				s.push(b.unknown)
			}
			unknown = true
		}
	}
	if unknown {
		s.push(b.unknown)
	}
}

// withAffixes returns the character from start to end as tokens spell it: with the prefix
// inside of the word and the suffix at its end.
func (b *bpe) withAffixes(s *wordScratch, start, end int) []byte {
	char := s.text[start:end]
	if b.prefix == "" && b.suffix == "" {
		return char
	}
	s.char = s.char[:0]
	if start > 0 {
		s.char = append(s.char, b.prefix...)
	}
	s.char = append(s.char, char...)
	if end == len(s.text) {
		s.char = append(s.char, b.suffix...)
	}
	return s.char
}

func (b *bpe) char(char []byte) int32 {
	if len(char) == 1 && char[0] < utf8.RuneSelf {
		return b.ascii[char[0]]
	}
	if id, ok := b.ids[string(char)]; ok {
		return id
	}
	return -1
}

// pushBytes pushes the tokens of a character's bytes if all of them exist.
func (b *bpe) pushBytes(char []byte, s *wordScratch) bool {
	for _, c := range char {
		if b.bytes[c] < 0 {
			return false
		}
	}
	for _, c := range char {
		s.push(b.bytes[c])
	}
	return true
}
