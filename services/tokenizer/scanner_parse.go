package tokenizer

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// newScanner compiles an expression. It returns false if the scanner doesn't
// support the expression, and a general engine must run it.
func newScanner(expr string) (*scanner, bool) {
	p := &parser{text: expr}
	s := &scanner{}
	for {
		steps := p.sequence()
		if p.beyond || !matchesSomething(steps) {
			return nil, false
		}
		s.alternatives = append(s.alternatives, alternative{steps, firstBytes(steps)})
		if p.text == "" {
			return s, true
		}
		if !p.skip("|") {
			return nil, false
		}
	}
}

// parser reads an expression from left to right. beyond is set at the first
// unsupported syntax and stays set.
type parser struct {
	text   string
	folded bool
	beyond bool
}

// matchesSomething reports whether a sequence matches at least one character.
func matchesSomething(steps []step) bool {
	for _, s := range steps {
		if (s.words != nil && !s.optional) || (s.set != nil && s.look == 0 && s.min > 0) {
			return true
		}
	}
	return false
}

// firstBytes returns the ASCII characters that a sequence may start with.
func firstBytes(steps []step) (first [utf8.RuneSelf]bool) {
	for _, s := range steps {
		for c := range rune(utf8.RuneSelf) {
			switch {
			case s.words != nil:
				for _, word := range s.words {
					first[c] = first[c] || word[0].has(c)
				}
			case s.look == 0:
				first[c] = first[c] || s.set.has(c)
			}
		}
		if matchesSomething([]step{s}) {
			break
		}
	}
	return first
}

func (p *parser) skip(prefix string) bool {
	rest, ok := strings.CutPrefix(p.text, prefix)
	if ok {
		p.text = rest
	}
	return ok
}

func (p *parser) fail() { p.beyond, p.text = true, "" }

// sequence reads steps up to the end, a bar or a closing parenthesis.
func (p *parser) sequence() []step {
	var steps []step
	for p.text != "" && p.text[0] != '|' && p.text[0] != ')' {
		steps = append(steps, p.step())
	}
	return steps
}

func (p *parser) step() step {
	switch {
	case p.skip("(?!"):
		return p.look(-1)
	case p.skip("(?="):
		return p.look(1)
	case p.skip("(?i:"):
		outer := p.folded
		p.folded = true
		s := p.group()
		p.folded = outer
		return s
	case p.skip("(?:"):
		return p.group()
	case strings.HasPrefix(p.text, "(?"):
		p.fail()
		return step{}
	case p.skip("("):
		return p.group()
	}
	s := step{set: newSet(p.atom())}
	p.quantifier(&s)
	return s
}

// look reads a lookahead of one set, after (?! or (?=.
func (p *parser) look(way int) step {
	s := step{set: newSet(p.atom()), look: way}
	if !p.skip(")") {
		p.fail()
	}
	return s
}

// group reads words up to the closing parenthesis, and an optional question
// mark.
func (p *parser) group() step {
	var s step
	for {
		var word []*set
		for _, letter := range p.sequence() {
			if letter.set == nil || letter.look != 0 || letter.min != 1 || letter.max != 1 {
				p.fail()
			}
			word = append(word, letter.set)
		}
		if s.words = append(s.words, word); len(word) == 0 {
			p.fail()
		}
		if !p.skip("|") {
			break
		}
	}
	if !p.skip(")") {
		p.fail()
	}
	s.optional = p.skip("?")
	if p.text != "" && strings.ContainsRune("?*+{", rune(p.text[0])) {
		p.fail()
	}
	return s
}

// unlimited is the max of a repetition without an upper limit.
const unlimited = -1

func (p *parser) quantifier(s *step) {
	s.min, s.max = 1, 1
	switch {
	case p.skip("?"):
		s.min = 0
	case p.skip("*"):
		s.min, s.max = 0, unlimited
	case p.skip("+"):
		s.max = unlimited
	case p.skip("{"):
		p.counts(s)
		if p.text != "" && strings.ContainsRune("?*+{", rune(p.text[0])) {
			p.fail() // it has another meaning after counts
		}
		return
	default:
		return
	}
	s.possessive = p.skip("+")
	if p.text != "" && strings.ContainsRune("?*+{", rune(p.text[0])) {
		p.fail()
	}
}

// counts reads m}, m,} or m,n} of a repetition.
func (p *parser) counts(s *step) {
	text, after, ok := strings.Cut(p.text, "}")
	low, high, ranged := strings.Cut(text, ",")
	var err error
	if s.min, err = strconv.Atoi(low); err != nil || !ok {
		p.fail()
		return
	}
	p.text, s.max = after, s.min
	if !ranged {
		return
	}
	if s.max = unlimited; high != "" {
		if s.max, err = strconv.Atoi(high); err != nil || s.max < s.min {
			p.fail()
		}
	}
}

// atom reads one character, an escape or a class in brackets.
func (p *parser) atom() []span32 {
	if p.text == "" {
		p.fail()
		return nil
	}
	switch p.text[0] {
	case '[':
		p.text = p.text[1:]
		return p.class()
	case '\\':
		return p.escape(false)
	case '.', '^', '$', '(', ')', '*', '+', '?', '{', '|':
		p.fail()
		return nil
	}
	return p.character()
}

func (p *parser) character() []span32 {
	r, size := utf8.DecodeRuneInString(p.text)
	p.text = p.text[size:]
	return p.cases([]span32{{r, r}})
}

func (p *parser) cases(ranges []span32) []span32 {
	if p.folded {
		return fold(ranges)
	}
	return ranges
}

// class reads a class after its opening bracket, up to the closing one:
// members, nested classes, and && for intersections.
func (p *parser) class() []span32 {
	negated := p.skip("^")
	both := []span32{{0, unicode.MaxRune}}
	var parts []span32
	for first := true; first || !p.skip("]"); first = false {
		switch {
		case p.text == "", p.text[0] == ']', strings.HasPrefix(p.text, "[:"):
			p.fail()
			return nil
		case p.skip("&&"):
			both, parts = without(both, complement(union(parts))), nil
		case p.skip("["):
			parts = append(parts, p.class()...)
		default:
			parts = append(parts, p.member()...)
		}
	}
	ranges := without(both, complement(union(parts)))
	if !negated {
		return ranges
	}
	if p.folded {
		p.fail() // unsupported: the order of folding and negation is unclear
	}
	return complement(ranges)
}

// member reads a character, an escape or a range within brackets.
func (p *parser) member() []span32 {
	low := p.single()
	if len(p.text) < 2 || p.text[0] != '-' || p.text[1] == ']' {
		return p.cases(low)
	}
	p.text = p.text[1:]
	high := p.single()
	if !isSingle(low) || !isSingle(high) || low[0].lo > high[0].lo {
		p.fail()
		return nil
	}
	return p.cases([]span32{{low[0].lo, high[0].lo}})
}

func isSingle(ranges []span32) bool { return len(ranges) == 1 && ranges[0].lo == ranges[0].hi }

func (p *parser) single() []span32 {
	if p.text != "" && p.text[0] == '\\' {
		return p.escape(true)
	}
	if p.text == "" || p.text[0] == '[' {
		p.fail()
		return nil
	}
	r, size := utf8.DecodeRuneInString(p.text)
	p.text = p.text[size:]
	return []span32{{r, r}}
}

// escape reads a backslash and the rest of the escape.
func (p *parser) escape(inBrackets bool) []span32 {
	if len(p.text) < 2 {
		p.fail()
		return nil
	}
	c := p.text[1]
	p.text = p.text[2:]
	switch c {
	case 'p', 'P':
		return p.property(c == 'P')
	case 's':
		return onigSpace()
	case 'S':
		return complement(onigSpace())
	case 'w':
		return onigWord(inBrackets)
	case 'W':
		return complement(onigWord(inBrackets))
	case 'd':
		return onigClass("Nd")
	case 'D':
		return complement(onigClass("Nd"))
	case 'r':
		return []span32{{'\r', '\r'}}
	case 'n':
		return []span32{{'\n', '\n'}}
	case 't':
		return []span32{{'\t', '\t'}}
	}
	if c >= utf8.RuneSelf || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)) {
		p.fail()
		return nil
	}
	return p.cases([]span32{{rune(c), rune(c)}})
}

// property reads {Name} or {^Name} of \p.
func (p *parser) property(negated bool) []span32 {
	name, after, ok := strings.Cut(strings.TrimPrefix(p.text, "{"), "}")
	if !ok || !strings.HasPrefix(p.text, "{") {
		p.fail()
		return nil
	}
	p.text = after
	if inverse, ok := strings.CutPrefix(name, "^"); ok {
		name, negated = inverse, !negated
	}
	ranges := onigClass(name)
	if ranges == nil {
		p.fail()
	}
	if negated {
		return complement(ranges)
	}
	return ranges
}
