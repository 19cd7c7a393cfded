package tokenizer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// span is a part of a text, in bytes, and whether a pattern matches it.
type span struct {
	start, end int
	match      bool
}

// pattern cuts a text into what it matches and what lies between.
type pattern interface {
	// spans appends parts of the text from a place on, in order. It stops behind a match
	// once there are fewSpans, and returns where to go on: the end when there are no more.
	spans(text string, at int, to []span) (_ []span, next int, _ error)
}

// fewSpans is how many parts of a text are found at a time: a long text has as many as
// characters.
const fewSpans = 4096

// patternJSON is how the file writes a pattern.
type patternJSON struct {
	String *string
	Regex  *string
}

func (p patternJSON) compile() (pattern, error) {
	switch {
	case p.String != nil && *p.String != "":
		return literal(*p.String), nil
	case p.Regex != nil && *p.Regex != "":
		return newRegex(*p.Regex)
	}
	return nil, errors.New("the pattern is empty")
}

// literal matches a text.
type literal string

func (l literal) spans(text string, at int, to []span) (_ []span, next int, _ error) {
	done := at
	for {
		if len(to) >= fewSpans {
			return to, done, nil
		}
		i := strings.Index(text[done:], string(l))
		if i < 0 {
			return rest(text, done, to), len(text), nil
		}
		start := done + i
		to = gap(done, start, to)
		done = start + len(l)
		to = append(to, span{start, done, true})
	}
}

// each matches single characters.
type each func(r rune) bool

func (f each) spans(text string, at int, to []span) (_ []span, next int, _ error) {
	done := at
	for i, r := range text[at:] {
		if f(r) {
			start, end := at+i, at+i+utf8.RuneLen(r)
			to = append(gap(done, start, to), span{start, end, true})
			done = end
			if len(to) >= fewSpans {
				return to, done, nil
			}
		}
	}
	return rest(text, done, to), len(text), nil
}

func gap(from, until int, to []span) []span {
	if from < until {
		to = append(to, span{from, until, false})
	}
	return to
}

func rest(text string, from int, to []span) []span { return gap(from, len(text), to) }

// newRegex compiles a regular expression, which the file writes as Oniguruma
// takes it. Nearly all that real tokenizers have run on a scanner of our own: it is
// ten times as fast as a general engine and allocates nothing, and in what letters
// and spaces are it follows Oniguruma. The others run on regexp2.
func newRegex(expr string) (pattern, error) {
	if s, ok := newScanner(expr); ok {
		return s, nil
	}
	if strange := foreign.FindString(expr); strange != "" {
		return nil, fmt.Errorf("%q in the pattern %q is not supported", strange, expr)
	}
	return newGeneral(expr)
}

func newGeneral(expr string) (pattern, error) {
	re, err := regexp2.Compile(translate(expr), regexp2.Multiline) // as Oniguruma's ^ and $
	if err != nil {
		return nil, fmt.Errorf("the pattern %q is not supported: %w", expr, err)
	}
	re.MatchTimeout = patternLimit
	return general{re}, nil
}

// patternLimit bounds the search for one match, and textLimit that for all of a text.
const (
	patternLimit = time.Second
	textLimit    = 5 * time.Second
)

// foreign is what the two dialects take differently.
var foreign = regexp.MustCompile(`\\[hHRXOKNyYGkgMCWBZ]|&&|\[:|\(\?[a-z]*[imx]|[*+?}]\+|\(\?~`)

// translate writes \w and \b of Oniguruma for regexp2, whose own leave out letters
// in circles and others.
func translate(expr string) string {
	var b strings.Builder
	inside := false // of brackets
	for i := 0; i < len(expr); i++ {
		escaped := expr[i] == '\\' && i+1 < len(expr)
		switch {
		case escaped && expr[i+1] == 'w' && inside:
			b.WriteString(members(onigWord(true)))
		case escaped && expr[i+1] == 'w':
			b.WriteString("[" + members(onigWord(false)) + "]")
		case escaped && expr[i+1] == 'b' && !inside:
			border := "(?:(?<=W)(?!W)|(?<!W)(?=W))"
			b.WriteString(strings.ReplaceAll(border, "W", "["+members(onigWord(false))+"]"))
		case escaped:
			b.WriteString(expr[i : i+2])
		default:
			inside = expr[i] == '[' || inside && expr[i] != ']'
			b.WriteByte(expr[i])
			continue
		}
		i++
	}
	return b.String()
}

// members writes ranges, in which nothing is special, for brackets.
func members(ranges []span32) string {
	var b strings.Builder
	for _, r := range ranges {
		b.WriteRune(r.lo)
		b.WriteByte('-')
		b.WriteRune(r.hi)
	}
	return b.String()
}

// general matches a regular expression that the scanner doesn't take.
type general struct{ re *regexp2.Regexp }

// spans finds all matches from left to right, an empty one not where the last ended: the
// text becomes characters once.
func (g general) spans(text string, from int, to []span) (_ []span, next int, _ error) {
	runes := []rune(text[from:])
	done, last := from, -1
	offset, counted := from, 0 // bytes before the rune
	began := time.Now()        //nolint:forbidigo // a limit by the clock, as the one of regexp2 for a match
	for at := 0; at <= len(runes); {
		m, err := g.re.FindRunesMatchStartingAt(runes, at)
		if err != nil || time.Since(began) > textLimit { //nolint:forbidigo // the same
			return to, len(text), fmt.Errorf("a pattern of the tokenizer took longer than %v for a match, or %v for a text", patternLimit, textLimit)
		}
		if m == nil {
			break
		}
		if m.Length == 0 && m.Index == last {
			at = m.Index + 1
			continue
		}
		for ; counted < m.Index; counted++ {
			offset += utf8.RuneLen(runes[counted])
		}
		start := offset
		for ; counted < m.Index+m.Length; counted++ {
			offset += utf8.RuneLen(runes[counted])
		}
		to = append(gap(done, start, to), span{start, offset, true})
		done, at, last = offset, m.Index+m.Length, m.Index+m.Length
	}
	return rest(text, done, to), len(text), nil
}
