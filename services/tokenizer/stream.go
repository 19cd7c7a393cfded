package tokenizer

import (
	"slices"
	"strings"
)

// Decode is the text of ids. With skipSpecial the special tokens are left out;
// ids that the vocabulary lacks always are.
func (t *Tokenizer) Decode(ids []int, skipSpecial bool) string {
	var b strings.Builder
	s := t.stream(skipSpecial, true)
	for _, id := range ids {
		b.WriteString(s.Push(id))
	}
	b.WriteString(s.End())
	return b.String()
}

// Stream is a decoder of ids that come one by one. The texts of Push and End
// together are what Decode makes of the ids, except where tokens of single bytes
// (byte_fallback) make a character and then none: Decode takes back the character.
// It holds back at most an incomplete character, and what the file's decoder
// needs to see the next token for.
func (t *Tokenizer) Stream(skipSpecial bool) *Stream { return t.stream(skipSpecial, false) }

func (t *Tokenizer) stream(skipSpecial, whole bool) *Stream {
	s := &Stream{t: t, skip: skipSpecial}
	s.push = func(text string) { s.out = append(s.out, text...) }
	s.end = func() {}
	for _, d := range slices.Backward(t.decoders) {
		next, end, stage := s.push, s.end, d.start(whole)
		s.push = func(token string) { stage.push(token, next) }
		s.end = func() {
			stage.end(next)
			end()
		}
	}
	return s
}

// Stream decodes one text. Its methods may not be called concurrently.
type Stream struct {
	t    *Tokenizer
	skip bool
	push func(token string)
	end  func()
	out  []byte
}

// Push takes the next id and returns the text that is known by then, often "".
func (s *Stream) Push(id int) string {
	token, ok := s.t.Token(id)
	if !ok || s.skip && s.t.vocabulary.special[token] {
		return ""
	}
	s.push(token)
	return s.take()
}

// End returns what was held back. The stream is over then.
func (s *Stream) End() string {
	s.end()
	return s.take()
}

func (s *Stream) take() string {
	text := string(s.out)
	s.out = s.out[:0]
	return text
}

// Bytes is what a token stands for inside of a text, as bytes: a token may be a
// part of a character. It is nil for an id that the vocabulary lacks.
func (t *Tokenizer) Bytes(id int) []byte {
	token, ok := t.Token(id)
	if !ok {
		return nil
	}
	b := []byte(token)
	for _, d := range t.decoders {
		if d.bytes != nil {
			b = d.bytes(b)
		}
	}
	return b
}
