package structured

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// grammarValue checks an EBNF grammar in the form of xgrammar and llama.cpp (GBNF). Lark's form is
// only for llguidance, which checks it itself.
func (b Backends) grammarValue(value json.RawMessage) (json.RawMessage, error) {
	judged, size, err := b.grammarSized(value)
	if err != nil {
		return nil, err
	}
	return judged, size.refusal(b, "", "a grammar")
}

// grammarSized judges a grammar by its constructs.
func (b Backends) grammarSized(value json.RawMessage) (json.RawMessage, *sizer, error) {
	var text string
	if err := json.Unmarshal(value, &text); err != nil || strings.TrimSpace(text) == "" {
		return nil, nil, wrongf("", "the grammar is not a string")
	}
	if err := b.need(XGrammar|Guidance, "", "a grammar"); err != nil {
		return nil, nil, err
	}
	if b == Guidance {
		return value, &sizer{}, nil
	}
	if lark.MatchString(text) && !strings.Contains(text, "::=") {
		return nil, nil, &RefusalError{Construct: "a grammar in Lark's form", SupportedBy: Guidance}
	}
	g := &grammarParser{backends: b, rest: text, rules: map[string]*rule{}}
	if err := g.parse(); err != nil {
		return nil, nil, err
	}
	judged, err := marshal(g.String())
	return judged, g.size(), err
}

var (
	lark     = regexp.MustCompile(`(?m)^\s*(?:%|[?!]?[A-Za-z_]\w*(?:\.\d+)?\s*:)`)
	ruleName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*`)
	ruleHead = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*[ \t]*::=`)
)

// rule is a rule of a grammar. Its refs are the rules that it uses.
type rule struct {
	name   string
	text   string
	refs   []string
	body   *expr
	follow byteSet // the bytes that may follow the text of the rule
	inline int64   // the rule's size where an alternative starts with the rule
}

// grammarParser rewrites a grammar: one line for each rule, with names and escapes that all of the
// backends read in the same way.
type grammarParser struct {
	backends Backends
	rest     string
	rules    map[string]*rule
	order    []*rule
	now      *rule
	out      strings.Builder
	tree     builder
}

func (g *grammarParser) parse() error {
	for g.skip(true); g.rest != ""; g.skip(true) {
		if err := g.rule(); err != nil {
			return err
		}
	}
	if g.rules["root"] == nil {
		return wrongf("", "the grammar has no rule with the name root")
	}
	for _, r := range g.order {
		for _, ref := range r.refs {
			if g.rules[ref] == nil {
				return wrongf(r.name, "the rule refers to %s, which the grammar doesn't define", ref)
			}
		}
	}
	return nil
}

// String returns the rules that root needs, with new names. llguidance changes the case of names
// and may merge two of them.
func (g *grammarParser) String() string {
	needed, order := g.needed()
	lines := make([]string, len(order))
	for i, r := range order {
		parts := strings.Split(r.text, "\x00") // every second part is a name
		for j := 1; j < len(parts); j += 2 {
			parts[j] = needed[parts[j]]
		}
		lines[i] = needed[r.name] + " ::= " + strings.Join(parts, "")
	}
	return strings.Join(lines, "\n")
}

// needed returns the rules that root needs, and their new names.
func (g *grammarParser) needed() (names map[string]string, order []*rule) {
	names, order = map[string]string{"root": "root"}, []*rule{g.rules["root"]}
	for i := 0; i < len(order); i++ {
		for _, ref := range order[i].refs {
			if names[ref] == "" {
				names[ref] = "r" + strconv.Itoa(len(names))
				order = append(order, g.rules[ref])
			}
		}
	}
	return names, order
}

// skip skips spaces, tabs and comments, and with lines also line ends.
func (g *grammarParser) skip(lines bool) {
	for {
		g.rest = strings.TrimLeft(g.rest, " \t")
		switch {
		case strings.HasPrefix(g.rest, "#"):
			end := strings.IndexAny(g.rest, "\r\n")
			if end < 0 {
				end = len(g.rest)
			}
			g.rest = g.rest[end:]
		case lines && g.rest != "" && strings.IndexByte("\r\n", g.rest[0]) >= 0:
			g.rest = g.rest[1:]
		default:
			return
		}
	}
}

func (g *grammarParser) wrong(format string, args ...any) error {
	path := ""
	if g.now != nil {
		path = g.now.name
	}
	return wrongf(path, format, args...)
}

func (g *grammarParser) refuse(supporting Backends, construct string) error {
	return &RefusalError{Path: g.now.name, Construct: construct, SupportedBy: supporting}
}

func (g *grammarParser) rule() error {
	name := ruleName.FindString(g.rest)
	if name == "" {
		return wrongf("", "the grammar has %q where the name of a rule is expected", cut(g.rest))
	}
	g.rest = g.rest[len(name):]
	g.skip(false)
	rest, ok := strings.CutPrefix(g.rest, "::=")
	if !ok {
		return wrongf(name, "the grammar has %q where ::= is expected", cut(g.rest))
	}
	if g.rules[name] != nil {
		return wrongf(name, "the grammar defines the rule twice")
	}
	g.rest = rest
	g.now = &rule{name: name}
	g.rules[name] = g.now
	g.order = append(g.order, g.now)
	g.out.Reset()
	g.skip(true)
	body, err := g.alternatives(0)
	if err != nil {
		return err
	}
	g.now.body, g.now.text = body, g.out.String()
	g.skip(false)
	if g.rest != "" && strings.IndexByte("\r\n", g.rest[0]) < 0 {
		return g.wrong("the grammar has invalid syntax at %q", cut(g.rest))
	}
	return nil
}

func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), 20)], "") }

// next skips to the next element of a rule. It also skips line ends, unless the next rule starts
// after them.
func (g *grammarParser) next(depth int) {
	g.skip(false)
	before := g.rest
	g.skip(true)
	if depth == 0 && ruleHead.MatchString(g.rest) {
		g.rest = before
	}
}

func (g *grammarParser) alternatives(depth int) (*expr, error) {
	if depth > maxGroups {
		return nil, g.wrong("the grammar has parentheses nested deeper than %d levels: simplify the rule", maxGroups)
	}
	g.tree.open()
	for {
		if err := g.sequence(depth); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(g.rest, "|") {
			return g.tree.close(), nil
		}
		g.tree.or()
		g.rest = g.rest[1:]
		g.out.WriteString(" | ")
		g.next(depth)
	}
}

func (g *grammarParser) sequence(depth int) error {
	for n := 0; ; n++ {
		g.next(depth)
		if g.rest == "" || strings.IndexByte("|)\r\n", g.rest[0]) >= 0 {
			if n == 0 {
				g.out.WriteString(`""`)
			}
			return nil
		}
		if n > 0 {
			g.out.WriteByte(' ')
		}
		repeats, err := g.element(depth)
		if err != nil {
			return err
		}
		if err := g.quantifier(repeats); err != nil {
			return err
		}
	}
}

// element writes one element. The result repeats is true if the element can't be repeated: a group
// that ends in a repetition, or an empty string.
func (g *grammarParser) element(depth int) (repeats bool, _ error) {
	switch g.rest[0] {
	case '"':
		empty := strings.HasPrefix(g.rest, `""`)
		return empty, g.text()
	case '[':
		return false, g.class()
	case '(':
		return g.group(depth)
	case '.':
		return false, g.refuse(Guidance, "the wildcard . for any character")
	}
	name := ruleName.FindString(g.rest)
	if name == "" {
		return false, g.wrong("the grammar has invalid syntax at %q", cut(g.rest))
	}
	g.rest = g.rest[len(name):]
	if strings.HasPrefix(g.rest, "(") {
		return false, g.refuse(XGrammar, "the macro "+name)
	}
	g.tree.add(&expr{op: opRef, name: name})
	g.now.refs = append(g.now.refs, name)
	g.out.WriteString("\x00" + name + "\x00")
	return false, nil
}

func (g *grammarParser) group(depth int) (repeats bool, _ error) {
	g.rest = g.rest[1:]
	if strings.HasPrefix(g.rest, "=") {
		return false, g.refuse(0, "a lookahead")
	}
	start := g.out.Len()
	g.out.WriteByte('(')
	group, err := g.alternatives(depth + 1)
	if err != nil {
		return false, err
	}
	if !strings.HasPrefix(g.rest, ")") {
		return false, g.wrong("the grammar has a ( without a closing )")
	}
	g.tree.add(group)
	g.rest = g.rest[1:]
	inside := g.out.String()[start+1:]
	g.out.WriteByte(')')
	return inside != "" && strings.IndexByte("*+?}", inside[len(inside)-1]) >= 0, nil
}

func (g *grammarParser) quantifier(repeats bool) error {
	rest := strings.TrimLeft(g.rest, " \t")
	if rest == "" || strings.IndexByte("*+?{", rest[0]) < 0 {
		return nil
	}
	g.rest = rest
	if repeats {
		return g.refuse(0, "a repetition of an empty string, or of a group that ends in a repetition")
	}
	if g.rest[0] != '{' {
		g.tree.sign(g.rest[0])
		g.out.WriteByte(g.rest[0])
		g.rest = g.rest[1:]
	} else if err := g.repeat(); err != nil {
		return err
	}
	if g.rest != "" && strings.IndexByte("*+?{", g.rest[0]) >= 0 {
		return g.refuse(0, "a repetition of a repetition")
	}
	return nil
}

func (g *grammarParser) repeat() error {
	body, rest, ok := strings.Cut(g.rest[1:], "}")
	body = strings.NewReplacer(" ", "", "\t", "").Replace(body)
	least, most, two := strings.Cut(body, ",")
	lo, err := strconv.ParseUint(least, 10, 31)
	hi := lo
	if err == nil && two && most != "" {
		hi, err = strconv.ParseUint(most, 10, 31)
	}
	if !ok || err != nil || lo > hi || hi > maxRepeat {
		return g.wrong("the grammar has a { without a number of repetitions up to %d after it", maxRepeat)
	}
	g.tree.repeat(int(lo), limitOf(hi, two && most == ""))
	g.out.WriteString("{" + body + "}")
	g.rest = rest
	return nil
}

// text writes a string.
func (g *grammarParser) text() error {
	g.rest = g.rest[1:]
	var text strings.Builder
	for !strings.HasPrefix(g.rest, `"`) {
		r, err := g.char()
		if err != nil {
			return err
		}
		if r < ' ' && !strings.ContainsRune("\n\r\t", r) || r == 0x7f {
			return g.refuse(XGrammar, "a control character")
		}
		text.WriteRune(r)
	}
	g.rest = g.rest[1:]
	g.tree.add(literalOf(text.String()))
	g.out.WriteString(quoteEBNF(text.String()))
	return nil
}

// quoteEBNF quotes a string with the escapes that both backends support.
func quoteEBNF(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text) + `"`
}

// char reads a character or an escape.
func (g *grammarParser) char() (rune, error) {
	r, size := utf8.DecodeRuneInString(g.rest)
	switch {
	case g.rest == "" || r == '\n' || r == '\r':
		return 0, g.wrong("the grammar has a string or a character class that is not closed")
	case r != '\\':
		g.rest = g.rest[size:]
		return r, nil
	case len(g.rest) < 2:
		return 0, g.wrong(`the grammar ends in a \`)
	}
	c := g.rest[1]
	if r, ok := map[byte]rune{'n': '\n', 'r': '\r', 't': '\t', '0': 0}[c]; ok {
		g.rest = g.rest[2:]
		return r, nil
	}
	if digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]; digits > 0 {
		n, err := strconv.ParseUint(g.rest[2:min(2+digits, len(g.rest))], 16, 31)
		if err != nil || len(g.rest) < 2+digits || n > utf8.MaxRune || n >= 0xd800 && n < 0xe000 {
			return 0, g.wrong(`the grammar has an escape \%c without its hexadecimal digits`, c)
		}
		g.rest = g.rest[2+digits:]
		return rune(n), nil
	}
	if c < 0x80 && !isLetterOrDigit(c) {
		g.rest = g.rest[2:]
		return rune(c), nil
	}
	return 0, g.wrong(`the grammar has the unknown escape \%c`, c)
}

// class writes a class in brackets. A hyphen comes last, because not all backends support its
// escape.
func (g *grammarParser) class() error {
	g.rest = g.rest[1:]
	negated := strings.HasPrefix(g.rest, "^")
	g.rest = strings.TrimPrefix(g.rest, "^")
	var inside strings.Builder
	var set byteSet
	dash, caret := "", ""
	for !strings.HasPrefix(g.rest, "]") {
		from, err := g.classChar()
		if err != nil {
			return err
		}
		to := from
		if len(g.rest) > 1 && g.rest[0] == '-' && g.rest[1] != ']' {
			g.rest = g.rest[1:]
			if to, err = g.classChar(); err != nil {
				return err
			}
		}
		if from <= to {
			set = set.with(span(byte(from), byte(to))) // both are of ASCII
		}
		switch {
		case to < from:
			return g.wrong("the grammar has a character class with a reversed range")
		case from == '-' && to == '-':
			dash = "-"
		case from == '^' && to == '^':
			caret = "^"
		case from == '-' || to == '-' || from == '^':
			return g.refuse(0, "a range in a character class that starts or ends with - or ^")
		case to > from:
			inside.WriteString(quoteClass(from) + "-" + quoteClass(to))
		default:
			inside.WriteString(quoteClass(from))
		}
	}
	g.rest = g.rest[1:]
	open, body := "[", inside.String()
	if negated {
		open = "[^"
	}
	if body+caret+dash == "" {
		return g.wrong("the grammar has an empty character class")
	}
	g.tree.add(classOf(set, negated))
	if body == "" && caret != "" && !negated { // the caret must not come first in a class
		if dash != "" {
			g.out.WriteString(`("^" | "-")`)
		} else {
			g.out.WriteString(`"^"`)
		}
		return nil
	}
	g.out.WriteString(open + body + caret + dash + "]")
	return nil
}

func (g *grammarParser) classChar() (rune, error) {
	r, err := g.char()
	if err != nil {
		return 0, err
	}
	if r > 0x7e || r < ' ' && !strings.ContainsRune("\n\r\t", r) {
		return 0, g.refuse(Guidance, fmt.Sprintf("the character %+q in a character class", r))
	}
	return r, nil
}

func quoteClass(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	case ']', '\\', '[':
		return `\` + string(r)
	}
	return string(r)
}
