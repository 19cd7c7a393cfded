package tokenizer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitter is a step from a normalized text to the words for the model. It passes
// each of its parts to e.split(t, i+1, part), in order.
type splitter interface {
	split(e *encoder, t *Tokenizer, i int, p piece)
}

func newSplitters(c *component, props func() *properties) ([]splitter, error) {
	if c == nil {
		return nil, nil
	}
	switch c.kind {
	case "Sequence":
		return newSequence(c, props)
	case "Split":
		return newSplit(c)
	case "ByteLevel":
		return newByteLevel(c)
	case "Metaspace":
		return newMetaspace(c)
	case "Digits":
		return newDigits(c, props)
	case "Punctuation":
		return newPunctuation(c, props)
	case "Delimiter", "CharDelimiterSplit":
		return newDelimiter(c)
	case "BertPreTokenizer":
		return []splitter{
			&cutter{each(unicode.IsSpace), removed},
			&cutter{each(props().punctuation.has), isolated},
		}, c.bare()
	case "WhitespaceSplit":
		return []splitter{&cutter{each(unicode.IsSpace), removed}}, c.bare()
	case "Whitespace":
		return []splitter{&cutter{words{props().word}, removed}}, c.bare()
	}
	return nil, c.unknown("pre-tokenizer")
}

func newSequence(c *component, props func() *properties) ([]splitter, error) {
	var f struct {
		typed
		PreTokenizers []*component `json:"pretokenizers"`
	}
	if err := c.decode(&f); err != nil {
		return nil, err
	}
	var all []splitter
	for _, part := range f.PreTokenizers {
		s, err := newSplitters(part, props)
		if err != nil {
			return nil, err
		}
		all = append(all, s...)
	}
	return all, nil
}

// cutter splits at a pattern.
type cutter struct {
	pattern  pattern
	behavior behavior
}

func (c *cutter) split(e *encoder, t *Tokenizer, i int, p piece) {
	j := joiner{behavior: c.behavior}
	hand := func(s span) {
		if c.behavior != removed || !s.match {
			e.split(t, i+1, piece{p.text[s.start:s.end], p.first && s.start == 0})
		}
	}
	for at := 0; at < len(p.text) && e.word.watch.err == nil; {
		spans, next, err := c.pattern.spans(p.text, at, e.spans[i][:0])
		if err != nil {
			e.word.watch.fail(err)
			return
		}
		e.spans[i], at = spans, next
		for _, s := range spans {
			if done, ok := j.next(s); ok {
				hand(done)
			}
		}
	}
	if j.holds {
		hand(j.held)
	}
}

// behavior states what happens to the parts that a pattern matches.
type behavior string

const (
	removed            behavior = "Removed"
	isolated           behavior = "Isolated"
	mergedWithPrevious behavior = "MergedWithPrevious"
	mergedWithNext     behavior = "MergedWithNext"
	contiguous         behavior = "Contiguous"
)

// UnmarshalJSON reads the five names.
func (b *behavior) UnmarshalJSON(data []byte) error {
	switch *b = behavior(strings.Trim(string(data), `"`)); *b {
	case removed, isolated, mergedWithPrevious, mergedWithNext, contiguous:
		return nil
	}
	return fmt.Errorf("behavior %s is not supported", data)
}

// joiner merges adjacent parts according to a behavior.
type joiner struct {
	behavior behavior
	held     span // may be joined with the next part
	holds    bool
	matched  bool // the previous part was itself a match
}

// next processes a part. It returns a part that is now complete, if any.
func (j *joiner) next(s span) (done span, ok bool) {
	var joined bool
	switch j.behavior {
	case removed, isolated:
		return s, true
	case contiguous:
		joined = j.held.match == s.match
	case mergedWithPrevious:
		joined = s.match && !j.matched
	case mergedWithNext:
		joined = !s.match && j.matched
	}
	j.matched = s.match
	if j.holds && joined {
		j.held.end = s.end
		return span{}, false
	}
	done, ok = j.held, j.holds
	j.held, j.holds = s, true
	return done, ok
}

func newSplit(c *component) ([]splitter, error) {
	var f struct {
		typed
		Pattern  patternJSON `json:"pattern"`
		Behavior behavior    `json:"behavior"`
		Invert   bool        `json:"invert"`
	}
	if err := c.decode(&f); err != nil {
		return nil, err
	}
	p, err := f.Pattern.compile()
	if err != nil {
		return nil, fmt.Errorf("Split: %w", err)
	}
	if f.Invert {
		p = inverse{p}
	}
	return []splitter{&cutter{p, f.Behavior}}, nil
}

// inverse matches the parts that a pattern doesn't match.
type inverse struct{ of pattern }

func (p inverse) spans(text string, at int, to []span) (_ []span, next int, _ error) {
	spans, next, err := p.of.spans(text, at, to)
	for i := range spans {
		spans[i].match = !spans[i].match
	}
	return spans, next, err
}

func newDigits(c *component, props func() *properties) ([]splitter, error) {
	var f struct {
		typed
		Individual bool `json:"individual_digits"`
	}
	b := contiguous
	err := c.decode(&f)
	if f.Individual {
		b = isolated
	}
	return []splitter{&cutter{each(props().numeric.has), b}}, err
}

func newPunctuation(c *component, props func() *properties) ([]splitter, error) {
	f := struct {
		typed
		Behavior behavior `json:"behavior"`
	}{Behavior: isolated}
	err := c.decode(&f)
	return []splitter{&cutter{each(props().punctuation.has), f.Behavior}}, err
}

func newDelimiter(c *component) ([]splitter, error) {
	var f struct {
		typed
		Delimiter string `json:"delimiter"`
	}
	if err := c.decode(&f); err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(f.Delimiter) != 1 {
		return nil, fmt.Errorf("%s: delimiter %q is not one character", c.kind, f.Delimiter)
	}
	return []splitter{&cutter{literal(f.Delimiter), removed}}, nil
}

// words matches the spaces between runs of word characters and runs of other
// characters that aren't spaces.
type words struct{ word *set }

func (w words) spans(text string, at int, to []span) (_ []span, next int, _ error) {
	kind := func(r rune) int {
		switch {
		case w.word.has(r):
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 3
	}
	start, last := at, 0
	for i, r := range text[at:] {
		if k := kind(r); k != last {
			if at+i > start {
				to = append(to, span{start, at + i, last == 2})
			}
			start, last = at+i, k
			if len(to) >= fewSpans {
				return to, start, nil
			}
		}
	}
	if start < len(text) {
		to = append(to, span{start, len(text), last == 2})
	}
	return to, len(text), nil
}

// metaspace replaces spaces by another character and splits before it.
type metaspace struct {
	replacement string
	prepend     prependScheme
	cut         bool
}

type prependScheme string

const (
	always prependScheme = "always"
	first  prependScheme = "first"
	never  prependScheme = "never"
)

// metaspaceJSON is a Metaspace in the file. It may be a splitter or a decoder.
type metaspaceJSON struct {
	typed
	Replacement    string        `json:"replacement"`
	StrRep         string        `json:"str_rep"` // a copy of replacement in old files
	AddPrefixSpace *bool         `json:"add_prefix_space"`
	PrependScheme  prependScheme `json:"prepend_scheme"`
	Split          *bool         `json:"split"`
}

func (c *component) metaspace() (*metaspace, error) {
	f := metaspaceJSON{PrependScheme: always}
	if err := c.decode(&f); err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(f.Replacement) != 1 {
		return nil, fmt.Errorf("Metaspace: replacement %q is not one character", f.Replacement)
	}
	switch f.PrependScheme {
	case always, first, never:
	default:
		return nil, fmt.Errorf("Metaspace: prepend_scheme %q is not supported", f.PrependScheme)
	}
	if f.AddPrefixSpace != nil && !*f.AddPrefixSpace {
		f.PrependScheme = never
	}
	return &metaspace{f.Replacement, f.PrependScheme, f.Split == nil || *f.Split}, nil
}

func newMetaspace(c *component) ([]splitter, error) {
	m, err := c.metaspace()
	return []splitter{m}, err
}

func (m *metaspace) split(e *encoder, t *Tokenizer, i int, p piece) {
	text := strings.ReplaceAll(p.text, " ", m.replacement)
	if (m.prepend == always || m.prepend == first && p.first) && !strings.HasPrefix(text, m.replacement) {
		text = m.replacement + text
	}
	if !m.cut {
		e.split(t, i+1, piece{text, p.first})
		return
	}
	isFirst := p.first
	for text != "" {
		end := strings.Index(text[1:], m.replacement) + 1
		if end == 0 {
			end = len(text)
		}
		e.split(t, i+1, piece{text[:end], isFirst})
		text, isFirst = text[end:], false
	}
}
