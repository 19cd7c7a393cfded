package jinja

import (
	"slices"
)

var sequenceFilters = map[string]filterFunc{
	"batch":    filterBatch,
	"count":    plain("count", filterLength),
	"dictsort": filterDictSort,
	"first":    plain("first", filterFirst),
	"groupby":  filterGroupBy,
	"items":    plain("items", filterItems),
	"join":     filterJoin,
	"last":     plain("last", filterLast),
	"length":   plain("length", filterLength),
	"list":     plain("list", filterList),
	"max":      func(c *call) (any, error) { return c.extreme("max") },
	"min":      func(c *call) (any, error) { return c.extreme("min") },
	"reverse":  plain("reverse", filterReverse),
	"sort":     filterSort,
	"sum":      filterSum,
	"unique":   filterUnique,
}

func (c *call) extreme(name string) (any, error) {
	var p [2]any
	if err := c.bind(name, 0, p[:], "case_sensitive", "attribute"); err != nil {
		return nil, err
	}
	keyOf := c.keyOf(p[1], missing, flag(p[0]))
	items, err := c.rt.collect(c.self)
	if err != nil {
		return nil, err
	}
	var best, bestKey any
	for i, item := range items {
		key, err := keyOf(item)
		if err != nil {
			return nil, err
		}
		better := i == 0
		switch {
		case better:
		case name == "max":
			better, err = c.rt.less(bestKey, key, 0)
		default:
			better, err = c.rt.less(key, bestKey, 0)
		}
		if err != nil {
			return nil, err
		}
		if better {
			best, bestKey = item, key
		}
	}
	if len(items) == 0 {
		return undefinedHint("the sequence is empty, so it has no " + name), nil
	}
	return best, nil
}

func filterSum(c *call) (any, error) {
	var p [2]any
	if err := c.bind("sum", 0, p[:], "attribute", "start"); err != nil {
		return nil, err
	}
	path, err := c.rt.attrPath(p[0])
	if err != nil {
		return nil, err
	}
	total := p[1]
	if total == missing {
		total = int64(0)
	}
	if _, ok := text(total); ok {
		return nil, failf("the filter sum can't add strings: use the filter join")
	}
	items, err := c.rt.collect(c.self)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		v, err := c.rt.follow(item, path, missing)
		if err != nil {
			return nil, err
		}
		if total, err = c.f.binary(tokAdd, total, v); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func filterJoin(c *call) (any, error) {
	var p [2]any
	if err := c.bind("join", 0, p[:], "d", "attribute"); err != nil {
		return nil, err
	}
	path, err := c.rt.attrPath(p[1])
	if err != nil {
		return nil, err
	}
	sep := ""
	if p[0] != missing {
		if sep, err = c.rt.str(p[0]); err != nil {
			return nil, err
		}
	}
	items, err := c.rt.collect(c.self)
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(items))
	for i, item := range items {
		v, err := c.rt.follow(item, path, missing)
		if err != nil {
			return nil, err
		}
		if parts[i], err = c.rt.str(v); err != nil {
			return nil, err
		}
	}
	return c.rt.joinTexts(parts, sep)
}

func filterLength(c *call) (any, error) {
	if l, ok := c.self.(*loopState); ok {
		n, err := l.length(c.rt)
		return int64(n), err
	}
	n, ok := length(c.self)
	if !ok {
		return nil, failf("a value of type %s has no length", typeName(c.self))
	}
	return int64(n), nil
}

func filterFirst(c *call) (any, error) {
	cur, err := c.rt.iterate(c.self)
	if err != nil {
		return nil, err
	}
	v, ok, err := cur.next()
	if !ok && err == nil {
		return undefinedHint("the sequence is empty, so it has no first item"), nil
	}
	return v, err
}

// reversed returns the items in reverse order. It rejects values that Python
// can only iterate forwards.
func (c *call) reversed() ([]any, error) {
	if _, ok := c.self.(*lazy); ok {
		return nil, failf("a value of type %s can't be reversed", typeName(c.self))
	}
	items, err := c.rt.collect(c.self)
	if err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	reverse(items)
	return items, c.rt.items(len(items))
}

func filterLast(c *call) (any, error) {
	if l, ok := c.self.(*List); ok && len(l.items) > 0 {
		return l.items[len(l.items)-1], nil
	}
	items, err := c.reversed()
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return undefinedHint("the sequence is empty, so it has no last item"), nil
	}
	return items[0], nil
}

func filterReverse(c *call) (any, error) {
	if _, ok := text(c.self); ok {
		return c.rt.reverseText(c.self)
	}
	if l, ok := c.self.(*lazy); ok {
		items, err := c.rt.collect(l)
		items = slices.Clone(items)
		reverse(items)
		return &List{items: items}, err
	}
	items, err := c.reversed()
	if err != nil {
		return nil, err
	}
	cur := cursor{items: items}
	return &lazy{rt: c.rt, kind: "reversed", next: cur.next}, nil
}

func (rt *runtime) reverseText(v any) (any, error) {
	s, _ := text(v)
	if err := rt.items(len(s)); err != nil {
		return nil, err
	}
	runes := []rune(s)
	reverse(runes)
	return like(v, string(runes)), nil
}

func filterList(c *call) (any, error) {
	items, err := c.rt.collect(c.self)
	return &List{items: items}, err
}

func filterItems(c *call) (any, error) {
	switch v := c.self.(type) {
	case *undefined:
		return c.rt.generate(v, (*cursor).next), nil
	case *Dict:
		return c.rt.generate(&dictView{v, viewItems}, (*cursor).next), nil
	}
	failed := c.self
	return &lazy{rt: c.rt, kind: "generator", next: func() (any, bool, error) {
		return nil, false, failf("the filter items needs a mapping, not %s", typeName(failed))
	}}, nil
}

func filterBatch(c *call) (any, error) {
	var p [2]any
	if err := c.bind("batch", 1, p[:], "linecount", "fill_with"); err != nil {
		return nil, err
	}
	size := -1 // other types are never equal to a length
	if n, ok := toInt(p[0]); ok {
		size = int(n)
	}
	row := &List{}
	return c.rt.generate(c.self, func(cur *cursor) (any, bool, error) {
		for {
			v, ok, err := cur.next()
			if err != nil {
				return nil, false, err
			}
			full := row
			if !ok {
				row = &List{}
				return full, len(full.items) > 0, c.fill(full, size, p[1])
			}
			if err := c.rt.items(1); err != nil {
				return nil, false, err
			}
			if len(full.items) == size {
				row = &List{items: []any{v}}
				return full, true, nil
			}
			row.items = append(row.items, v)
		}
	}), nil
}

// fill pads the last batch to its size.
func (c *call) fill(l *List, size int, with any) error {
	if !given(with) || len(l.items) == 0 || len(l.items) >= size {
		return nil
	}
	if err := c.rt.items(size); err != nil {
		return err
	}
	for len(l.items) < size {
		l.items = append(l.items, with)
	}
	return nil
}
