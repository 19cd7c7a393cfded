package structured

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// regexValue checks a regular expression that the whole answer must match.
func (b Backends) regexValue(value json.RawMessage) (json.RawMessage, error) {
	judged, size, err := b.regexSized(value)
	if err != nil {
		return nil, err
	}
	return judged, size.refusal(b, "", "a regular expression")
}

// regexSized judges a regular expression by its constructs.
func (b Backends) regexSized(value json.RawMessage) (json.RawMessage, *sizer, error) {
	var pattern string
	if err := json.Unmarshal(value, &pattern); err != nil || pattern == "" {
		return nil, nil, wrongf("", "the regular expression is not a string")
	}
	size := &sizer{}
	body := asciiClasses(pattern)
	if b != Guidance {
		var err error
		if body, size, err = b.regex(pattern, "", false); err != nil {
			return nil, nil, err
		}
	}
	judged, err := marshal(body)
	return judged, size, err
}

// pattern checks the pattern of a string. In JSON Schema, other text may surround the match of a
// pattern without anchors. The engines must generate strings that match as a whole.
func (b Backends) pattern(pattern, path string) (string, *sizer, error) {
	if err := b.need(XGrammar|Guidance, path, "the keyword pattern"); err != nil {
		return "", nil, err
	}
	body, size, err := b.regex(pattern, path, true)
	return "^(?:" + body + ")$", size, err
}

// regex rewrites a regular expression. It removes constructs without meaning in a match of the
// whole text: names of groups, laziness, anchors at the ends. regex replaces \d, \w and \s by their
// ASCII characters, as in ECMA 262. A dot matches any character except a line end.
//
// In a JSON string, xgrammar writes a match without escapes. Therefore characters that JSON escapes
// must not match.
func (b Backends) regex(pattern, path string, inString bool) (string, *sizer, error) {
	p := &regexParser{backends: b, rest: pattern, path: path, inString: inString}
	whole, err := p.alternatives(0)
	if err != nil {
		return "", nil, err
	}
	if p.rest != "" {
		return "", nil, p.wrong("the regular expression has a ) without a matching (")
	}
	size := &sizer{}
	size.whole(whole, byteSet{})
	return p.out.String(), size, nil
}

// maxGroups is the maximum nesting depth of groups.
const maxGroups = 100

type regexParser struct {
	backends Backends
	rest     string
	path     string
	inString bool
	out      strings.Builder
	tree     builder
}

func (p *regexParser) wrong(what string) error { return wrongf(p.path, "%s", what) }

func (p *regexParser) need(supporting Backends, construct string) error {
	return p.backends.need(supporting, p.path, construct)
}

// refuse returns the error about a construct that can't be rewritten, even if all backends support
// it.
func (p *regexParser) refuse(supporting Backends, construct string) error {
	return &RefusalError{Path: p.path, Construct: construct, SupportedBy: supporting}
}

func (p *regexParser) take(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *regexParser) alternatives(depth int) (*expr, error) {
	if depth > maxGroups {
		return nil, p.wrong(fmt.Sprintf("the regular expression has groups nested deeper than %d levels: simplify it", maxGroups))
	}
	p.tree.open()
	for {
		if err := p.sequence(depth); err != nil {
			return nil, err
		}
		if !p.take("|") {
			return p.tree.close(), nil
		}
		p.tree.or()
		p.out.WriteByte('|')
	}
}

func (p *regexParser) sequence(depth int) error {
	for depth == 0 && p.take("^") {
		continue
	}
	for p.rest != "" && p.rest[0] != '|' && p.rest[0] != ')' {
		if depth == 0 && p.rest[0] == '$' && (len(p.rest) == 1 || p.rest[1] == '|') {
			p.rest = p.rest[1:]
			continue
		}
		if err := p.atom(depth); err != nil {
			return err
		}
		if err := p.quantifier(); err != nil {
			return err
		}
	}
	return nil
}

func (p *regexParser) atom(depth int) error {
	switch p.rest[0] {
	case '(':
		return p.group(depth)
	case '[':
		return p.class()
	case '\\':
		return p.escape()
	case '.':
		p.rest = p.rest[1:]
		p.except("\\n\\r", setOf("\n\r"))
		return nil
	case '^', '$':
		return p.refuse(0, "an anchor ^ or $ that isn't at the start or the end")
	case '*', '+', '?', '{':
		return p.wrong("the quantifier " + p.rest[:1] + " has nothing to repeat")
	case '}':
		return p.refuse(0, "an unescaped }")
	}
	r, size := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[size:]
	return p.literal(r)
}

func (p *regexParser) group(depth int) error {
	p.rest = p.rest[1:]
	if strings.HasPrefix(p.rest, "?") {
		if err := p.groupKind(); err != nil {
			return err
		}
	}
	p.out.WriteString("(?:")
	group, err := p.alternatives(depth + 1)
	if err != nil {
		return err
	}
	if !p.take(")") {
		return p.wrong("the regular expression has a ( without a closing )")
	}
	p.tree.add(group)
	p.out.WriteByte(')')
	return nil
}

// groupKind reads the prefix of a special group. A group's name has no effect.
func (p *regexParser) groupKind() error {
	if p.take("?:") {
		return nil
	}
	for _, ahead := range []string{"?=", "?!", "?<=", "?<!"} {
		if strings.HasPrefix(p.rest, ahead) {
			return p.refuse(0, "the lookaround ("+ahead)
		}
	}
	if strings.HasPrefix(p.rest, "?P<") || strings.HasPrefix(p.rest, "?<") {
		end := strings.IndexByte(p.rest, '>')
		if end < 0 {
			return p.wrong("the regular expression has a group name without a closing >")
		}
		p.rest = p.rest[end+1:]
		return nil
	}
	flags := strings.TrimLeft(p.rest[1:], "imsxU-")
	if size := len(p.rest) - len(flags); size > 1 && flags != "" && (flags[0] == ')' || flags[0] == ':') {
		return p.refuse(Guidance, "the flags ("+p.rest[:size])
	}
	return p.refuse(0, "the group ("+p.rest[:min(2, len(p.rest))])
}

// maxRepeat is the maximum number in a quantifier.
const maxRepeat = 10_000

func (p *regexParser) quantifier() error {
	if p.rest == "" {
		return nil
	}
	switch p.rest[0] {
	case '*', '+', '?':
		p.tree.sign(p.rest[0])
		p.out.WriteByte(p.rest[0])
		p.rest = p.rest[1:]
	case '{':
		if err := p.repeat(); err != nil {
			return err
		}
	default:
		return nil
	}
	p.take("?") // a lazy quantifier has the same matches
	if p.rest != "" && strings.ContainsRune("*+?{", rune(p.rest[0])) {
		return p.refuse(Guidance, "a quantifier that follows a quantifier")
	}
	return nil
}

func (p *regexParser) repeat() error {
	body, rest, ok := strings.Cut(p.rest[1:], "}")
	least, most, two := strings.Cut(body, ",")
	lo, err := strconv.ParseUint(least, 10, 31)
	hi := lo
	if err == nil && two && most != "" {
		hi, err = strconv.ParseUint(most, 10, 31)
	}
	switch {
	case !ok || err != nil:
		return p.refuse(0, "a { that doesn't start a number of repetitions")
	case lo > hi:
		return p.wrong("the limits of the quantifier {" + body + "} are reversed")
	case hi > maxRepeat:
		return p.refuse(0, fmt.Sprintf("more than %d repetitions", maxRepeat))
	case hi > outlinesLength:
		if err := p.need(XGrammar|Guidance, fmt.Sprintf("more than %d repetitions", outlinesLength)); err != nil {
			return err
		}
	}
	p.tree.repeat(int(lo), limitOf(hi, two && most == ""))
	p.out.WriteString("{" + body + "}")
	p.rest = rest
	return nil
}

// limitOf is the greatest number of repetitions.
func limitOf(most uint64, open bool) int {
	if open {
		return unlimited
	}
	return int(most)
}

// classes are the escapes for several characters, as the content of a class.
var classes = map[byte]string{'d': "0-9", 'w': "a-zA-Z0-9_", 's': ` \t\n\r\f\v`} //nolint:gochecknoglobals // a constant table

// classBytes are the ASCII characters that each class of a regular expression matches, by the letter
// after the backslash.
var classBytes = map[byte]string{ //nolint:gochecknoglobals // a constant table
	'd': digits, 'w': digits + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", 's': " \t\n\r\f\v",
}

const digits = "0123456789"

func setOf(characters string) (set byteSet) {
	for i := range len(characters) {
		set = set.with(span(characters[i], characters[i]))
	}
	return set
}

func (p *regexParser) escape() error {
	if len(p.rest) < 2 {
		return p.wrong(`the regular expression ends in a \`)
	}
	c := p.rest[1]
	if set := p.set(c); set != "" {
		p.rest = p.rest[2:]
		p.tree.add(classOf(setOf(classBytes[c]), false))
		p.out.WriteString("[" + set + "]")
		return nil
	}
	switch c {
	case 'D', 'W', 'S':
		p.rest = p.rest[2:]
		p.except(classes[c+'a'-'A'], setOf(classBytes[c+'a'-'A']))
		return nil
	case 'b', 'B', 'A', 'z', 'Z':
		return p.refuse(0, `the anchor \`+string(c))
	case 'p', 'P':
		return p.refuse(Guidance, `the character class \`+string(c))
	}
	if c >= '1' && c <= '9' || c == 'k' {
		return p.refuse(0, `the back reference \`+string(c))
	}
	r, err := p.escaped()
	if err != nil {
		return err
	}
	return p.literal(r)
}

// set returns the content of the class for an escape. In a JSON string, line ends are escaped, so
// that \s is a space there.
func (p *regexParser) set(c byte) string {
	if c == 's' && p.inString {
		return " "
	}
	return classes[c]
}

// escaped reads an escape for one character.
func (p *regexParser) escaped() (rune, error) {
	c, known := p.rest[1], map[byte]rune{'n': '\n', 'r': '\r', 't': '\t', 'f': '\f', 'v': '\v'}
	switch r, ok := known[c]; {
	case ok:
		p.rest = p.rest[2:]
		return r, nil
	case c == 'x' || c == 'u':
		size := 4
		if c == 'u' {
			size = 6
		}
		n, err := strconv.ParseUint(p.rest[2:min(size, len(p.rest))], 16, 31)
		if err != nil || len(p.rest) < size {
			return 0, p.refuse(Guidance, `the escape \`+string(c)+" without its digits")
		}
		p.rest = p.rest[size:]
		return rune(n), nil
	case c < 0x80 && !isLetterOrDigit(c):
		p.rest = p.rest[2:]
		return rune(c), nil
	}
	return 0, p.refuse(0, `the escape \`+string(c))
}

func isLetterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// literal writes one character.
func (p *regexParser) literal(r rune) error {
	if err := p.plain(r); err != nil {
		return err
	}
	if r > 0x7e {
		if err := p.need(XGrammar|Guidance, "a character beyond ASCII"); err != nil {
			return err
		}
	}
	p.tree.add(literalOf(string(r)))
	p.out.WriteString(regexQuote(r))
	return nil
}

// plain refuses characters that the rewritten expression can't contain.
func (p *regexParser) plain(r rune) error {
	switch {
	case p.inString && r == '"':
		return p.refuse(0, "a quote in a pattern")
	case p.inString && (r == '\\' || r < ' '):
		return p.refuse(Guidance, "a backslash or a control character in a pattern")
	case r < ' ' && !strings.ContainsRune("\n\r\t\f\v", r), r == 0x7f, r >= 0xd800 && r < 0xe000, r == utf8.RuneError:
		return p.refuse(Guidance, "a control character")
	}
	return nil
}

// regexQuote escapes a character so that it stands for itself.
func regexQuote(r rune) string {
	for escape, c := range map[string]rune{`\n`: '\n', `\r`: '\r', `\t`: '\t', `\f`: '\f', `\v`: '\v'} {
		if c == r {
			return escape
		}
	}
	if r < 0x80 && strings.ContainsRune(`.*+?()[]{}|^$\-/`, r) {
		return `\` + string(r)
	}
	return string(r)
}

// class reads a class in brackets. It refuses characters beyond ASCII, of which xgrammar writes
// single bytes.
func (p *regexParser) class() error {
	p.rest = p.rest[1:]
	negated := p.take("^")
	var inside strings.Builder
	var set byteSet
	if strings.HasPrefix(p.rest, "]") {
		return p.refuse(Guidance, "a ] as the first character of a character class")
	}
	for !strings.HasPrefix(p.rest, "]") {
		if p.rest == "" {
			return p.wrong("the regular expression has a [ without a closing ]")
		}
		if err := p.classPart(&inside, &set, negated); err != nil {
			return err
		}
	}
	p.rest = p.rest[1:]
	if negated {
		p.except(inside.String(), set)
		return nil
	}
	p.tree.add(classOf(set, false))
	p.out.WriteString("[" + inside.String() + "]")
	return nil
}

func (p *regexParser) classPart(inside *strings.Builder, bytes *byteSet, negated bool) error {
	for _, set := range []string{"[", "&&", "--", "~~"} {
		if strings.HasPrefix(p.rest, set) {
			return p.refuse(Guidance, "the operator "+set+" in a character class")
		}
	}
	if len(p.rest) > 1 && p.rest[0] == '\\' {
		if set := p.set(p.rest[1]); set != "" {
			*bytes = bytes.with(setOf(classBytes[p.rest[1]]))
			p.rest = p.rest[2:]
			inside.WriteString(set)
			return nil
		}
	}
	from, err := p.classChar(negated)
	if err != nil {
		return err
	}
	to := from
	if len(p.rest) > 1 && p.rest[0] == '-' && p.rest[1] != ']' {
		p.rest = p.rest[1:]
		if to, err = p.classChar(negated); err != nil {
			return err
		}
		if to < from {
			return p.wrong("the regular expression has a character class with a reversed range")
		}
	}
	if p.inString && !negated && (from <= '"' && to >= '"' || from <= '\\' && to >= '\\') {
		return p.refuse(0, "a quote or a backslash in a character class of a pattern")
	}
	*bytes = bytes.with(span(byte(from), byte(to))) // both are of ASCII
	inside.WriteString(regexQuote(from))
	if to > from {
		inside.WriteString("-" + regexQuote(to))
	}
	return nil
}

// classChar reads a character of a class. In a negated class of a JSON string, it accepts
// characters that the string can't contain anyway.
func (p *regexParser) classChar(negated bool) (rune, error) {
	r, size := utf8.DecodeRuneInString(p.rest)
	if r == '\\' && len(p.rest) > 1 {
		if c := p.rest[1]; strings.IndexByte("DWSpPbBk", c) >= 0 {
			return 0, p.refuse(Guidance, `the escape \`+string(c)+" in a character class")
		}
		var err error
		if r, err = p.escaped(); err != nil {
			return 0, err
		}
	} else {
		p.rest = p.rest[size:]
	}
	if r > 0x7e {
		return 0, p.refuse(Guidance, "a character beyond ASCII in a character class")
	}
	if negated && p.inString && r >= ' ' || strings.ContainsRune("\n\r\t\f\v", r) && (!p.inString || negated) {
		return r, nil
	}
	return r, p.plain(r)
}

// except returns the class of all characters except the given ones. In a JSON string, it also
// excludes the characters that JSON escapes.
func (p *regexParser) except(inside string, set byteSet) {
	if p.inString {
		inside = strings.NewReplacer(`\n`, "", `\r`, "", `\t`, "", `\f`, "", `\v`, "").Replace(inside) + `"\\\x00-\x1f`
		set = set.with(span(0, 0x1f)).with(setOf(`"\`))
	}
	p.tree.add(classOf(set, true))
	p.out.WriteString("[^" + inside + "]")
}
