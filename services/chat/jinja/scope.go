package jinja

import (
	"fmt"
	"maps"
)

// Names are resolved when a template is parsed. Jinja compiles each template, macro and recursive
// loop to a function, and each block inside to a scope of that function. For every name that it
// uses, a scope decides the initial value: unknown, a parameter, the caller's variable, or a copy
// of the enclosing scope's variable. The decision applies to the whole scope and not line by line.
// A set inside of a for loop therefore ends with the pass.

// maxTree limits the height of an expression's tree, and so the stack that evaluation needs.
const maxTree = 1000

// function is the layout of the variable slots in a frame: of the template itself, or of a macro.
type function struct {
	outer *function
	depth int
	slots int
	taken map[slotKey]int
	scope scope
}

// slotKey identifies a slot. Equal names at one depth of scopes share a slot, as in Jinja.
type slotKey struct {
	level int
	name  string
}

func newFunction(outer *function) *function {
	fn := &function{outer: outer, taken: map[slotKey]int{}}
	if outer != nil {
		fn.depth = outer.depth + 1
	}
	return fn
}

func (fn *function) slot(level int, name string) int {
	key := slotKey{level, name}
	i, ok := fn.taken[key]
	if !ok {
		i = fn.slots
		fn.taken[key] = i
		fn.slots++
	}
	return i
}

// scope lists the initial values of a scope's variables.
type scope struct{ loads []load }

type loadKind uint8

const (
	loadMissing loadKind = iota
	loadParam
	loadName  // the value comes from the caller's variables or the globals
	loadOuter // the value is copied from the enclosing scope
)

type load struct {
	kind loadKind
	slot int
	name int
	from varRef
}

// symbols are the variables of a scope while the scope is analyzed.
type symbols struct {
	r      *resolver
	parent *symbols
	fn     *function
	level  int
	refs   map[string]slotRef
	loads  map[string]loadKind
	order  []string
	stores map[string]bool
}

type slotRef struct {
	fn   *function
	slot int
}

type resolver struct {
	t     *Template
	names map[string]int
	err   error
}

// resolve binds every name of the template and looks up its filters and tests.
func resolve(t *Template, body []stmt) error {
	r := &resolver{t: t, names: map[string]int{}}
	t.root = newFunction(nil)
	root := r.newSymbols(nil, t.root, 0)
	root.declare(body)
	r.bind(body, root, false)
	t.root.scope = root.scope()
	for len(t.names) < len(r.names) {
		t.names = append(t.names, "")
	}
	for name, i := range r.names {
		t.names[i] = name
	}
	return r.err
}

func (r *resolver) newSymbols(parent *symbols, fn *function, level int) *symbols {
	return &symbols{
		r: r, parent: parent, fn: fn, level: level,
		refs: map[string]slotRef{}, loads: map[string]loadKind{}, stores: map[string]bool{},
	}
}

func (s *symbols) inner(fn *function) *symbols { return s.r.newSymbols(s, fn, s.level+1) }

func (s *symbols) copy() *symbols {
	c := s.r.newSymbols(s.parent, s.fn, s.level)
	maps.Copy(c.refs, s.refs)
	maps.Copy(c.loads, s.loads)
	maps.Copy(c.stores, s.stores)
	c.order = append(c.order, s.order...)
	return c
}

func (s *symbols) find(name string) (slotRef, bool) {
	for ; s != nil; s = s.parent {
		if ref, ok := s.refs[name]; ok {
			return ref, true
		}
	}
	return slotRef{}, false
}

func (s *symbols) define(name string, kind loadKind) {
	if _, ok := s.loads[name]; !ok {
		s.order = append(s.order, name)
	}
	s.refs[name] = slotRef{s.fn, s.fn.slot(s.level, name)}
	s.loads[name] = kind
}

func (s *symbols) param(name string) {
	s.stores[name] = true
	s.define(name, loadParam)
}

func (s *symbols) store(name string) {
	s.stores[name] = true
	if _, ok := s.refs[name]; ok {
		return
	}
	kind := loadMissing
	if _, ok := s.parent.find(name); ok {
		kind = loadOuter
	}
	s.define(name, kind)
}

func (s *symbols) load(name string) {
	if _, ok := s.find(name); !ok {
		s.define(name, loadName)
	}
}

// merge combines the results of the branches of an if. A name that only some branches set keeps its
// outer value in the others.
func (s *symbols) merge(branches ...*symbols) {
	stored := map[string]bool{}
	for _, b := range branches {
		for name := range b.stores {
			if !s.stores[name] {
				stored[name] = true
			}
		}
	}
	for _, b := range branches {
		for _, name := range b.order {
			s.define(name, b.loads[name])
		}
		for name := range b.stores {
			s.stores[name] = true
		}
	}
	for name := range stored {
		kind := loadName
		if _, ok := s.parent.find(name); ok {
			kind = loadOuter
		}
		s.define(name, kind)
	}
}

// loadAll declares the names that an expression reads.
func (s *symbols) loadAll(e expr, depth int) {
	if depth > maxTree {
		s.r.failf(0, "an expression has more than %d operations in a row", maxTree)
		return
	}
	if n, ok := e.(*nameExpr); ok {
		s.load(n.name)
		return
	}
	e.children(func(c expr) { s.loadAll(c, depth+1) })
}

func (s *symbols) storeTarget(t *target) {
	switch {
	case t.isTuple():
		for _, item := range t.items {
			s.storeTarget(item)
		}
	case t.attr != "":
		s.load(t.name)
	default:
		s.store(t.name)
	}
}

func (s *symbols) paramTarget(t *target) {
	for _, item := range t.items {
		s.paramTarget(item)
	}
	if !t.isTuple() {
		s.param(t.name)
	}
}

// declare collects the names that statements use in this scope, without those of inner scopes.
func (s *symbols) declare(body []stmt) {
	for _, st := range body {
		s.declareOne(st)
	}
}

func (s *symbols) declareOne(st stmt) {
	switch st := st.(type) {
	case *printStmt:
		s.loadAll(st.value, 0)
	case *ifStmt:
		s.declareIf(st)
	case *forStmt:
		s.loadAll(st.iter, 0)
	case *macroStmt:
		s.store(st.def.name)
	case *callBlockStmt:
		if st.call != nil {
			s.loadAll(st.call, 0)
		}
	case *filterBlockStmt:
		s.loadAll(st.filter, 0)
	case *withStmt:
		for _, v := range st.values {
			s.loadAll(v, 0)
		}
	case *setStmt:
		s.loadAll(st.value, 0)
		s.storeTarget(st.target)
	case *setBlockStmt:
		s.storeTarget(st.target)
	}
}

func (s *symbols) declareIf(st *ifStmt) {
	s.loadAll(st.branches[0].test, 0)
	first, others, orElse := s.copy(), s.copy(), s.copy()
	first.declare(st.branches[0].body)
	for _, b := range st.branches[1:] {
		others.loadAll(b.test, 0)
		body := others.copy()
		body.declare(b.body)
		others.merge(body)
	}
	orElse.declare(st.orElse)
	s.merge(first, others, orElse)
}

// scope returns the loads of the finished analysis.
func (s *symbols) scope() scope {
	var sc scope
	for _, name := range s.order {
		l := load{kind: s.loads[name], slot: s.refs[name].slot}
		switch l.kind {
		case loadName:
			l.name = s.r.nameID(name)
		case loadOuter:
			ref, _ := s.parent.find(name)
			l.from = varRef{s.fn.depth - ref.fn.depth, ref.slot}
		case loadMissing, loadParam:
		}
		sc.loads = append(sc.loads, l)
	}
	return sc
}

func (r *resolver) nameID(name string) int {
	i, ok := r.names[name]
	if !ok {
		i = len(r.names)
		r.names[name] = i
	}
	return i
}

func (r *resolver) failf(line int, format string, args ...any) {
	if r.err == nil {
		r.err = &SyntaxError{Name: r.t.name, Line: line, Message: fmt.Sprintf(format, args...)}
	}
}

func (s *symbols) ref(name string) varRef {
	ref, ok := s.find(name)
	if !ok { // a filter of a set block may use a name that occurs nowhere else
		s.load(name)
		ref = s.refs[name]
	}
	return varRef{s.fn.depth - ref.fn.depth, ref.slot}
}
