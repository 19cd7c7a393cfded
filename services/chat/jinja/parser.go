package jinja

import (
	"fmt"
	"slices"
	"strings"
)

// maxNesting limits the nesting of statements and expressions.
const maxNesting = 150

// parser builds the tree from tokens. Statements are in this file, expressions in parser_expr.go.
type parser struct {
	name  string
	toks  []token
	pos   int
	depth int
	open  []string // open tags without an end tag so far

	loops int  // enclosing for loops within the innermost function
	inFor bool // inside of a for statement, where 'loop' can't be assigned
}

// word is a name token that the grammar expects, as in "name:endfor".
type word string

func (p *parser) parse() ([]stmt, error) {
	body, err := p.statements(nil)
	if err != nil {
		return nil, err
	}
	return body, nil
}

func (p *parser) cur() *token { return &p.toks[p.pos] }

func (p *parser) peek() *token { return &p.toks[min(p.pos+1, len(p.toks)-1)] }

func (p *parser) next() *token {
	t := p.cur()
	if t.kind != tokEOF {
		p.pos++
	}
	return t
}

func (p *parser) at(k tokenKind) bool { return p.cur().kind == k }

func (p *parser) atWord(w word) bool { return p.cur().isWord(w) }

func (t *token) isWord(w word) bool { return t.kind == tokName && t.text == string(w) }

func (p *parser) skip(k tokenKind) bool {
	if p.at(k) {
		p.next()
		return true
	}
	return false
}

func (p *parser) skipWord(w word) bool {
	if p.atWord(w) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(k tokenKind) (*token, error) {
	if !p.at(k) {
		return nil, p.failAt(p.cur().line, "expected %s, got %s", (&token{kind: k}).describeKind(), p.cur().describe())
	}
	return p.next(), nil
}

func (t *token) describeKind() string {
	if t.kind == tokName {
		return "a name"
	}
	return t.describe()
}

func (p *parser) expectWord(w word) error {
	if !p.skipWord(w) {
		return p.failAt(p.cur().line, "expected '%s', got %s", w, p.cur().describe())
	}
	return nil
}

func (p *parser) failAt(line int, format string, args ...any) error {
	return &SyntaxError{Name: p.name, Line: line, Message: fmt.Sprintf(format, args...)}
}

// enter increments the nesting level, and leave decrements it.
func (p *parser) enter() error {
	p.depth++
	if p.depth > maxNesting {
		return p.failAt(p.cur().line, "more than %d levels of nesting", maxNesting)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// statements parses up to a tag that starts with one of ends, which the caller reads. Without ends
// it parses to the end of the template.
func (p *parser) statements(ends []word) ([]stmt, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var body []stmt
	for {
		switch t := p.next(); t.kind {
		case tokEOF:
			if ends != nil {
				return nil, p.failAt(t.line, "the template ends inside '%s': add %s", p.innermost(), oneOf(ends))
			}
			return body, nil
		case tokData:
			body = append(body, &textStmt{t.text})
		case tokVarBegin:
			e, err := p.tuple(tupleRules{})
			if err != nil {
				return nil, err
			}
			if _, err := p.expect(tokVarEnd); err != nil {
				return nil, err
			}
			body = append(body, &printStmt{e, t.line})
		default: // tokBlockBegin
			if p.at(tokName) && slices.Contains(ends, word(p.cur().text)) {
				return body, nil
			}
			s, err := p.statement(ends)
			if err != nil {
				return nil, err
			}
			body = append(body, s...)
			if _, err := p.expect(tokBlockEnd); err != nil {
				return nil, err
			}
		}
	}
}

func (p *parser) innermost() string {
	if len(p.open) == 0 {
		return "template"
	}
	return p.open[len(p.open)-1]
}

func oneOf(ends []word) string {
	var s strings.Builder
	for i, e := range ends {
		if i > 0 {
			s.WriteString(" or ")
		}
		s.WriteString("'" + string(e) + "'")
	}
	return s.String()
}

// body parses a block after the name and arguments of its opening tag, up to the end tag. It
// returns the end tag's name.
func (p *parser) body(ends ...word) ([]stmt, word, error) {
	p.skip(tokColon)
	if _, err := p.expect(tokBlockEnd); err != nil {
		return nil, "", err
	}
	body, err := p.statements(ends)
	if err != nil {
		return nil, "", err
	}
	return body, word(p.next().text), nil
}

// functionBody is body for a block that compiles to a separate function. break and continue can't
// leave it.
func (p *parser) functionBody(end word) ([]stmt, error) {
	loops := p.loops
	p.loops = 0
	body, _, err := p.body(end)
	p.loops = loops
	return body, err
}

func (p *parser) statement(ends []word) ([]stmt, error) {
	if !p.at(tokName) {
		return nil, p.failAt(p.cur().line, "a tag must begin with its name, got %s", p.cur().describe())
	}
	t := p.next()
	p.open = append(p.open, t.text)
	defer func() { p.open = p.open[:len(p.open)-1] }()
	s, err := p.tag(t, ends)
	if err != nil || s == nil {
		return nil, err
	}
	return []stmt{s}, nil
}

func (p *parser) tag(t *token, ends []word) (stmt, error) {
	switch t.text {
	case "for":
		return p.parseFor(t.line)
	case "if":
		return p.parseIf(t.line)
	case "set":
		return p.parseSet(t.line)
	case "macro":
		return p.parseMacro(t.line)
	case "call":
		return p.parseCall(t.line)
	case "filter":
		return p.parseFilterBlock(t.line)
	case "with":
		return p.parseWith(t.line)
	case "print":
		return p.parsePrint(t.line)
	case "generation":
		body, err := p.functionBody("endgeneration")
		def := &macroDef{line: t.line, body: body}
		return &callBlockStmt{line: t.line, def: def}, err
	case "break", "continue":
		if p.loops == 0 {
			return nil, p.failAt(t.line, "'%s' is outside of a loop", t.text)
		}
		how := breakLoop
		if t.text == "continue" {
			how = continueLoop
		}
		return &jumpStmt{t.line, how}, nil
	case "block", "include", "import", "from", "extends":
		return nil, p.failAt(t.line, "'%s' is not supported: a chat template is a single file", t.text)
	case "autoescape":
		return nil, p.failAt(t.line, "'autoescape' is not supported: chat templates render plain text")
	}
	if ends == nil {
		return nil, p.failAt(t.line, "unknown tag '%s'", t.text)
	}
	p.open = p.open[:len(p.open)-1]
	err := p.failAt(t.line, "unknown tag '%s' inside '%s', which needs %s", t.text, p.innermost(), oneOf(ends))
	p.open = append(p.open, t.text)
	return nil, err
}
