package serving

import (
	"bytes"
	"strings"
)

// stopSequences ends an answer at its first stop sequence, even if a sequence is split between responses.
// Not every backend searches for stop sequences. If a backend does, its output contains no stop sequence.
// The first sequence to be complete applies, so that the result doesn't depend on the split of the text.
type stopSequences struct {
	texts   []string
	include bool   // keep the stop sequence in the answer
	found   string // the stop sequence that was found
	held    []byte // the longest suffix so far that is a prefix of a stop sequence
	joined  []byte
}

// add returns the part of the text that can be emitted, which is all of it at the end. It also
// reports whether a stop sequence was found; the text after the sequence is dropped. The result is
// valid until the next call.
func (s *stopSequences) add(text []byte, end bool) (out []byte, stopped bool) {
	if len(s.texts) == 0 {
		return text, false
	}
	s.joined = append(append(s.joined[:0], s.held...), text...)
	s.held = s.held[:0]
	if first, last := s.find(); last > 0 {
		s.found = string(s.joined[first:last])
		if s.include {
			first = last
		}
		return s.joined[:first], true
	}
	cut := len(s.joined)
	if !end {
		cut -= s.begun()
	}
	s.held = append(s.held, s.joined[cut:]...)
	return s.joined[:cut], false
}

// find returns the start and end of the stop sequence that is complete first, or 0, 0.
func (s *stopSequences) find() (first, last int) {
	for _, text := range s.texts {
		i := bytes.Index(s.joined, []byte(text))
		if j := i + len(text); i >= 0 && (last == 0 || j < last || j == last && i < first) {
			first, last = i, j
		}
	}
	return first, last
}

// begun returns the length of the longest suffix that is a prefix of a stop sequence.
func (s *stopSequences) begun() int {
	longest := 0
	for _, text := range s.texts {
		for n := min(len(text)-1, len(s.joined)); n > longest; n-- {
			if strings.HasPrefix(text, string(s.joined[len(s.joined)-n:])) {
				longest = n
			}
		}
	}
	return longest
}
