package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is found before the model sees the text.
type addedToken struct {
	ID      int    `json:"id"` // told by the file; what counts is idOf
	Content string `json:"content"`
	// SingleWord keeps it from matching inside of a word.
	SingleWord bool `json:"single_word"`
	// LStrip and RStrip make it swallow the white space before and after.
	LStrip bool `json:"lstrip"`
	RStrip bool `json:"rstrip"`
	// Normalized makes it match in the normalized text, normalized itself.
	Normalized bool `json:"normalized"`
	Special    bool `json:"special"`
}

// add puts the added tokens into the vocabulary and makes their matchers. A token
// that the model has keeps the model's id; others are numbered on, whatever the
// file says, as Hugging Face does.
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

// matcher finds added tokens: at each place the longest, from left to right. Its
// time is linear in the text, times the length of the longest token at worst.
type matcher struct {
	// edges lead from a node of the tree of all tokens over a byte to the next.
	edges map[edge]int32
	// starts are the bytes that tokens begin with: most places end there.
	starts [256]bool
	// ends are the tokens that end at a node.
	ends map[int32]match
	next int32
	word *set // what a word is made of
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

// longest is the longest token at the beginning of a text, and its length there.
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

// split yields the text's parts in order: tokens with their ids, and with -1 what
// is between them.
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
