package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is matched in the text before the model splits it.
type addedToken struct {
	ID      int    `json:"id"` // id in the file; idOf returns the effective id
	Content string `json:"content"`
	// SingleWord prevents a match inside of a word.
	SingleWord bool `json:"single_word"`
	// LStrip and RStrip extend a match over the white space before and after it.
	LStrip bool `json:"lstrip"`
	RStrip bool `json:"rstrip"`
	// Normalized makes the token match in the normalized text. The token is
	// normalized too.
	Normalized bool `json:"normalized"`
	Special    bool `json:"special"`
}

// add adds the added tokens to the vocabulary and builds their matchers. A token
// that the model has keeps the model's id. Other tokens get the next free ids,
// whatever the file states, as in Hugging Face's library.
func (t *Tokenizer) add(added []addedToken, word *set) error {
	v := &t.vocabulary
	t.verbatim, t.normalized = newMatcher(word), newMatcher(word)
	next, known := int32(v.models), v.models
	final := map[int32]addedToken{}
	for _, token := range added {
		if token.Content == "" {
			continue
		}
		id, ok := v.idOf(token.Content)
		if !ok {
			id = next
			next++
			known++
		}
		v.addedIDs[token.Content] = id
		v.special[token.Content] = v.special[token.Content] || token.Special
		final[id] = token
	}
	v.size = known
	for id, token := range final {
		text := token.Content
		if token.Normalized {
			var err error
			if text, err = t.normalizer.apply(text); err != nil {
				return err
			}
			t.normalized.add(text, id, token)
		} else {
			t.verbatim.add(text, id, token)
		}
		if err := v.set(text, id); err != nil {
			return err
		}
	}
	return nil
}

func (v *vocabulary) idOf(token string) (int32, bool) {
	if id, ok := v.addedIDs[token]; ok {
		return id, true
	}
	id, ok := v.ids[token]
	return id, ok
}

// matcher finds added tokens from left to right, the longest at each position.
// Its time is linear in the text, in the worst case times the length of the
// longest token.
type matcher struct {
	// edges lead from a node of the tree of all tokens over a byte to the next
	// node.
	edges map[edge]int32
	// starts has the first bytes of tokens. The search ends there at most
	// positions.
	starts [256]bool
	// ends has the nodes at which a token ends, each with that token.
	ends map[int32]match
	next int32
	word *set // the word characters
}

type edge struct {
	node int32
	over byte
}

type match struct {
	id    int32
	token addedToken
}

func newMatcher(word *set) *matcher {
	return &matcher{edges: map[edge]int32{}, ends: map[int32]match{}, word: word}
}

func (m *matcher) add(text string, id int32, token addedToken) {
	if text == "" {
		return
	}
	m.starts[text[0]] = true
	node := int32(0)
	for i := range len(text) {
		to, ok := m.edges[edge{node, text[i]}]
		if !ok {
			m.next++
			to = m.next
			m.edges[edge{node, text[i]}] = to
		}
		node = to
	}
	m.ends[node] = match{id, token}
}

// longest returns the longest token that is a prefix of text, and its length.
func (m *matcher) longest(text string) (found match, length int) {
	node := int32(0)
	for i := range len(text) {
		next, ok := m.edges[edge{node, text[i]}]
		if !ok {
			break
		}
		node = next
		if end, ok := m.ends[node]; ok {
			found, length = end, i+1
		}
	}
	return found, length
}

// split yields the text's parts in order. Tokens have their ids, and the parts
// between them have -1.
func (m *matcher) split(text string, yield func(p piece, id int32)) {
	done := 0
	for at := 0; at < len(text); {
		if !m.starts[text[at]] {
			at++
			continue
		}
		found, length := m.longest(text[at:])
		if length == 0 {
			at++
			continue
		}
		start, stop := at, at+length
		at = stop
		if found.token.SingleWord && (m.wordBefore(text[:start]) || m.wordAfter(text[stop:])) {
			continue
		}
		if found.token.LStrip {
			start = max(len(strings.TrimRightFunc(text[:start], unicode.IsSpace)), done)
		}
		if found.token.RStrip {
			stop = len(text) - len(strings.TrimLeftFunc(text[stop:], unicode.IsSpace))
		}
		if done < start {
			yield(piece{text[done:start], done == 0}, -1)
		}
		yield(piece{text[start:stop], start == 0}, found.id)
		done = stop
	}
	if done < len(text) {
		yield(piece{text[done:], done == 0}, -1)
	}
}

func (m *matcher) wordBefore(text string) bool {
	r, size := utf8.DecodeLastRuneInString(text)
	return size > 0 && m.word.has(r)
}

func (m *matcher) wordAfter(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	return size > 0 && m.word.has(r)
}
