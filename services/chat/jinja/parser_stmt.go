package jinja

func (p *parser) parseFor(line int) (stmt, error) {
	s := &forStmt{line: line}
	wasInFor := p.inFor
	p.inFor = true
	defer func() { p.inFor = wasInFor }()
	var err error
	if s.target, err = p.target(targetRules{end: "in"}); err != nil {
		return nil, err
	}
	if err := p.expectWord("in"); err != nil {
		return nil, err
	}
	if s.iter, err = p.tuple(tupleRules{noCond: true, end: "recursive"}); err != nil {
		return nil, err
	}
	if p.skipWord("if") {
		if s.test, err = p.expression(); err != nil {
			return nil, err
		}
	}
	s.recursive = p.skipWord("recursive")
	outer := p.loops
	if s.recursive { // its body and its else part are a function
		outer = 0
	}
	p.loops, outer = outer+1, p.loops
	body, end, err := p.body("endfor", "else")
	if err != nil {
		return nil, err
	}
	s.body = body
	p.loops--
	if end == "else" {
		s.orElse, _, err = p.body("endfor")
	}
	p.loops = outer
	return s, err
}

func (p *parser) parseIf(line int) (stmt, error) {
	s := &ifStmt{line: line}
	for {
		b := ifBranch{line: p.cur().line}
		var err error
		if b.test, err = p.tuple(tupleRules{noCond: true}); err != nil {
			return nil, err
		}
		var end word
		if b.body, end, err = p.body("elif", "else", "endif"); err != nil {
			return nil, err
		}
		s.branches = append(s.branches, b)
		switch end {
		case "elif":
			continue
		case "else":
			s.orElse, _, err = p.body("endif")
		}
		return s, err
	}
}

func (p *parser) parseSet(line int) (stmt, error) {
	t, err := p.target(targetRules{namespaces: true})
	if err != nil {
		return nil, err
	}
	if p.skip(tokAssign) {
		value, err := p.tuple(tupleRules{})
		return &setStmt{line, t, value}, err
	}
	s := &setBlockStmt{line: line, target: t, textSlot: &blockText{}}
	if s.filter, err = p.filters(s.textSlot); err != nil {
		return nil, err
	}
	s.body, _, err = p.body("endset")
	return s, err
}

func (p *parser) parseFilterBlock(line int) (stmt, error) {
	s := &filterBlockStmt{line: line, textSlot: &blockText{}}
	first, err := p.filter(s.textSlot)
	if err != nil {
		return nil, err
	}
	if s.filter, err = p.filters(first); err != nil {
		return nil, err
	}
	s.body, _, err = p.body("endfilter")
	return s, err
}

func (p *parser) parseWith(line int) (stmt, error) {
	s := &withStmt{line: line}
	for !p.at(tokBlockEnd) {
		if len(s.targets) > 0 {
			if _, err := p.expect(tokComma); err != nil {
				return nil, err
			}
		}
		t, err := p.target(targetRules{})
		if err != nil {
			return nil, err
		}
		if _, err := p.expect(tokAssign); err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		s.targets = append(s.targets, t)
		s.values = append(s.values, value)
	}
	var err error
	s.body, _, err = p.body("endwith")
	return s, err
}

func (p *parser) parsePrint(line int) (stmt, error) {
	parts := []expr{}
	for !p.at(tokBlockEnd) {
		if len(parts) > 0 {
			if _, err := p.expect(tokComma); err != nil {
				return nil, err
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		parts = append(parts, e)
	}
	return &printStmt{&concatExpr{parts}, line}, nil
}

func (p *parser) parseMacro(line int) (stmt, error) {
	name, err := p.targetName()
	if err != nil {
		return nil, err
	}
	def := &macroDef{name: name.text, line: line}
	if err := p.signature(def); err != nil {
		return nil, err
	}
	def.body, err = p.functionBody("endmacro")
	return &macroStmt{line: line, def: def}, err
}

func (p *parser) parseCall(line int) (stmt, error) {
	def := &macroDef{name: "caller", line: line}
	if p.at(tokLParen) {
		if err := p.signature(def); err != nil {
			return nil, err
		}
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	c, ok := e.(*callExpr)
	if !ok {
		return nil, p.failAt(line, "'call' needs a call of a macro")
	}
	if indexKwarg(c.kwargs, "caller") >= 0 {
		return nil, p.failAt(line, "the call of a 'call' block can't have an argument named caller")
	}
	def.name = ""
	def.body, err = p.functionBody("endcall")
	return &callBlockStmt{line: line, def: def, call: c}, err
}

func (p *parser) signature(def *macroDef) error {
	if _, err := p.expect(tokLParen); err != nil {
		return err
	}
	for !p.at(tokRParen) {
		if len(def.params) > 0 {
			if _, err := p.expect(tokComma); err != nil {
				return err
			}
		}
		t, err := p.targetName()
		if err != nil {
			return err
		}
		for _, other := range def.params {
			if other.name == t.text {
				return p.failAt(t.line, "two parameters are named '%s'", t.text)
			}
		}
		def.params = append(def.params, &nameExpr{name: t.text})
		if p.skip(tokAssign) {
			value, err := p.expression()
			if err != nil {
				return err
			}
			def.defaults = append(def.defaults, value)
		} else if len(def.defaults) > 0 {
			return p.failAt(t.line, "parameter '%s' needs a default, like the one before it", t.text)
		}
	}
	p.next()
	return nil
}

// targetRules describe the allowed assignment targets.
type targetRules struct {
	end        word // end of a tuple without parentheses
	namespaces bool // name.attribute is allowed
}

// targetName parses a single assignable name.
func (p *parser) targetName() (*token, error) {
	t, err := p.expect(tokName)
	if err == nil && isConstant(t.text) {
		err = p.failAt(t.line, "can't assign to '%s'", t.text)
	}
	if err == nil && t.text == "loop" && p.inFor {
		err = p.failAt(t.line, "can't assign to 'loop' inside of a for loop")
	}
	return t, err
}

func isConstant(name string) bool {
	switch name {
	case "true", "false", "none", "True", "False", "None":
		return true
	}
	return false
}

func (p *parser) target(rules targetRules) (*target, error) {
	line := p.cur().line
	var items []*target
	for !p.tupleEnds(rules.end) {
		t, err := p.targetItem(rules)
		if err != nil {
			return nil, err
		}
		items = append(items, t)
		if !p.at(tokComma) {
			if len(items) == 1 {
				return t, nil
			}
			break
		}
		p.next()
	}
	if len(items) == 0 {
		return nil, p.failAt(line, "expected a name to assign to, got %s", p.cur().describe())
	}
	return &target{line: line, items: items}, nil
}

func (p *parser) targetItem(rules targetRules) (*target, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if p.skip(tokLParen) {
		t, err := p.target(targetRules{})
		if err == nil {
			_, err = p.expect(tokRParen)
		}
		return t, err
	}
	if rules.namespaces && p.at(tokName) && p.peek().kind == tokDot && !isConstant(p.cur().text) {
		t := p.next()
		p.next()
		attr, err := p.expect(tokName)
		if err != nil {
			return nil, err
		}
		return &target{line: t.line, name: t.text, attr: attr.text}, nil
	}
	t, err := p.targetName()
	if err != nil {
		return nil, err
	}
	return &target{line: t.line, name: t.text}, nil
}
