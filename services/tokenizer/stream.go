package tokenizer

import (
	"slices"
	"strings"
)

// Decode returns the text of ids. With skipSpecial it omits special tokens. It
// always omits ids that aren't in the vocabulary.
func (t *Tokenizer) Decode(ids []int, skipSpecial bool) string {
	var b strings.Builder
	s := t.stream(skipSpecial, true)
	for _, id := range ids {
		b.WriteString(s.Push(id))
	}
	b.WriteString(s.End())
	return b.String()
}

// Stream returns a decoder for ids that arrive one by one. The texts of Push and
// End together equal the result of Decode, with one exception: tokens of single
// bytes (byte_fallback) may form a character that later tokens make invalid.
// Decode then replaces the character, but the stream has already emitted it. The
// stream holds back at most an incomplete character and tokens that the file's
// decoder can only decode with the next token.
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

// Stream decodes one text. Its methods must not be called concurrently.
type Stream struct {
	t    *Tokenizer
	skip bool
	push func(token string)
	end  func()
	out  []byte
}

// Push takes the next id and returns the text that is now final, often "".
func (s *Stream) Push(id int) string {
	token, ok := s.t.Token(id)
	if !ok || s.skip && s.t.vocabulary.special[token] {
		return ""
	}
	s.push(token)
	return s.take()
}

// End returns the text that was held back. The stream must not be used afterwards.
func (s *Stream) End() string {
	s.end()
	return s.take()
}

func (s *Stream) take() string {
	text := string(s.out)
	s.out = s.out[:0]
	return text
}

// Bytes returns the bytes of a token inside of a text. A token may be a part of a
// character. Bytes returns nil for an id that isn't in the vocabulary.
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
