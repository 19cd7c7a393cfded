package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokData
	tokVarBegin
	tokVarEnd
	tokBlockBegin
	tokBlockEnd
	tokName
	tokString
	tokNumber
	tokAdd
	tokSub
	tokMul
	tokDiv
	tokFloorDiv
	tokMod
	tokPow
	tokTilde
	tokEq
	tokNe
	tokLt
	tokLe
	tokGt
	tokGe
	tokAssign
	tokDot
	tokColon
	tokPipe
	tokComma
	tokSemicolon
	tokLParen
	tokRParen
	tokLBracket
	tokRBracket
	tokLBrace
	tokRBrace
	// The parser returns tokIn and tokNotIn as operators of comparisons. The lexer never does: it
	// returns the word "in" as a tokName.
	tokIn
	tokNotIn
)

// operators lists an operator before its prefixes.
var operators = []struct {
	text string
	kind tokenKind
}{
	{"//", tokFloorDiv},
	{"**", tokPow},
	{"==", tokEq},
	{"!=", tokNe},
	{">=", tokGe},
	{"<=", tokLe},
	{"+", tokAdd},
	{"-", tokSub},
	{"/", tokDiv},
	{"*", tokMul},
	{"%", tokMod},
	{"~", tokTilde},
	{"[", tokLBracket},
	{"]", tokRBracket},
	{"(", tokLParen},
	{")", tokRParen},
	{"{", tokLBrace},
	{"}", tokRBrace},
	{">", tokGt},
	{"<", tokLt},
	{"=", tokAssign},
	{".", tokDot},
	{":", tokColon},
	{"|", tokPipe},
	{",", tokComma},
	{";", tokSemicolon},
}

type token struct {
	kind  tokenKind
	line  int
	text  string // text of data, names and strings
	value any    // value of numbers
}

func (t *token) describe() string {
	switch t.kind {
	case tokEOF:
		return "end of template"
	case tokData:
		return "template text"
	case tokVarBegin:
		return "'{{'"
	case tokVarEnd:
		return "'}}'"
	case tokBlockBegin:
		return "'{%'"
	case tokBlockEnd:
		return "'%}'"
	case tokName:
		return "'" + t.text + "'"
	case tokString:
		return "a string"
	case tokNumber:
		return "a number"
	}
	for _, op := range operators {
		if op.kind == t.kind {
			return "'" + op.text + "'"
		}
	}
	return "?"
}

// lexer splits a template into tokens, with the whitespace rules of trim_blocks and lstrip_blocks.
// It removes a newline directly after a block or comment, and blanks between the start of a line
// and a block.
type lexer struct {
	name  string
	src   string
	pos   int
	line  int
	toks  []token
	fresh bool // pos is at the start of a line
}

func lex(name, source string) ([]token, error) {
	src := strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	src = strings.ToValidUTF8(strings.TrimSuffix(src, "\n"), "\ufffd")
	l := &lexer{name: name, src: src, line: 1, fresh: true}
	for l.pos < len(l.src) {
		if err := l.text(); err != nil {
			return nil, err
		}
	}
	l.emit(token{kind: tokEOF})
	return l.toks, nil
}

func (l *lexer) emit(t token) {
	t.line = l.line
	l.toks = append(l.toks, t)
}

func (l *lexer) fail(format string, args ...any) error {
	return &SyntaxError{Name: l.name, Line: l.line, Message: fmt.Sprintf(format, args...)}
}

// advance moves to end and counts lines.
func (l *lexer) advance(end int) {
	chunk := l.src[l.pos:end]
	l.line += strings.Count(chunk, "\n")
	l.fresh = strings.HasSuffix(chunk, "\n")
	l.pos = end
}

// text reads the text up to the next tag, and that tag.
func (l *lexer) text() error {
	begin := l.nextTag()
	if begin < 0 {
		l.emitData(l.src[l.pos:])
		l.advance(len(l.src))
		return nil
	}
	kind := l.src[begin+1]
	after := begin + 2
	sign := byte(0)
	if after < len(l.src) && (l.src[after] == '-' || l.src[after] == '+') {
		sign = l.src[after]
		after++
	}
	l.emitData(l.before(begin, sign, kind != '{'))
	l.advance(after)
	switch kind {
	case '#':
		return l.comment()
	case '{':
		l.emit(token{kind: tokVarBegin})
		return l.code(tokVarEnd, '}')
	}
	if end := l.rawBegin(after); end > 0 {
		l.advance(end)
		return l.raw()
	}
	l.emit(token{kind: tokBlockBegin})
	return l.code(tokBlockEnd, '%')
}

func (l *lexer) emitData(s string) {
	if s != "" {
		l.emit(token{kind: tokData, text: s})
	}
}

func (l *lexer) nextTag() int {
	for i := l.pos; ; i++ {
		j := strings.IndexByte(l.src[i:], '{')
		if j < 0 || i+j+1 >= len(l.src) {
			return -1
		}
		i += j
		if c := l.src[i+1]; c == '{' || c == '%' || c == '#' {
			return i
		}
	}
}

// before returns the text from pos to the tag at begin, without the white space that the tag's sign
// or lstrip_blocks removes.
func (l *lexer) before(begin int, sign byte, strips bool) string {
	s := l.src[l.pos:begin]
	if sign == '-' {
		return strings.TrimRightFunc(s, isSpace)
	}
	if sign == '+' || !strips {
		return s
	}
	start := strings.LastIndexByte(s, '\n') + 1
	if (start > 0 || l.fresh) && strings.TrimFunc(s[start:], isSpace) == "" {
		return s[:start]
	}
	return s
}

// tagEnd returns the end of a tag that closes with c and '}' at i, including the white space that
// it trims. It returns -1 if no tag ends at i.
func (l *lexer) tagEnd(i int, c byte, plus bool) int {
	if i >= len(l.src) {
		return -1
	}
	sign := l.src[i]
	if sign == '-' || sign == '+' && plus {
		i++
	}
	if i+1 >= len(l.src) || l.src[i] != c || l.src[i+1] != '}' {
		return -1
	}
	i += 2
	if sign == '-' {
		return l.skipSpace(i)
	}
	if sign != '+' && c != '}' && i < len(l.src) && l.src[i] == '\n' {
		i++
	}
	return i
}

func (l *lexer) skipSpace(i int) int {
	return len(l.src) - len(strings.TrimLeftFunc(l.src[i:], isSpace))
}

func (l *lexer) comment() error {
	for i := l.pos; ; i++ {
		j := strings.Index(l.src[i:], "#}")
		if j < 0 {
			return l.fail("the comment is not closed: add '#}'")
		}
		i += j
		if i > l.pos && (l.src[i-1] == '-' || l.src[i-1] == '+') {
			i--
		}
		if end := l.tagEnd(i, '#', true); end > 0 {
			l.advance(end)
			return nil
		}
	}
}

// rawBegin returns the end of a raw tag whose content starts at i, or -1 for another tag.
func (l *lexer) rawBegin(i int) int {
	i = l.skipSpace(i)
	if !strings.HasPrefix(l.src[i:], "raw") {
		return -1
	}
	i = l.skipSpace(i + len("raw"))
	if strings.HasPrefix(l.src[i:], "-%}") {
		return l.skipSpace(i + 3)
	}
	if strings.HasPrefix(l.src[i:], "%}") {
		return i + 2
	}
	return -1
}

func (l *lexer) raw() error {
	for i := l.pos; ; i++ {
		j := strings.Index(l.src[i:], "{%")
		if j < 0 {
			return l.fail("the raw block is not closed: add '{%% endraw %%}'")
		}
		i += j
		at := i + 2
		sign := byte(0)
		if at < len(l.src) && (l.src[at] == '-' || l.src[at] == '+') {
			sign = l.src[at]
			at++
		}
		at = l.skipSpace(at)
		if !strings.HasPrefix(l.src[at:], "endraw") {
			continue
		}
		if end := l.tagEnd(l.skipSpace(at+len("endraw")), '%', true); end > 0 {
			l.emitData(l.before(i, sign, true))
			l.advance(end)
			return nil
		}
	}
}

// code reads the tokens of an expression or statement up to and including its end tag. An end tag
// inside of brackets doesn't apply.
func (l *lexer) code(endKind tokenKind, endChar byte) error {
	var open []byte
	for l.pos < len(l.src) {
		if len(open) == 0 {
			if end := l.tagEnd(l.pos, endChar, endChar == '%'); end > 0 {
				l.emit(token{kind: endKind})
				l.advance(end)
				return nil
			}
		}
		if end := l.skipSpace(l.pos); end > l.pos {
			l.advance(end)
			continue
		}
		var err error
		switch c := l.src[l.pos]; {
		case c >= '0' && c <= '9':
			err = l.number()
		case c == '\'' || c == '"':
			err = l.str(c)
		case c == '_' || c >= utf8.RuneSelf || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			err = l.ident()
		default:
			open, err = l.operator(open)
		}
		if err != nil {
			return err
		}
	}
	return nil // the parser reports the missing end
}

func (l *lexer) operator(open []byte) ([]byte, error) {
	for _, op := range operators {
		if !strings.HasPrefix(l.src[l.pos:], op.text) {
			continue
		}
		switch op.text {
		case "(":
			open = append(open, ')')
		case "[":
			open = append(open, ']')
		case "{":
			open = append(open, '}')
		case ")", "]", "}":
			if len(open) == 0 || open[len(open)-1] != op.text[0] {
				return nil, l.fail("unexpected '%s'", op.text)
			}
			open = open[:len(open)-1]
		}
		l.emit(token{kind: op.kind})
		l.advance(l.pos + len(op.text))
		return open, nil
	}
	return nil, l.fail("unexpected character %q", l.src[l.pos])
}

func (l *lexer) ident() error {
	end := l.pos
	for end < len(l.src) {
		r, size := utf8.DecodeRuneInString(l.src[end:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Mc, r) {
			break
		}
		end += size
	}
	if end == l.pos {
		r, _ := utf8.DecodeRuneInString(l.src[l.pos:])
		return l.fail("unexpected character %q", r)
	}
	l.emit(token{kind: tokName, text: l.src[l.pos:end]})
	l.advance(end)
	return nil
}
