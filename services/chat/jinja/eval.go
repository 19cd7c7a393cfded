package jinja

func (e *constExpr) eval(*frame) (any, error) { return e.value, nil }

func (e *blockText) eval(f *frame) (any, error) { return f.slots[e.ref.slot], nil }

func (e *nameExpr) eval(f *frame) (any, error) {
	for h := e.ref.hops; h > 0; h-- {
		f = f.outer
	}
	v := f.slots[e.ref.slot]
	if v == missing {
		return undefinedName(e.name), nil
	}
	return v, nil
}

// test evaluates a condition.
func (f *frame) test(e expr) (bool, error) {
	switch e := e.(type) {
	case *notExpr:
		ok, err := f.test(e.a)
		return !ok, err
	case *andExpr:
		if ok, err := f.test(e.a); !ok || err != nil {
			return false, err
		}
		return f.test(e.b)
	case *orExpr:
		if ok, err := f.test(e.a); ok || err != nil {
			return ok, err
		}
		return f.test(e.b)
	}
	v, err := e.eval(f)
	if err != nil {
		return false, err
	}
	return truth(v), nil
}

func (f *frame) evalAll(list []expr) ([]any, error) {
	if len(list) == 0 {
		return nil, nil
	}
	values := make([]any, len(list))
	for i, e := range list {
		v, err := e.eval(f)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, f.rt.items(len(values))
}

func (e *tupleExpr) eval(f *frame) (any, error) {
	items, err := f.evalAll(e.items)
	return &Tuple{items: items}, err
}

func (e *listExpr) eval(f *frame) (any, error) {
	items, err := f.evalAll(e.items)
	return &List{items: items}, err
}

func (e *dictExpr) eval(f *frame) (any, error) {
	d := &Dict{entries: make([]entry, 0, len(e.keys))}
	for i := range e.keys {
		k, err := e.keys[i].eval(f)
		if err != nil {
			return nil, err
		}
		v, err := e.values[i].eval(f)
		if err != nil {
			return nil, err
		}
		if err := d.set(k, v); err != nil {
			return nil, err
		}
	}
	return d, f.rt.items(2 * len(e.keys))
}

func (e *andExpr) eval(f *frame) (any, error) {
	v, err := e.a.eval(f)
	if err != nil || !truth(v) {
		return v, err
	}
	return e.b.eval(f)
}

func (e *orExpr) eval(f *frame) (any, error) {
	v, err := e.a.eval(f)
	if err != nil || truth(v) {
		return v, err
	}
	return e.b.eval(f)
}

func (e *notExpr) eval(f *frame) (any, error) {
	ok, err := f.test(e.a)
	return !ok, err
}

func (e *condExpr) eval(f *frame) (any, error) {
	ok, err := f.test(e.test)
	if err != nil {
		return nil, err
	}
	if ok {
		return e.yes.eval(f)
	}
	if e.no == nil {
		return undefinedHint("the condition of an inline if is false and it has no else"), nil
	}
	return e.no.eval(f)
}

func (e *concatExpr) eval(f *frame) (any, error) {
	var b []byte
	for i, p := range e.parts {
		v, err := p.eval(f)
		if err != nil {
			return nil, err
		}
		if s, ok := text(v); ok && i == 0 {
			b = make([]byte, 0, 2*len(s)+32)
		}
		if b, err = f.rt.appendStr(b, v); err != nil {
			return nil, err
		}
		if int64(len(b)) > f.rt.t.limits.Output {
			break // grow reports it
		}
	}
	return string(b), f.rt.grow(len(b))
}

func (e *compareExpr) eval(f *frame) (any, error) {
	a, err := e.first.eval(f)
	if err != nil {
		return nil, err
	}
	for i, op := range e.ops {
		b, err := e.rest[i].eval(f)
		if err != nil {
			return nil, err
		}
		var ok bool
		switch op {
		case tokIn:
			ok, err = f.rt.contains(b, a)
		case tokNotIn:
			ok, err = f.rt.contains(b, a)
			ok = !ok
		default:
			ok, err = f.rt.compare(op, a, b)
		}
		if !ok || err != nil {
			return false, err
		}
		a = b
	}
	return true, nil
}

func (e *unaryExpr) eval(f *frame) (any, error) {
	v, err := e.a.eval(f)
	if err != nil {
		return nil, err
	}
	n, ok := toNumber(v)
	if !ok {
		if u, ok := v.(*undefined); ok {
			return nil, u.err()
		}
		return nil, failf("%s can't have a sign", typeName(v))
	}
	if n.isFloat {
		if e.op == tokSub {
			return -n.f, nil
		}
		return n.f, nil
	}
	if e.op == tokAdd {
		return fromBig(n.bigInt())
	}
	return arith(tokSub, number{}, n)
}

func (e *binaryExpr) eval(f *frame) (any, error) {
	a, err := e.a.eval(f)
	if err != nil {
		return nil, err
	}
	b, err := e.b.eval(f)
	if err != nil {
		return nil, err
	}
	return f.binary(e.op, a, b)
}

func (f *frame) binary(op tokenKind, a, b any) (any, error) {
	if x, ok := a.(string); ok && op == tokAdd {
		if y, ok := b.(string); ok {
			return x + y, f.rt.grow(len(x) + len(y))
		}
	}
	if x, ok := toNumber(a); ok {
		if y, ok := toNumber(b); ok {
			return arith(op, x, y)
		}
	}
	if s, ok := text(a); ok && op == tokMod {
		return f.percent(a, s, b)
	}
	for _, v := range []any{a, b} {
		if u, ok := v.(*undefined); ok {
			return nil, u.err()
		}
	}
	switch op {
	case tokAdd:
		return f.rt.add(a, b)
	case tokMul:
		if n, ok := toInt(b); ok {
			return f.rt.repeat(a, n)
		}
		if n, ok := toInt(a); ok {
			return f.rt.repeat(b, n)
		}
	}
	return nil, failf("operator %s is not defined for %s and %s", (&token{kind: op}).describe(), typeName(a), typeName(b))
}

// add joins two texts, lists or tuples.
func (rt *runtime) add(a, b any) (any, error) {
	if x, ok := text(a); ok {
		if y, ok := text(b); ok { // one of them is markup, which escapes the other
			x, y = escapeText(a, x), escapeText(b, y)
			return markup(x + y), rt.grow(len(x) + len(y))
		}
	}
	switch x := a.(type) {
	case *List:
		if y, ok := b.(*List); ok {
			items, err := rt.join(x.items, y.items)
			return &List{items: items}, err
		}
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			items, err := rt.join(x.items, y.items)
			return &Tuple{items: items}, err
		}
	}
	return nil, failf("can't add %s and %s", typeName(a), typeName(b))
}

func (rt *runtime) join(a, b []any) ([]any, error) {
	if err := rt.items(len(a) + len(b)); err != nil {
		return nil, err
	}
	return append(append(make([]any, 0, len(a)+len(b)), a...), b...), nil
}

// repeat is sequence * n.
func (rt *runtime) repeat(v any, n int64) (any, error) {
	n = max(n, 0)
	size := func(unit int) int {
		if unit > 0 && n > rt.t.limits.Output/int64(unit) {
			return -1
		}
		return unit * int(n)
	}
	var items []any
	switch v := v.(type) {
	case string, markup:
		s, _ := text(v)
		if err := rt.grow(size(len(s))); err != nil {
			return nil, err
		}
		return like(v, repeatText(s, int(n))), nil
	case *List:
		items = v.items
	case *Tuple:
		items = v.items
	default:
		return nil, failf("%s can't be repeated", typeName(v))
	}
	total := size(len(items))
	if err := rt.items(total); err != nil {
		return nil, err
	}
	out := make([]any, 0, total)
	for len(out) < total {
		out = append(out, items...)
	}
	if _, ok := v.(*List); ok {
		return &List{items: out}, nil
	}
	return &Tuple{items: out}, nil
}

func (e *callExpr) eval(f *frame) (any, error) { return e.evalWith(f, nil) }

// evalWith calls with further keyword arguments. Methods of plain values are called without making a
// bound method first.
func (e *callExpr) evalWith(f *frame, more []keyword) (any, error) {
	if err := f.rt.step(1); err != nil {
		return nil, err
	}
	c := call{f: f, rt: f.rt}
	var method nativeFunc
	var fn any
	var err error
	if a, ok := e.fn.(*attrExpr); ok {
		if c.self, err = a.object.eval(f); err != nil {
			return nil, err
		}
		if method = a.methods.of(c.self); method == nil {
			fn, err = f.rt.attr(c.self, a.name, a.methods)
		}
	} else {
		fn, err = e.fn.eval(f)
	}
	if err != nil {
		return nil, err
	}
	if err := e.argList.eval(f, &c); err != nil {
		return nil, err
	}
	c.kw = append(c.kw, more...)
	if method != nil {
		return method(&c)
	}
	return f.rt.call(fn, &c)
}

func (rt *runtime) call(fn any, c *call) (any, error) {
	switch fn := fn.(type) {
	case *builtin:
		return fn.call(c)
	case *macro:
		return fn.invoke(rt, c.args, c.kw)
	case *loopState:
		return fn.call(c)
	case *joiner:
		return fn.call(c)
	case *undefined:
		return nil, fn.err()
	}
	return nil, failf("'%s' can't be called", typeName(fn))
}

// eval adds the arguments to c.
func (a *argList) eval(f *frame, c *call) error {
	var err error
	if c.args, err = f.evalAll(a.args); err != nil {
		return err
	}
	for _, k := range a.kwargs {
		v, err := k.value.eval(f)
		if err != nil {
			return err
		}
		c.kw = append(c.kw, keyword{k.name, v})
	}
	if a.star != nil {
		v, err := a.star.eval(f)
		if err != nil {
			return err
		}
		items, err := f.rt.collect(v)
		if err != nil {
			return err
		}
		c.args = append(c.args, items...)
	}
	if a.stars != nil {
		return a.evalStars(f, c)
	}
	return nil
}

func (a *argList) evalStars(f *frame, c *call) error {
	v, err := a.stars.eval(f)
	if err != nil {
		return err
	}
	d, ok := v.(*Dict)
	if !ok {
		return failf("the argument after ** must be a mapping, not %s", typeName(v))
	}
	for _, e := range d.entries {
		name, ok := text(e.key)
		if !ok {
			return failf("the keys of the argument after ** must be strings")
		}
		for _, k := range c.kw {
			if k.name == name {
				return failf("got multiple values for argument '%s'", name)
			}
		}
		c.kw = append(c.kw, keyword{name, e.value})
	}
	return f.rt.step(d.Len())
}

func (e *filterExpr) eval(f *frame) (any, error) {
	if e.fn == nil {
		return nil, failf("no filter is named '%s'", e.name)
	}
	return applyNamed(f, e.fn, e.input, &e.argList)
}

func (e *testExpr) eval(f *frame) (any, error) {
	if e.fn == nil {
		return nil, failf("no test is named '%s'", e.name)
	}
	return applyNamed(f, e.fn, e.input, &e.argList)
}

func applyNamed(f *frame, fn filterFunc, input expr, args *argList) (any, error) {
	if err := f.rt.step(1); err != nil {
		return nil, err
	}
	v, err := input.eval(f)
	if err != nil {
		return nil, err
	}
	c := call{f: f, rt: f.rt, self: v}
	if err := args.eval(f, &c); err != nil {
		return nil, err
	}
	return fn(&c)
}

func (e *attrExpr) eval(f *frame) (any, error) {
	v, err := e.object.eval(f)
	if err != nil {
		return nil, err
	}
	return f.rt.attr(v, e.name, e.methods)
}

func (e *itemExpr) eval(f *frame) (any, error) {
	v, err := e.object.eval(f)
	if err != nil {
		return nil, err
	}
	if s, ok := e.key.(*sliceExpr); ok {
		return s.apply(f, v)
	}
	k, err := e.key.eval(f)
	if err != nil {
		return nil, err
	}
	return f.rt.item(v, k)
}

// eval is never asked for: a slice only stands in brackets, where itemExpr applies it.
func (e *sliceExpr) eval(*frame) (any, error) { return nil, failf("a slice is no value") }
