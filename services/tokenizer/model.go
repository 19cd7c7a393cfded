package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// model converts one word to ids.
type model interface {
	// encode appends the ids of a word, which isn't empty. Concurrent calls need
	// separate scratches.
	encode(word string, scratch *wordScratch, ids []int32) []int32
}

// vocab is the tokens of a model. A Unigram vocabulary is a list by id. The list may
// contain a token twice, and then the last id applies.
type vocab struct {
	ids  map[string]int32
	list []string // nil for other models
}

// newModel reads a model's vocabulary. The returned function builds the model. Its
// argument states whether words must be converted to GPT-2's alphabet.
func newModel(c *component) (vocab, func(alphabet bool) (model, error), error) {
	switch c.guessKind() {
	case "BPE":
		return newBPE(c)
	case "WordPiece":
		return newWordPiece(c)
	case "Unigram":
		return newUnigram(c)
	}
	return vocab{}, nil, c.unknown("model")
}

// guessKind returns the type. The oldest files have no type, and then guessKind
// derives it from their fields.
func (c *component) guessKind() string {
	switch {
	case c.kind != "":
		return c.kind
	case bytes.Contains(c.raw, []byte(`"merges"`)):
		return "BPE"
	case bytes.Contains(c.raw, []byte(`"max_input_chars_per_word"`)):
		return "WordPiece"
	}
	return ""
}

// merges are pairs of tokens, written as "a b" or as ["a","b"].
type merges [][2]string

// UnmarshalJSON reads both forms.
func (m *merges) UnmarshalJSON(data []byte) error {
	if pairs(data) {
		return json.Unmarshal(data, (*[][2]string)(m))
	}
	var lines []string
	if err := json.Unmarshal(data, &lines); err != nil {
		return err
	}
	*m = make(merges, 0, len(lines))
	for _, line := range lines {
		if strings.HasPrefix(line, "#version") {
			continue
		}
		left, right, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(right, " ") {
			return fmt.Errorf("the merge %q must have two tokens", line)
		}
		*m = append(*m, [2]string{left, right})
	}
	return nil
}

// pairs reports whether the first element of an array is an array.
func pairs(data []byte) bool {
	inner := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("[")), " \t\r\n")
	return len(inner) > 0 && inner[0] == '['
}

// cache holds the ids of words. Each word has one slot, which keeps the last word
// stored there. Access never blocks, and the cache doesn't grow.
type cache struct {
	seed  maphash.Seed
	slots [1 << 14]atomic.Pointer[cached]
}

type cached struct {
	word string
	ids  []int32
}

// maxCached is the maximum length in bytes of a cached word. Longer words rarely
// repeat.
const maxCached = 48

func newCache() *cache { return &cache{seed: maphash.MakeSeed()} }

func (c *cache) slot(word string) *atomic.Pointer[cached] {
	return &c.slots[maphash.String(c.seed, word)%uint64(len(c.slots))]
}

// wordpiece splits a word greedily: it repeatedly takes the longest token from the left.
type wordpiece struct {
	// first has all tokens, and rest the tokens inside of a word without their prefix.
	first, rest *trie
	unknown     int32
	maxChars    int // maximum characters of a word; longer words are unknown
}

func newWordPiece(c *component) (vocab, func(bool) (model, error), error) {
	var f struct {
		typed
		Vocab    map[string]int32 `json:"vocab"`
		Unknown  string           `json:"unk_token"`
		Prefix   *string          `json:"continuing_subword_prefix"`
		MaxChars *int             `json:"max_input_chars_per_word"`
	}
	if err := c.decode(&f); err != nil {
		return vocab{}, nil, err
	}
	if f.Prefix == nil || f.MaxChars == nil {
		return vocab{}, nil, errors.New("WordPiece: continuing_subword_prefix or max_input_chars_per_word is missing")
	}
	unknown, ok := f.Vocab[f.Unknown]
	if !ok {
		return vocab{}, nil, fmt.Errorf("WordPiece: unk_token %q is not in the vocabulary", f.Unknown)
	}
	build := func(inAlphabet bool) (model, error) {
		rest := make(map[string]int32, len(f.Vocab))
		for token, id := range f.Vocab {
			if inside, ok := strings.CutPrefix(token, *f.Prefix); ok {
				rest[inside] = id
			}
		}
		m := &wordpiece{newTrie(f.Vocab), newTrie(rest), unknown, *f.MaxChars}
		if inAlphabet {
			return spelled{m}, nil
		}
		return m, nil
	}
	return vocab{ids: f.Vocab}, build, nil
}

// spelled is a model whose words must be converted to GPT-2's alphabet.
type spelled struct{ of model }

func (s spelled) encode(word string, scratch *wordScratch, ids []int32) []int32 {
	return s.of.encode(spellBytes(word), scratch, ids)
}

func (w *wordpiece) encode(word string, _ *wordScratch, ids []int32) []int32 {
	if longer(word, w.maxChars) {
		return append(ids, w.unknown)
	}
	before := len(ids)
	from := w.first
	for word != "" {
		id, length := from.longest(word)
		if length == 0 {
			return append(ids[:before], w.unknown)
		}
		ids, word, from = append(ids, id), word[length:], w.rest
	}
	return ids
}

// longer reports whether a text has more than n characters.
func longer(text string, n int) bool {
	return len(text) > n && utf8.RuneCountInString(text) > n
}
