package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// unigram divides a word into the tokens whose scores have the largest sum.
type unigram struct {
	ids    map[string]int32
	trie   *trie
	scores []float64 // by id
	// unknown is the token of characters that have none, noToken where such a
	// character is an error.
	unknown      int32
	unknownScore float64
	// bytes are the tokens <0x00> to <0xFF>, noToken where there is none.
	bytes    [256]int32
	fallback bool // unknown characters become tokens of their bytes
	cache    *cache
}

// unknownPenalty is how far the score of an unknown character lies below the lowest
// score of a token.
const unknownPenalty = 10

// errNoUnknown is returned for a character that has no token and a file without
// unk_id.
var errNoUnknown = errors.New("Unigram: a character has no token, and unk_id is missing")

// scored is a token and its score, written as an array of both.
type scored struct {
	token string
	score float64
}

// UnmarshalJSON reads both.
func (s *scored) UnmarshalJSON(data []byte) error {
	parts := []any{&s.token, &s.score}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != 2 || parts[0] == nil || parts[1] == nil {
		return fmt.Errorf("%.60s where a token and its score are expected", data)
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

// pathStep is the best way to a place in a word: the last token on it, where that token
// starts, and the sum of all scores. The start is noStart for a place not reached yet.
type pathStep struct {
	score     float64
	start, id int32
}

const noStart = -1

// divide appends the tokens of the best path through a word. Of equal paths to a place
// the one stays that was found first.
func (u *unigram) divide(word string, scratch *wordScratch, ids []int32) []int32 {
	path := slices.Grow(scratch.path[:0], len(word)+1)[:len(word)+1]
	scratch.path = path
	for i := range path {
		path[i].start = noStart
	}
	path[0].score = 0
	for at, look := 0, lookEvery; at < len(word); {
		if at >= look {
			if look += lookEvery; !scratch.watch.goOn(lookEvery) {
				return ids
			}
		}
		at = u.extend(word, at, path)
		if at < 0 {
			scratch.watch.fail(errNoUnknown)
			return ids
		}
	}
	return u.walk(word, path, ids)
}

// extend extends the path that ends at a place by each token that starts there, or by
// an unknown character if no token is that character. It returns the place of the next
// character, negative if there is no unknown token.
func (u *unigram) extend(word string, at int, path []pathStep) int {
	till := path[at].score
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
		path[end].offer(till+u.scores[id], at, id)
	}
	if !single && path[next].offer(till+u.unknownScore, at, u.unknown) && u.unknown == noToken {
		return noStart
	}
	return next
}

// offer takes a way to the place if it is better, and reports whether it was.
func (s *pathStep) offer(score float64, start int, id int32) bool {
	if s.start != noStart && score <= s.score {
		return false
	}
	*s = pathStep{score, int32(start), id}
	return true
}

func runeSize(text string, at int) int {
	if text[at] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeRuneInString(text[at:])
	return size
}

// walk appends the tokens of the best path, which is read from its end. Unknown
// neighbours are one.
func (u *unigram) walk(word string, path []pathStep, ids []int32) []int32 {
	before := len(ids)
	for end := len(word); end > 0; {
		id, start := path[end].id, int(path[end].start)
		if id != u.unknown {
			ids = append(ids, id)
			end = start
			continue
		}
		for start > 0 && path[start].id == u.unknown {
			start = int(path[start].start)
		}
		ids = u.appendUnknown(ids, word[start:end])
		end = start
	}
	slices.Reverse(ids[before:])
	return ids
}

// appendUnknown appends the tokens of unknown characters, the last one first. As in
// Hugging Face's library the characters may be a token together.
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
