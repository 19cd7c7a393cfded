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

// span is a part of a text, in bytes. match reports whether a pattern matches it.
type span struct {
	start, end int
	match      bool
}

// pattern cuts a text into its matches and the parts between them.
type pattern interface {
	// spans appends parts of the text from an offset on, in order. It stops after a match
	// once there are fewSpans parts. It returns the offset at which to continue, which is
	// the text's length if there are no more parts.
	spans(text string, at int, to []span) (_ []span, next int, _ error)
}

// fewSpans is the number of parts of a text that are found at a time. A long text may have
// one part per character.
const fewSpans = 4096

// patternJSON is a pattern in tokenizer.json: a string or a regular expression.
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
	return nil, errors.New("the field pattern needs a String or a Regex that isn't empty")
}

// literal matches a string.
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

// newRegex compiles a regular expression in Oniguruma's syntax. Nearly all expressions of
// real tokenizers run on this package's scanner. The scanner is ten times as fast as a
// general engine, allocates nothing, and agrees with Oniguruma on which characters are
// letters and spaces. Other expressions run on regexp2.
func newRegex(expr string) (pattern, error) {
	if s, ok := newScanner(expr); ok {
		return s, nil
	}
	if strange := dialectSyntax.FindString(expr); strange != "" {
		return nil, fmt.Errorf("%q in the pattern %q is not supported", strange, expr)
	}
	return newGeneral(expr)
}

func newGeneral(expr string) (pattern, error) {
	re, err := regexp2.Compile(translate(expr), regexp2.Multiline) // ^ and $ match at each line, as in Oniguruma
	if err != nil {
		return nil, fmt.Errorf("the pattern %q is not supported: %w", expr, err)
	}
	re.MatchTimeout = patternLimit
	return general{re}, nil
}

// patternLimit is the time limit for one match, and textLimit that for a whole text.
const (
	patternLimit = time.Second
	textLimit    = 5 * time.Second
)

// dialectSyntax matches syntax that the two dialects interpret differently.
var dialectSyntax = regexp.MustCompile(`\\[hHRXOKNyYGkgMCWBZ]|&&|\[:|\(\?[a-z]*[imx]|[*+?}]\+|\(\?~`)

// translate replaces Oniguruma's \w and \b by expressions for regexp2, whose \w and \b
// exclude enclosed letters and others.
func translate(expr string) string {
	var b strings.Builder
	inside := false // inside is true inside of brackets
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

// members returns ranges in the syntax of brackets, without special characters.
func members(ranges []span32) string {
	var b strings.Builder
	for _, r := range ranges {
		b.WriteRune(r.lo)
		b.WriteByte('-')
		b.WriteRune(r.hi)
	}
	return b.String()
}

// general matches a regular expression that the scanner doesn't support.
type general struct{ re *regexp2.Regexp }

// spans finds all matches from left to right. An empty match directly after the previous
// one doesn't apply. The text is converted to runes once.
func (g general) spans(text string, from int, to []span) (_ []span, next int, _ error) {
	runes := []rune(text[from:])
	done, last := from, -1
	offset, counted := from, 0 // bytes before the rune
	began := time.Now()        //nolint:forbidigo // a time limit, like regexp2's for a match
	for at := 0; at <= len(runes); {
		m, err := g.re.FindRunesMatchStartingAt(runes, at)
		if err != nil || time.Since(began) > textLimit { //nolint:forbidigo // the time limit for a text
			return to, len(text), fmt.Errorf("a regular expression of the tokenizer exceeded the limit of %v for a match or %v for a text", patternLimit, textLimit)
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
