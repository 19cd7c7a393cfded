package jinja

import "strings"

// tupleRules describe where a tuple without parentheses ends.
type tupleRules struct {
	noCond bool // no "a if b else c": a following if belongs to the statement
	end    word
	parens bool // the tuple is between parentheses, where () is the empty tuple
}

func (p *parser) tupleEnds(end word) bool {
	switch p.cur().kind {
	case tokVarEnd, tokBlockEnd, tokRParen:
		return true
	}
	return end != "" && p.atWord(end)
}

// tuple parses one expression, or a tuple of comma-separated expressions.
func (p *parser) tuple(rules tupleRules) (expr, error) {
	var items []expr
	for !p.tupleEnds(rules.end) {
		var e expr
		var err error
		if rules.noCond {
			e, err = p.nested(p.or)
		} else {
			e, err = p.expression()
		}
		if err != nil {
			return nil, err
		}
		items = append(items, e)
		if !p.at(tokComma) {
			if len(items) == 1 {
				return e, nil
			}
			return &tupleExpr{items}, nil
		}
		p.next()
	}
	if len(items) == 0 && !rules.parens {
		return nil, p.failAt(p.cur().line, "expected an expression, got %s", p.cur().describe())
	}
	return &tupleExpr{items}, nil
}

func (p *parser) nested(parse func() (expr, error)) (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	return parse()
}

func (p *parser) expression() (expr, error) { return p.nested(p.cond) }

func (p *parser) cond() (expr, error) {
	e, err := p.or()
	for err == nil && p.skipWord("if") {
		c := &condExpr{yes: e}
		if c.test, err = p.or(); err != nil {
			return nil, err
		}
		if p.skipWord("else") {
			if c.no, err = p.nested(p.cond); err != nil {
				return nil, err
			}
		}
		e = c
	}
	return e, err
}

func (p *parser) or() (expr, error) {
	a, err := p.and()
	for err == nil && p.skipWord("or") {
		var b expr
		if b, err = p.and(); err == nil {
			a = &orExpr{a, b}
		}
	}
	return a, err
}

func (p *parser) and() (expr, error) {
	a, err := p.not()
	for err == nil && p.skipWord("and") {
		var b expr
		if b, err = p.not(); err == nil {
			a = &andExpr{a, b}
		}
	}
	return a, err
}

func (p *parser) not() (expr, error) {
	if !p.skipWord("not") {
		return p.comparison()
	}
	a, err := p.nested(p.not)
	return &notExpr{a}, err
}

func (p *parser) comparisonOp() (tokenKind, bool) {
	switch t := p.cur(); {
	case t.kind >= tokEq && t.kind <= tokGe:
		p.next()
		return t.kind, true
	case t.isWord("in"):
		p.next()
		return tokIn, true
	case t.isWord("not") && p.peek().isWord("in"):
		p.next()
		p.next()
		return tokNotIn, true
	}
	return 0, false
}

func (p *parser) comparison() (expr, error) {
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
	c := &compareExpr{first: first}
	for {
		op, ok := p.comparisonOp()
		if !ok {
			break
		}
		e, err := p.sum()
		if err != nil {
			return nil, err
		}
		if op == tokIn || op == tokNotIn {
			e = folded(e)
		}
		c.ops = append(c.ops, op)
		c.rest = append(c.rest, e)
	}
	if len(c.ops) == 0 {
		return first, nil
	}
	return c, nil
}

// folded converts a tuple or list of constants to a constant, if templates can't observe that it is
// the same object each time.
func folded(e expr) expr {
	switch e := e.(type) {
	case *tupleExpr:
		if items := constants(e.items); items != nil {
			return &constExpr{&Tuple{items: items}}
		}
	case *listExpr:
		if items := constants(e.items); items != nil {
			return &constExpr{&List{items: items}}
		}
	}
	return e
}

// binary parses a left-associative chain of the given operators.
func (p *parser) binary(operand func() (expr, error), ops ...tokenKind) (expr, error) {
	a, err := operand()
	for err == nil {
		op := p.cur().kind
		found := false
		for _, o := range ops {
			found = found || o == op
		}
		if !found {
			break
		}
		p.next()
		var b expr
		if b, err = operand(); err == nil {
			a = &binaryExpr{op, a, b}
		}
	}
	return a, err
}

func (p *parser) sum() (expr, error) { return p.binary(p.concat, tokAdd, tokSub) }

func (p *parser) concat() (expr, error) {
	e, err := p.product()
	if err != nil || !p.at(tokTilde) {
		return e, err
	}
	parts := []expr{e}
	for p.skip(tokTilde) {
		if e, err = p.product(); err != nil {
			return nil, err
		}
		parts = append(parts, e)
	}
	return &concatExpr{parts}, nil
}

func (p *parser) product() (expr, error) {
	return p.binary(p.power, tokMul, tokDiv, tokFloorDiv, tokMod)
}

// power is left-associative in Jinja and binds more weakly than a sign.
func (p *parser) power() (expr, error) { return p.binary(p.unary, tokPow) }

func (p *parser) unary() (expr, error) {
	e, err := p.signed()
	if err != nil {
		return nil, err
	}
	for {
		switch {
		case p.at(tokPipe):
			e, err = p.filters(e)
		case p.atWord("is"):
			e, err = p.test(e)
		case p.at(tokLParen):
			e, err = p.call(e)
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// signed parses an operand with its signs and postfixes. Filters apply to all of it.
func (p *parser) signed() (expr, error) {
	var e expr
	var err error
	if op := p.cur().kind; op == tokAdd || op == tokSub {
		p.next()
		if e, err = p.nested(p.signed); err == nil {
			e = &unaryExpr{op, e}
		}
	} else {
		e, err = p.primary()
	}
	if err != nil {
		return nil, err
	}
	return p.postfix(e)
}

func (p *parser) postfix(e expr) (expr, error) {
	var err error
	for err == nil {
		switch p.cur().kind {
		case tokDot:
			e, err = p.attribute(e)
		case tokLBracket:
			e, err = p.subscript(e)
		case tokLParen:
			e, err = p.call(e)
		default:
			return e, nil
		}
	}
	return nil, err
}

func (p *parser) primary() (expr, error) {
	switch t := p.next(); t.kind {
	case tokName:
		switch t.text {
		case "true", "True":
			return &constExpr{true}, nil
		case "false", "False":
			return &constExpr{false}, nil
		case "none", "None":
			return &constExpr{nil}, nil
		}
		return &nameExpr{name: t.text}, nil
	case tokString:
		var b strings.Builder
		b.WriteString(t.text)
		for p.at(tokString) {
			b.WriteString(p.next().text)
		}
		return &constExpr{b.String()}, nil
	case tokNumber:
		return &constExpr{t.value}, nil
	case tokLParen:
		e, err := p.tuple(tupleRules{parens: true})
		if err == nil {
			_, err = p.expect(tokRParen)
		}
		return e, err
	case tokLBracket:
		items, err := p.list(tokRBracket)
		return &listExpr{items}, err
	case tokLBrace:
		return p.dict()
	default:
		return nil, p.failAt(t.line, "expected an expression, got %s", t.describe())
	}
}

// list parses comma-separated expressions up to and including the end token. A trailing comma is
// allowed.
func (p *parser) list(end tokenKind) ([]expr, error) {
	var items []expr
	for !p.at(end) {
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		items = append(items, e)
		if !p.skip(tokComma) {
			break
		}
	}
	_, err := p.expect(end)
	return items, err
}

func (p *parser) dict() (expr, error) {
	d := &dictExpr{}
	for !p.at(tokRBrace) {
		key, err := p.expression()
		if err != nil {
			return nil, err
		}
		if _, err := p.expect(tokColon); err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		d.keys = append(d.keys, key)
		d.values = append(d.values, value)
		if !p.skip(tokComma) {
			break
		}
	}
	_, err := p.expect(tokRBrace)
	return d, err
}

func (p *parser) attribute(object expr) (expr, error) {
	p.next()
	switch t := p.next(); t.kind {
	case tokName:
		return &attrExpr{object, newFixedKey(t.text)}, nil
	case tokNumber:
		if _, isFloat := t.value.(float64); !isFloat {
			return &itemExpr{object, &constExpr{t.value}}, nil
		}
		fallthrough
	default:
		return nil, p.failAt(t.line, "expected a name or a number after '.', got %s", t.describe())
	}
}

func (p *parser) subscript(object expr) (expr, error) {
	p.next()
	var keys []expr
	for !p.at(tokRBracket) {
		if len(keys) > 0 {
			if _, err := p.expect(tokComma); err != nil {
				return nil, err
			}
		}
		k, err := p.slice()
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	p.next()
	if len(keys) == 1 {
		if k, ok := keys[0].(*constExpr); ok {
			if name, ok := k.value.(string); ok {
				return &fieldExpr{object, newFixedKey(name)}, nil
			}
		}
		return &itemExpr{object, keys[0]}, nil
	}
	for _, k := range keys {
		if _, ok := k.(*sliceExpr); ok {
			return nil, p.failAt(p.cur().line, "a slice can't be part of a tuple")
		}
	}
	return &itemExpr{object, &tupleExpr{keys}}, nil
}

// slice parses the content of brackets: an expression, or start:stop:step with optional parts.
func (p *parser) slice() (expr, error) {
	var parts [3]expr
	for i := range parts {
		if !p.at(tokColon) && !p.at(tokRBracket) && !p.at(tokComma) {
			e, err := p.expression()
			if err != nil {
				return nil, err
			}
			parts[i] = e
		}
		if i == 0 && !p.at(tokColon) {
			if parts[0] == nil {
				return nil, p.failAt(p.cur().line, "expected an expression, got %s", p.cur().describe())
			}
			return parts[0], nil
		}
		if i == 2 || !p.skip(tokColon) {
			break
		}
	}
	return &sliceExpr{parts[0], parts[1], parts[2]}, nil
}
