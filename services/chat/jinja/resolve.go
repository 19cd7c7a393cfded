package jinja

// bind assigns slots to the names in body. soft states that body is under a condition within its
// scope: an unknown filter or test is then an error only when it runs.
func (r *resolver) bind(body []stmt, s *symbols, soft bool) {
	for _, st := range body {
		if r.err != nil {
			return
		}
		r.bindOne(st, s, soft)
	}
}

func (r *resolver) bindOne(st stmt, s *symbols, soft bool) {
	switch st := st.(type) {
	case *printStmt:
		r.expr(st.value, s, soft)
	case *ifStmt:
		for i := range st.branches {
			r.expr(st.branches[i].test, s, true)
			r.bind(st.branches[i].body, s, true)
		}
		r.bind(st.orElse, s, true)
	case *forStmt:
		r.bindFor(st, s, soft)
	case *setStmt:
		r.expr(st.value, s, soft)
		r.target(st.target, s)
	case *setBlockStmt:
		in := s.inner(s.fn)
		in.declare(st.body)
		in.loadAll(st.filter, 0)
		st.textSlot.ref.slot = s.fn.slot(in.level, " text")
		r.bind(st.body, in, false)
		r.expr(st.filter, in, false)
		r.target(st.target, s)
		st.scope = in.scope()
	case *filterBlockStmt:
		in := s.inner(s.fn)
		in.declare(st.body)
		in.loadAll(st.filter, 0)
		st.textSlot.ref.slot = s.fn.slot(in.level, " text")
		r.bind(st.body, in, false)
		r.expr(st.filter, in, false)
		st.scope = in.scope()
	case *withStmt:
		r.bindWith(st, s, soft)
	case *macroStmt:
		r.bindMacro(st.def, s)
		st.ref = s.ref(st.def.name)
	case *callBlockStmt:
		r.bindMacro(st.def, s)
		if st.call != nil {
			r.expr(st.call, s, soft)
		}
	}
}

func (r *resolver) bindFor(st *forStmt, s *symbols, soft bool) {
	r.expr(st.iter, s, soft)
	fn := s.fn
	if st.recursive {
		fn = newFunction(s.fn)
		st.fn = fn
	}
	st.usesLoop = st.recursive || undeclared(st.body, "loop")["loop"]
	loop := s.inner(fn)
	if st.usesLoop {
		loop.param("loop")
		st.loopSlot = loop.refs["loop"].slot
	}
	loop.paramTarget(st.target)
	loop.declare(st.body)
	orElse := s.inner(fn)
	orElse.declare(st.orElse)
	if st.test != nil {
		test := s.inner(fn)
		test.level = -test.level // Jinja compiles it to a separate generator, so it needs separate slots
		test.paramTarget(st.target)
		test.loadAll(st.test, 0)
		st.testTarget = st.target.copy()
		r.target(st.testTarget, test)
		r.expr(st.test, test, false)
		st.testScope = test.scope()
	}
	r.target(st.target, loop)
	r.bind(st.body, loop, false)
	r.bind(st.orElse, orElse, false)
	st.scope, st.elseScope = loop.scope(), orElse.scope()
	st.alike = alike(st)
}

// alike reports whether all effects of a loop are under conditions that are the same for all
// characters of a string: constants, and attributes that strings don't have.
func alike(st *forStmt) bool {
	if st.usesLoop || st.test != nil || st.target.isTuple() || st.target.attr != "" {
		return false
	}
	for _, s := range st.body {
		choice, ok := s.(*ifStmt)
		if !ok || len(choice.orElse) > 0 {
			return false
		}
		for _, b := range choice.branches {
			if !sameOfAll(b.test, st.target.ref) {
				return false
			}
		}
	}
	return true
}

// sameOfAll reports whether an expression has the same value for every character in a variable.
func sameOfAll(e expr, letter varRef) bool {
	switch e := e.(type) {
	case *constExpr:
		return true
	case *attrExpr:
		return lacksAttr(e.object, &e.key, letter)
	case *fieldExpr:
		return lacksAttr(e.object, &e.key, letter)
	case *compareExpr:
		for _, op := range e.ops {
			if op != tokEq && op != tokNe { // other operators fail, or consume an iterator
				return false
			}
		}
	case *notExpr, *andExpr, *orExpr:
	default:
		return false
	}
	same := true
	e.children(func(c expr) { same = same && sameOfAll(c, letter) })
	return same
}

// lacksAttr reports whether object is that variable and no string has the attribute key.
func lacksAttr(object expr, key *fixedKey, letter varRef) bool {
	name, ok := object.(*nameExpr)
	return ok && name.ref == letter && key.notStringAttr()
}

func (t *target) copy() *target {
	c := *t
	c.items = nil
	for _, item := range t.items {
		c.items = append(c.items, item.copy())
	}
	return &c
}

func (r *resolver) bindWith(st *withStmt, s *symbols, soft bool) {
	in := s.inner(s.fn)
	for i, t := range st.targets {
		r.expr(st.values[i], s, soft)
		in.paramTarget(t)
	}
	in.declare(st.body)
	for _, t := range st.targets {
		r.target(t, in)
	}
	r.bind(st.body, in, false)
	st.scope = in.scope()
}

func (r *resolver) bindMacro(def *macroDef, s *symbols) {
	def.fn = newFunction(s.fn)
	in := s.inner(def.fn)
	explicitCaller := false
	for i, p := range def.params {
		in.param(p.name)
		if p.name == "caller" {
			explicitCaller = true
			if i < len(def.params)-len(def.defaults) && undeclared(def.body, "caller")["caller"] {
				r.failf(def.line, "the parameter 'caller' needs a default")
			}
		}
	}
	for _, d := range def.defaults {
		in.loadAll(d, 0)
	}
	in.declare(def.body)
	special := undeclared(def.body, "caller", "kwargs", "varargs")
	slot := func(name string) int {
		if !special[name] || name == "caller" && explicitCaller {
			return -1
		}
		for _, p := range def.params {
			if p.name == name {
				return -1
			}
		}
		in.param(name)
		return in.refs[name].slot
	}
	def.callerSlot, def.kwargsSlot, def.varargsSlot = slot("caller"), slot("kwargs"), slot("varargs")
	for _, p := range def.params {
		p.ref = in.ref(p.name)
	}
	for _, d := range def.defaults {
		r.expr(d, in, false)
	}
	r.bind(def.body, in, false)
	def.fn.scope = in.scope()
}

func (r *resolver) target(t *target, s *symbols) {
	for _, item := range t.items {
		r.target(item, s)
	}
	if !t.isTuple() {
		t.ref = s.ref(t.name)
	}
}

func (r *resolver) expr(e expr, s *symbols, soft bool) {
	if r.err != nil {
		return
	}
	switch e := e.(type) {
	case *nameExpr:
		e.ref = s.ref(e.name)
		e.unknown = undefinedName(e.name)
	case *condExpr:
		soft = true
	case *filterExpr:
		e.fn = filterNamed(e.name)
		if e.fn == nil && !soft {
			r.failf(e.line, "no filter is named '%s'", e.name)
		}
	case *testExpr:
		e.fn = testNamed(e.name)
		if e.fn == nil && !soft {
			r.failf(e.line, "no test is named '%s'", e.name)
		}
	}
	e.children(func(c expr) { r.expr(c, s, soft) })
}

// finder finds names that are read before the same body sets them.
type finder struct{ wanted, found map[string]bool }

func undeclared(body []stmt, names ...string) map[string]bool {
	f := finder{map[string]bool{}, map[string]bool{}}
	for _, n := range names {
		f.wanted[n] = true
	}
	f.stmts(body)
	return f.found
}

func (f finder) expr(e expr) {
	if n, ok := e.(*nameExpr); ok && f.wanted[n.name] {
		f.found[n.name] = true
	}
	e.children(f.expr)
}

func (f finder) target(t *target) {
	for _, item := range t.items {
		f.target(item)
	}
	if t.attr == "" {
		delete(f.wanted, t.name)
	}
}

func (f finder) macro(def *macroDef) {
	for _, p := range def.params {
		delete(f.wanted, p.name)
	}
	for _, d := range def.defaults {
		f.expr(d)
	}
	f.stmts(def.body)
}

func (f finder) stmts(body []stmt) {
	for _, st := range body {
		switch st := st.(type) {
		case *printStmt:
			f.expr(st.value)
		case *ifStmt:
			for _, b := range st.branches {
				f.expr(b.test)
				f.stmts(b.body)
			}
			f.stmts(st.orElse)
		case *forStmt:
			f.target(st.target)
			f.expr(st.iter)
			f.stmts(st.body)
			f.stmts(st.orElse)
			if st.test != nil {
				f.expr(st.test)
			}
		case *setStmt:
			f.target(st.target)
			f.expr(st.value)
		case *setBlockStmt:
			f.target(st.target)
			f.expr(st.filter)
			f.stmts(st.body)
		case *filterBlockStmt:
			f.stmts(st.body)
			f.expr(st.filter)
		case *withStmt:
			for i := range st.targets {
				f.target(st.targets[i])
			}
			visitAll(f.expr, st.values)
			f.stmts(st.body)
		case *macroStmt:
			f.macro(st.def)
		case *callBlockStmt:
			if st.call != nil {
				f.expr(st.call)
			}
			f.macro(st.def)
		}
	}
}
