package jinja

import "strings"

func (p *parser) call(fn expr) (expr, error) {
	c := &callExpr{fn: fn}
	return c, p.arguments(&c.argList)
}

func indexKwarg(list []kwargExpr, name string) int {
	for i := range list {
		if list[i].name == name {
			return i
		}
	}
	return -1
}

// arguments parses the parentheses of a call: positional, then named, then *sequence and **mapping.
func (p *parser) arguments(a *argList) error {
	line := p.next().line
	for !p.at(tokRParen) {
		if err := p.argument(a, line); err != nil {
			return err
		}
		if !p.skip(tokComma) {
			break
		}
	}
	a.fixed = constants(a.args)
	_, err := p.expect(tokRParen)
	return err
}

// constants returns the values of expressions if all are constants, otherwise nil.
func constants(list []expr) []any {
	if len(list) == 0 {
		return nil
	}
	values := make([]any, 0, len(list))
	for _, e := range list {
		c, ok := e.(*constExpr)
		if !ok {
			return nil
		}
		values = append(values, c.value)
	}
	return values
}

func (p *parser) argument(a *argList, line int) error {
	var ok bool
	var err error
	switch {
	case p.skip(tokMul):
		ok = a.star == nil && a.stars == nil
		a.star, err = p.expression()
	case p.skip(tokPow):
		ok = a.stars == nil
		a.stars, err = p.expression()
	case p.at(tokName) && p.peek().kind == tokAssign:
		t := p.next()
		p.next()
		ok = a.stars == nil && indexKwarg(a.kwargs, t.text) < 0
		var value expr
		value, err = p.expression()
		a.kwargs = append(a.kwargs, kwargExpr{t.text, value})
	default:
		ok = a.star == nil && a.stars == nil && len(a.kwargs) == 0
		var value expr
		value, err = p.expression()
		a.args = append(a.args, value)
	}
	if err == nil && !ok {
		err = p.failAt(line, "the arguments of this call are out of order or given twice")
	}
	return err
}

// filters parses any number of "| name(arguments)".
func (p *parser) filters(input expr) (expr, error) {
	var err error
	for err == nil && p.skip(tokPipe) {
		input, err = p.filter(input)
	}
	return input, err
}

func (p *parser) dottedName() (string, int, error) {
	t, err := p.expect(tokName)
	if err != nil {
		return "", 0, err
	}
	parts := []string{t.text}
	for p.skip(tokDot) {
		part, err := p.expect(tokName)
		if err != nil {
			return "", 0, err
		}
		parts = append(parts, part.text)
	}
	return strings.Join(parts, "."), t.line, nil
}

func (p *parser) filter(input expr) (expr, error) {
	name, line, err := p.dottedName()
	if err != nil {
		return nil, err
	}
	e := &filterExpr{input: input, name: name, line: line}
	if p.at(tokLParen) {
		err = p.arguments(&e.argList)
	}
	return e, err
}

// test parses "is [not] name", with arguments in parentheses or one operand without them.
func (p *parser) test(input expr) (expr, error) {
	p.next()
	negated := p.skipWord("not")
	name, line, err := p.dottedName()
	if err != nil {
		return nil, err
	}
	e := &testExpr{input: input, name: name, line: line}
	switch t := p.cur(); t.kind {
	case tokLParen:
		err = p.arguments(&e.argList)
	case tokName, tokString, tokNumber, tokLBracket, tokLBrace:
		if t.isWord("else") || t.isWord("or") || t.isWord("and") {
			break
		}
		if t.isWord("is") {
			return nil, p.failAt(t.line, "tests can't be chained with 'is'")
		}
		var arg expr
		if arg, err = p.primary(); err == nil {
			arg, err = p.postfix(arg)
		}
		e.args = []expr{arg}
		e.fixed = constants(e.args)
	}
	if err != nil {
		return nil, err
	}
	if negated {
		return &notExpr{e}, nil
	}
	return e, nil
}
