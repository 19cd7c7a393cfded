package jinja

func (e *constExpr) eval(*frame) (any, error) { return e.value, nil }

func (e *blockText) eval(f *frame) (any, error) { return f.slots[e.ref.slot], nil }

func (e *nameExpr) eval(f *frame) (any, error) {
	for h := e.ref.hops; h > 0; h-- {
		f = f.outer
	}
	v := f.slots[e.ref.slot]
	if v == missing {
		return e.unknown, nil
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
	return truthy(v), nil
}

func (f *frame) evalAll(list []expr) ([]any, error) {
	if len(list) == 0 {
		return nil, nil
	}
	values := make([]any, len(list))
	if err := f.evalInto(values, list); err != nil {
		return nil, err
	}
	return values, f.rt.items(len(values))
}

func (f *frame) evalInto(values []any, list []expr) error {
	for i, e := range list {
		v, err := e.eval(f)
		if err != nil {
			return err
		}
		values[i] = v
	}
	return nil
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
	d := NewDict()
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
	if err != nil || !truthy(v) {
		return v, err
	}
	return e.b.eval(f)
}

func (e *orExpr) eval(f *frame) (any, error) {
	v, err := e.a.eval(f)
	if err != nil || truthy(v) {
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
		return noElse, nil
	}
	return e.no.eval(f)
}

func (e *concatExpr) eval(f *frame) (any, error) {
	start := len(f.rt.buf)
	for _, p := range e.parts {
		if err := f.print(p); err != nil {
			return nil, err
		}
		if err := f.rt.checkBuf(); err != nil {
			return nil, err
		}
	}
	text := f.rt.cut(start)
	return text, f.rt.grow(len(text))
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
		return nil, failf("the signs + and - are not defined for %s", typeName(v))
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
	if e.op == tokAdd {
		return f.added(e)
	}
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

// added returns the value of a + b + c. It joins strings once and not pairwise.
func (f *frame) added(e *binaryExpr) (any, error) {
	start := len(f.rt.buf)
	v, written, err := f.sum(e)
	if !written || err != nil {
		return v, err
	}
	text := f.rt.cut(start)
	return text, f.rt.grow(len(text))
}

// sum evaluates a + b + c. As long as all operands are strings, sum writes the operands to the
// output, and returns no value.
func (f *frame) sum(e expr) (v any, written bool, err error) {
	add, ok := e.(*binaryExpr)
	if !ok || add.op != tokAdd {
		if v, err = e.eval(f); err != nil {
			return nil, false, err
		}
		s, ok := v.(string)
		if !ok {
			return v, false, nil
		}
		return nil, true, f.write(s)
	}
	start := len(f.rt.buf)
	a, written, err := f.sum(add.a)
	if err != nil {
		return nil, false, err
	}
	b, err := add.b.eval(f)
	if err != nil {
		return nil, false, err
	}
	if written {
		if _, ok := b.(string); ok {
			return nil, true, f.write(b)
		}
		a = f.rt.cut(start)
	}
	v, err = f.binary(tokAdd, a, b)
	return v, false, err
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

// add joins two strings, lists or tuples.
func (rt *runtime) add(a, b any) (any, error) {
	if x, ok := text(a); ok {
		if y, ok := text(b); ok { // one is markup, so the other is escaped
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

// repeat implements sequence * n.
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
		return nil, failf("a value of type %s can't be repeated", typeName(v))
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

func (e *attrExpr) eval(f *frame) (any, error) {
	v, err := e.object.eval(f)
	if err != nil {
		return nil, err
	}
	return f.rt.attr(v, &e.key)
}

func (e *fieldExpr) eval(f *frame) (any, error) {
	v, err := e.object.eval(f)
	if err != nil {
		return nil, err
	}
	return f.rt.field(v, &e.key)
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

// eval is never called: a slice only occurs in brackets, where itemExpr applies it.
func (e *sliceExpr) eval(*frame) (any, error) {
	return nil, failf("a slice can be used only inside square brackets")
}
