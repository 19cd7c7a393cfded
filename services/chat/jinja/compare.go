package jinja

import (
	"strings"
)

// equal implements Python's ==.
func (rt *runtime) equal(a, b any, depth int) (bool, error) {
	switch x := a.(type) {
	case nil:
		return b == nil, nil
	case string:
		s, ok := text(b)
		return ok && s == x, nil
	case markup:
		s, ok := text(b)
		return ok && s == string(x), nil
	case *undefined:
		_, ok := b.(*undefined)
		return ok, nil
	}
	if x, ok := toNumber(a); ok {
		y, ok := toNumber(b)
		if !ok {
			return false, nil
		}
		c, ok := compareNumbers(x, y)
		return ok && c == 0, nil
	}
	if depth >= rt.t.limits.Depth {
		return false, &LimitError{"depth", int64(rt.t.limits.Depth)}
	}
	switch x := a.(type) {
	case *List:
		if y, ok := b.(*List); ok {
			return rt.equalItems(x.items, y.items, depth+1)
		}
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			return rt.equalItems(x.items, y.items, depth+1)
		}
	case *Dict:
		if y, ok := b.(*Dict); ok {
			return rt.equalDicts(x, y, depth+1)
		}
	case *rangeValue:
		y, ok := b.(*rangeValue)
		return ok && x.n == y.n && (x.n == 0 || x.start == y.start && (x.n == 1 || x.step == y.step)), nil
	case *dictView:
		return rt.equalViews(x, b, depth+1)
	}
	return a == b, nil
}

// same compares elements as containers do: by identity, then by equality.
func (rt *runtime) same(a, b any, depth int) (bool, error) {
	if err := rt.step(1); err != nil {
		return false, err
	}
	if identical(a, b) {
		return true, nil
	}
	return rt.equal(a, b, depth)
}

func (rt *runtime) equalItems(x, y []any, depth int) (bool, error) {
	if len(x) != len(y) {
		return false, nil
	}
	for i := range x {
		if ok, err := rt.same(x[i], y[i], depth); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (rt *runtime) equalDicts(x, y *Dict, depth int) (bool, error) {
	if x.Len() != y.Len() {
		return false, nil
	}
	for _, e := range x.entries {
		i := y.findHash(e.hash)
		if i < 0 {
			return false, nil
		}
		if ok, err := rt.same(e.value, y.entries[i].value, depth); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// equalViews compares keys and items as sets, as Python does. Values are equal only to themselves.
func (rt *runtime) equalViews(x *dictView, b any, depth int) (bool, error) {
	y, ok := b.(*dictView)
	if !ok || x.kind != y.kind || x.kind == viewValues {
		return x == b, nil
	}
	if x.kind == viewItems {
		return rt.equalDicts(x.d, y.d, depth)
	}
	if x.d.Len() != y.d.Len() {
		return false, nil
	}
	for _, e := range x.d.entries {
		if y.d.findHash(e.hash) < 0 {
			return false, rt.step(x.d.Len())
		}
	}
	return true, rt.step(x.d.Len())
}

// identical implements Python's "is". Small values have one identity each.
func identical(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case float64:
		return false // equal floats are different objects; equality decides
	case *undefined, *List, *Tuple, *Dict:
		return a == b
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	}
	return typeName(a) == typeName(b) && a == b
}

// less implements Python's a < b.
func (rt *runtime) less(a, b any, depth int) (bool, error) {
	if x, ok := toNumber(a); ok {
		if y, ok := toNumber(b); ok {
			c, ok := compareNumbers(x, y)
			return ok && c < 0, nil
		}
	}
	if x, ok := text(a); ok {
		if y, ok := text(b); ok {
			return x < y, nil
		}
	}
	switch x := a.(type) {
	case *List:
		if y, ok := b.(*List); ok {
			return rt.lessItems(x.items, y.items, depth+1)
		}
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			return rt.lessItems(x.items, y.items, depth+1)
		}
	}
	return false, notOrdered(a, b)
}

func notOrdered(a, b any) error {
	for _, v := range []any{a, b} {
		if u, ok := v.(*undefined); ok {
			return u.err()
		}
	}
	return failf("values of the types %s and %s can't be ordered", typeName(a), typeName(b))
}

func (rt *runtime) lessItems(x, y []any, depth int) (bool, error) {
	if depth >= rt.t.limits.Depth {
		return false, &LimitError{"depth", int64(rt.t.limits.Depth)}
	}
	for i := range min(len(x), len(y)) {
		ok, err := rt.same(x[i], y[i], depth)
		if err != nil {
			return false, err
		}
		if !ok {
			return rt.less(x[i], y[i], depth)
		}
	}
	return len(x) < len(y), nil
}

// compare applies one comparison operator.
func (rt *runtime) compare(op tokenKind, a, b any) (bool, error) {
	switch op {
	case tokEq:
		return rt.equal(a, b, 0)
	case tokNe:
		ok, err := rt.equal(a, b, 0)
		return !ok, err
	case tokLt:
		return rt.less(a, b, 0)
	case tokGt:
		return rt.less(b, a, 0)
	}
	x, isNum := toNumber(a)
	if y, ok := toNumber(b); ok && isNum { // NaN is neither less than, equal to nor greater than a number
		c, ordered := compareNumbers(x, y)
		return ordered && (c <= 0 && op == tokLe || c >= 0 && op == tokGe), nil
	}
	if op == tokGe {
		a, b = b, a
	}
	below, err := rt.less(b, a, 0) // this assumes a total order, in which a <= b means not b < a
	return !below, err
}

// contains implements Python's "item in container".
func (rt *runtime) contains(container, item any) (bool, error) {
	if s, ok := text(container); ok {
		if u, ok := item.(*undefined); ok {
			return false, failf("'in <string>' needs a string, but %s", u.problem())
		}
		sub, ok := text(item)
		if !ok {
			return false, failf("'in <string>' needs a string, not %s", typeName(item))
		}
		return strings.Contains(s, sub), rt.step(len(s) >> 6)
	}
	switch c := container.(type) {
	case *List:
		return rt.containsItem(c.items, item)
	case *Tuple:
		return rt.containsItem(c.items, item)
	case *Dict:
		_, ok, err := c.get(item)
		return ok, err
	case *dictView:
		if c.kind == viewKeys {
			_, ok, err := c.d.get(item)
			return ok, err
		}
	case *rangeValue:
		return rt.rangeContains(c, item)
	}
	cur, err := rt.iterate(container)
	if err != nil {
		return false, err
	}
	for {
		v, ok, err := cur.next()
		if !ok || err != nil {
			return false, err
		}
		if ok, err := rt.same(v, item, 0); ok || err != nil {
			return ok, err
		}
	}
}

func (rt *runtime) containsItem(items []any, item any) (bool, error) {
	for _, v := range items {
		if ok, err := rt.same(v, item, 0); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (rt *runtime) rangeContains(r *rangeValue, item any) (bool, error) {
	n, ok := toNumber(item)
	f, exact := n.float()
	if !ok || !exact || f != float64(int64(f)) || r.n == 0 {
		return false, nil
	}
	i := int64(f)
	if !n.isFloat {
		i = n.i
	}
	lo, hi := r.start, r.start+(r.n-1)*r.step
	return i >= min(lo, hi) && i <= max(lo, hi) && (i-lo)%r.step == 0, nil
}
