package tokenizer

import "unicode/utf8"

// scanner matches the regular expressions of common tokenizers. An expression has
// alternatives. Each alternative is a sequence of repeated character sets, groups
// of short words, and lookaheads of one character. The scanner backtracks over
// the repetitions of a sequence, as a regular expression does. Common expressions
// take linear time.
type scanner struct {
	alternatives []alternative
}

type alternative struct {
	steps []step
	// first has the ASCII characters that the alternative may start with. Other
	// characters are always possible.
	first [utf8.RuneSelf]bool
}

// step is one part of a sequence. It has either set or words.
type step struct {
	set      *set
	min, max int // minimum and maximum number of repetitions of set
	// possessive repetitions don't backtrack.
	possessive bool
	// look makes the set a lookahead: 1 if it must follow, -1 if it must not
	// follow.
	look int
	// words are alternatives, each with one set per character. If optional, all
	// may be missing.
	words    [][]*set
	optional bool
}

func (s *scanner) spans(text string, from int, to []span) (_ []span, next int, _ error) {
	done, at := from, from
	for at < len(text) {
		end := s.match(text, at)
		if end < 0 {
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
			continue
		}
		to = append(gap(done, at, to), span{at, end, true})
		done, at = end, end
		if len(to) >= fewSpans {
			return to, done, nil
		}
	}
	return rest(text, done, to), len(text), nil
}

// match returns the end of the match that starts at an offset, or -1.
func (s *scanner) match(text string, at int) int {
	c := text[at]
	for i := range s.alternatives {
		a := &s.alternatives[i]
		if c < utf8.RuneSelf && !a.first[c] {
			continue
		}
		if end := run(a.steps, text, at); end >= 0 {
			return end
		}
	}
	return -1
}

// run returns the end of the steps that start at an offset, or -1 if they don't
// match.
func run(steps []step, text string, at int) int {
	for i := range steps {
		s := &steps[i]
		switch {
		case s.words != nil:
			return s.runWords(steps[i+1:], text, at)
		case s.look != 0:
			if _, follows := next(s.set, text, at); follows != (s.look > 0) {
				return -1
			}
		default:
			end, n := s.repeat(text, at)
			if n < s.min {
				return -1
			}
			if i+1 < len(steps) && n > s.min && !s.possessive {
				return s.giveBack(steps[i+1:], text, end, n)
			}
			at = end
		}
	}
	return at
}

// giveBack tries the following steps after n repetitions, then after fewer
// repetitions.
func (s *step) giveBack(steps []step, text string, end, n int) int {
	for {
		if found := run(steps, text, end); found >= 0 || n == s.min {
			return found
		}
		_, size := utf8.DecodeLastRuneInString(text[:end])
		end -= size
		n--
	}
}

// repeat matches as many characters of the set as possible, up to max.
func (s *step) repeat(text string, at int) (end, n int) {
	for n != s.max {
		size, ok := next(s.set, text, at)
		if !ok {
			break
		}
		at += size
		n++
	}
	return at, n
}

func (s *step) runWords(steps []step, text string, at int) int {
	for _, word := range s.words {
		if end := spell(word, text, at); end >= 0 {
			if found := run(steps, text, end); found >= 0 {
				return found
			}
		}
	}
	if s.optional {
		return run(steps, text, at)
	}
	return -1
}

func spell(word []*set, text string, at int) int {
	for _, letter := range word {
		size, ok := next(letter, text, at)
		if !ok {
			return -1
		}
		at += size
	}
	return at
}

// next reports whether the character at an offset is in the set, and returns its
// length.
func next(s *set, text string, at int) (size int, ok bool) {
	if at >= len(text) {
		return 0, false
	}
	if c := text[at]; c < utf8.RuneSelf {
		return 1, s.low[c>>6]&(1<<(c&63)) != 0
	}
	r, size := utf8.DecodeRuneInString(text[at:])
	return size, s.has(r)
}
