package serving

import (
	"bytes"
	"strings"
)

// stopTexts ends an answer at the first of its stop texts, wherever responses
// split it. Not every backend looks for them, and what ones that do let through
// holds none. The first to be complete counts, so that the result doesn't depend
// on how the text is split.
type stopTexts struct {
	texts   []string
	include bool   // the stop text stays in the answer
	held    []byte // the end of the text so far, which may begin a stop text
	joined  []byte
}

// add gives the part of the text that can go out, all of it at the end, and
// whether a stop text has come: what follows that is dropped. The result holds
// until the next call.
func (s *stopTexts) add(text []byte, end bool) (out []byte, stopped bool) {
	if len(s.texts) == 0 {
		return text, false
	}
	s.joined = append(append(s.joined[:0], s.held...), text...)
	s.held = s.held[:0]
	if first, last := s.find(); last > 0 {
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

// find gives where the stop text that is complete first begins and ends; 0, 0
// for none.
func (s *stopTexts) find() (first, last int) {
	for _, text := range s.texts {
		i := bytes.Index(s.joined, []byte(text))
		if j := i + len(text); i >= 0 && (last == 0 || j < last || j == last && i < first) {
			first, last = i, j
		}
	}
	return first, last
}

// begun is the length of the longest end of the text that begins a stop text.
func (s *stopTexts) begun() int {
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
