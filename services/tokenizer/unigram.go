package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// unigram splits a word into the tokens with the largest sum of scores.
type unigram struct {
	ids    map[string]int32
	trie   *trie
	scores []float64 // the tokens' scores, indexed by token id
	most   int       // length of the longest token in bytes
	// unknown is the token for characters without a token. It is noToken if such a
	// character is an error.
	unknown      int32
	unknownScore float64
	// bytes are the tokens <0x00> to <0xFF>. A missing token is noToken.
	bytes    [256]int32
	fallback bool // unknown characters become tokens of their bytes
	cache    *cache
}

// unknownPenalty is the difference between the lowest score of a token and the score
// of an unknown character.
const unknownPenalty = 10

// errNoUnknown is returned when a character has no token and the file has no unk_id.
var errNoUnknown = errors.New("Unigram: a character has no token, and the field unk_id is missing")

// scored is a token and its score, written as an array of both.
type scored struct {
	token string
	score float64
}

// UnmarshalJSON reads the token and its score.
func (s *scored) UnmarshalJSON(data []byte) error {
	var number json.Number
	parts := []any{&s.token, &number}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != 2 || parts[0] == nil || number == "" {
		return fmt.Errorf("expected a JSON list of a token and its score, got %.60s", data)
	}
	var err error
	if s.score, err = parseScore(string(number)); err != nil {
		return fmt.Errorf("%.60s: %w", data, err)
	}
	return nil
}

func newUnigram(c *component) (vocab, func(bool) (model, error), error) {
	var f struct {
		typed
		Unknown      *int     `json:"unk_id"`
		Vocab        []scored `json:"vocab"`
		ByteFallback bool     `json:"byte_fallback"`
	}
	if err := c.decode(&f); err != nil {
		return vocab{}, nil, err
	}
	if f.Vocab == nil {
		return vocab{}, nil, errors.New("Unigram: vocab is missing")
	}
	u := &unigram{
		ids: make(map[string]int32, len(f.Vocab)), scores: make([]float64, len(f.Vocab)),
		unknown: noToken, fallback: f.ByteFallback, cache: newCache(),
	}
	if id := f.Unknown; id != nil {
		if *id < 0 || *id >= len(f.Vocab) {
			return vocab{}, nil, fmt.Errorf("Unigram: unk_id %d is not in the vocabulary of %d tokens", *id, len(f.Vocab))
		}
		u.unknown = int32(*id)
	}
	tokens := make([]string, len(f.Vocab))
	lowest := math.Inf(1)
	for id, s := range f.Vocab {
		tokens[id], u.scores[id] = s.token, s.score
		u.ids[s.token] = int32(id)
		u.most = max(u.most, len(s.token))
		lowest = min(lowest, s.score)
	}
	u.unknownScore = lowest - unknownPenalty
	return vocab{u.ids, tokens}, u.build, nil
}

func (u *unigram) build(alphabet bool) (model, error) {
	for i := range u.bytes {
		u.bytes[i] = noToken
		if id, ok := u.ids[fmt.Sprintf("<0x%02X>", i)]; ok {
			u.bytes[i] = id
		}
	}
	u.trie = newTrie(u.ids)
	if alphabet {
		return spelled{u}, nil
	}
	return u, nil
}

func (u *unigram) encode(word string, scratch *wordScratch, ids []int32) []int32 {
	if len(word) > maxCached {
		return u.divide(word, scratch, ids)
	}
	slot := u.cache.slot(word)
	if known := slot.Load(); known != nil && known.word == word {
		return append(ids, known.ids...)
	}
	before := len(ids)
	ids = u.divide(word, scratch, ids)
	if scratch.watch.err == nil {
		slot.Store(&cached{strings.Clone(word), slices.Clone(ids[before:])})
	}
	return ids
}

// pathStep is the last token on the best path to a position in a word, and the start
// of that token. The start is noStart for a position that wasn't reached yet.
type pathStep struct{ start, id int32 }

const noStart = -1

// path is the best paths to all positions of a word. It keeps the sums of scores of
// the positions that tokens from the current one can reach, in a ring buffer indexed
// by a position's lowest bits.
type path struct {
	steps []pathStep
	sums  []float64
	mask  int
}

// reset prepares the path for a word of this length and tokens of at most this length,
// in bytes.
func (p *path) reset(word, token int) {
	p.steps = slices.Grow(p.steps[:0], word+1)[:word+1]
	for i := range p.steps {
		p.steps[i].start = noStart
	}
	size := 1 << bits.Len(uint(min(word, max(token, utf8.UTFMax))))
	p.sums = slices.Grow(p.sums[:0], size)[:size]
	p.sums[0], p.mask = 0, size-1
}

// offer records a path to a position if it is better, and reports whether it was. Of
// equal paths the first stays.
func (p *path) offer(end int, sum float64, start int, id int32) bool {
	step, known := &p.steps[end], &p.sums[end&p.mask]
	if step.start != noStart && sum <= *known {
		return false
	}
	*step, *known = pathStep{int32(start), id}, sum
	return true
}

// divide appends the tokens of the best path through a word.
func (u *unigram) divide(word string, scratch *wordScratch, ids []int32) []int32 {
	p := &scratch.path
	p.reset(len(word), u.most)
	for at, look := 0, checkEvery; at < len(word); {
		if at >= look {
			if look += checkEvery; !scratch.watch.proceed(checkEvery) {
				return ids
			}
		}
		if at = u.extend(word, at, p); at < 0 {
			scratch.watch.fail(errNoUnknown)
			return ids
		}
	}
	return u.walk(word, p.steps, ids)
}

// extend extends the path that ends at an offset by each token that starts there. If
// no token is the character there, extend adds an unknown character. extend returns
// the offset of the next character, or a negative number if there is no unknown token.
func (u *unigram) extend(word string, at int, p *path) int {
	till := p.sums[at&p.mask]
	next := at + runeSize(word, at)
	single := false
	cells := u.trie.cells
	node := int32(0)
	for end := at; end < len(word); {
		child := cells[node].base + int32(word[end])
		if cells[child].parent != node {
			break
		}
		node = child
		end++
		id := cells[node].id
		if id == noToken {
			continue
		}
		single = single || end == next
		p.offer(end, till+u.scores[id], at, id)
	}
	if !single && p.offer(next, till+u.unknownScore, at, u.unknown) && u.unknown == noToken {
		return noStart
	}
	return next
}

func runeSize(text string, at int) int {
	if text[at] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeRuneInString(text[at:])
	return size
}

// walk appends the tokens of the best path, which it reads from its end. Adjacent
// unknown characters become one token.
func (u *unigram) walk(word string, steps []pathStep, ids []int32) []int32 {
	before := len(ids)
	for end := len(word); end > 0; {
		id, start := steps[end].id, int(steps[end].start)
		if id != u.unknown {
			ids = append(ids, id)
			end = start
			continue
		}
		for start > 0 && steps[start].id == u.unknown {
			start = int(steps[start].start)
		}
		ids = u.appendUnknown(ids, word[start:end])
		end = start
	}
	slices.Reverse(ids[before:])
	return ids
}

// appendUnknown appends the tokens of unknown characters, the last one first. As in
// Hugging Face's library, the characters together may be a token.
func (u *unigram) appendUnknown(ids []int32, chars string) []int32 {
	if id, ok := u.ids[chars]; ok {
		return append(ids, id)
	}
	if !u.fallback {
		return append(ids, u.unknown)
	}
	before := len(ids)
	for i := len(chars) - 1; i >= 0; i-- {
		id := u.bytes[chars[i]]
		if id == noToken {
			return append(ids[:before], u.unknown)
		}
		ids = append(ids, id)
	}
	return ids
}
