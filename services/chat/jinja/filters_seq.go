package jinja

import (
	"slices"
	"strconv"
	"strings"
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
	"slice":    filterSlice,
	"sort":     filterSort,
	"sum":      filterSum,
	"unique":   filterUnique,
}

// attrPath is the attribute argument of a filter: names and numbers with dots between.
func attrPath(v any) ([]any, error) {
	s, ok := text(v)
	switch {
	case !given(v):
		return nil, nil
	case !ok:
		return []any{v}, nil
	}
	var path []any
	for _, part := range strings.Split(s, ".") {
		if n, err := strconv.ParseUint(part, 10, 31); err == nil && part[0] != '+' {
			path = append(path, int64(n))
		} else {
			path = append(path, part)
		}
	}
	return path, nil
}

// follow looks up a path in v; def, unless missing or nil, stands for what is not there.
func (rt *runtime) follow(v any, path []any, def any) (any, error) {
	for _, key := range path {
		var err error
		if v, err = rt.item(v, key); err != nil {
			return nil, err
		}
		if _, ok := v.(*undefined); ok && given(def) {
			v = def
		}
	}
	return v, nil
}

// keyOf makes the function that filters sort and group by.
func (c *call) keyOf(attribute, def any, caseSensitive bool) (func(v any) (any, error), error) {
	path, err := attrPath(attribute)
	if err != nil {
		return nil, err
	}
	return func(v any) (any, error) {
		v, err := c.rt.follow(v, path, def)
		if caseSensitive || err != nil {
			return v, err
		}
		return ignoreCase(v), nil
	}, nil
}

func ignoreCase(v any) any {
	if s, ok := text(v); ok {
		return lower(s)
	}
	return v
}

func flag(v any) bool { return v != missing && truth(v) }

// sorted sorts items by keys, which it reorders too, in a stable way.
func (rt *runtime) sorted(items, keys []any, reversed bool) ([]any, error) {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	var failed error
	slices.SortStableFunc(order, func(i, j int) int {
		if failed != nil {
			return 0
		}
		if failed = rt.step(1); failed != nil {
			return 0
		}
		a, b := keys[i], keys[j]
		if reversed {
			a, b = b, a
		}
		below, err := rt.less(a, b, 0)
		if below || err != nil {
			failed = err
			return -1
		}
		above, err := rt.less(b, a, 0)
		failed = err
		return boolInt(above)
	})
	if failed != nil {
		return nil, failed
	}
	out, outKeys := make([]any, len(items)), make([]any, len(items))
	for i, from := range order {
		out[i], outKeys[i] = items[from], keys[from]
	}
	copy(keys, outKeys)
	return out, rt.items(len(items))
}

func (rt *runtime) sortedEntries(entries []entry) ([]entry, error) {
	order, keys := make([]any, len(entries)), make([]any, len(entries))
	for i, e := range entries {
		order[i], keys[i] = int64(i), e.key
	}
	order, err := rt.sorted(order, keys, false)
	if err != nil {
		return nil, err
	}
	out := make([]entry, len(entries))
	for i, from := range order {
		out[i] = entries[from.(int64)]
	}
	return out, nil
}

func filterSort(c *call) (any, error) {
	var p [3]any
	if err := c.bind("sort", 0, p[:], "reverse", "case_sensitive", "attribute"); err != nil {
		return nil, err
	}
	items, err := c.rt.collect(c.self)
	if err != nil {
		return nil, err
	}
	reversed, err := wantInt("reverse", p[0], 0)
	if err != nil {
		return nil, err
	}
	attributes := []any{p[2]}
	if s, ok := text(p[2]); ok {
		attributes = attributes[:0]
		for _, a := range strings.Split(s, ",") {
			attributes = append(attributes, a)
		}
	}
	keys := make([]any, len(items))
	for i, item := range items {
		key := &List{}
		for _, a := range attributes {
			fn, err := c.keyOf(a, missing, flag(p[1]))
			if err != nil {
				return nil, err
			}
			part, err := fn(item)
			if err != nil {
				return nil, err
			}
			key.items = append(key.items, part)
		}
		keys[i] = key
	}
	items, err = c.rt.sorted(items, keys, reversed != 0)
	return &List{items: items}, err
}

func filterDictSort(c *call) (any, error) {
	var p [3]any
	if err := c.bind("dictsort", 0, p[:], "case_sensitive", "by", "reverse"); err != nil {
		return nil, err
	}
	by, err := wantText("by", p[1], "key")
	if err != nil {
		return nil, err
	}
	if by != "key" && by != "value" {
		return nil, failf("dictsort sorts by 'key' or 'value'")
	}
	d, ok := c.self.(*Dict)
	if !ok {
		return nil, failf("dictsort needs a mapping, not %s", typeName(c.self))
	}
	items, keys := make([]any, d.Len()), make([]any, d.Len())
	for i, e := range d.entries {
		items[i], keys[i] = tuple(e.key, e.value), e.key
		if by == "value" {
			keys[i] = e.value
		}
		if !flag(p[0]) {
			keys[i] = ignoreCase(keys[i])
		}
	}
	items, err = c.rt.sorted(items, keys, flag(p[2]))
	return &List{items: items}, err
}

func filterGroupBy(c *call) (any, error) {
	var p [3]any
	if err := c.bind("groupby", 1, p[:], "attribute", "default", "case_sensitive"); err != nil {
		return nil, err
	}
	items, err := c.rt.collect(c.self)
	if err != nil {
		return nil, err
	}
	keyOf, err := c.keyOf(p[0], p[1], flag(p[2]))
	if err != nil {
		return nil, err
	}
	shown, err := c.keyOf(p[0], p[1], true)
	if err != nil {
		return nil, err
	}
	keys := make([]any, len(items))
	for i, item := range items {
		if keys[i], err = keyOf(item); err != nil {
			return nil, err
		}
	}
	if items, err = c.rt.sorted(items, keys, false); err != nil {
		return nil, err
	}
	var groups []any
	var last *List
	for i, item := range items {
		same := false
		if i > 0 {
			if same, err = c.rt.same(keys[i-1], keys[i], 0); err != nil {
				return nil, err
			}
		}
		if !same {
			name, err := shown(item)
			if err != nil {
				return nil, err
			}
			last = &List{}
			groups = append(groups, &Tuple{items: []any{name, last}, names: []string{"grouper", "list"}})
		}
		last.items = append(last.items, item)
	}
	return &List{items: groups}, nil
}

func filterUnique(c *call) (any, error) {
	var p [2]any
	if err := c.bind("unique", 0, p[:], "case_sensitive", "attribute"); err != nil {
		return nil, err
	}
	keyOf, err := c.keyOf(p[1], missing, flag(p[0]))
	if err != nil {
		return nil, err
	}
	seen := NewDict()
	return c.rt.generate("generator", c.self, func(cur *cursor) (any, bool, error) {
		for {
			v, ok, err := cur.next()
			if !ok || err != nil {
				return nil, false, err
			}
			key, err := keyOf(v)
			if err != nil {
				return nil, false, err
			}
			before := seen.Len()
			if err := seen.set(key, true); err != nil {
				return nil, false, err
			}
			if seen.Len() > before {
				return v, true, c.rt.items(2)
			}
			if err := c.rt.step(1); err != nil {
				return nil, false, err
			}
		}
	}), nil
}

func (c *call) extreme(name string) (any, error) {
	var p [2]any
	if err := c.bind(name, 0, p[:], "case_sensitive", "attribute"); err != nil {
		return nil, err
	}
	keyOf, err := c.keyOf(p[1], missing, flag(p[0]))
	if err != nil {
		return nil, err
	}
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
	path, err := attrPath(p[0])
	if err != nil {
		return nil, err
	}
	total := p[1]
	if total == missing {
		total = int64(0)
	}
	if _, ok := text(total); ok {
		return nil, failf("sum does not add strings: use join")
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
	path, err := attrPath(p[1])
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

// reversible refuses what Python can only walk forwards.
func (c *call) reversed() ([]any, error) {
	if _, ok := c.self.(*lazy); ok {
		return nil, failf("a value of type %s can't be walked backwards", typeName(c.self))
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
		return c.rt.generate("generator", v, (*cursor).next), nil
	case *Dict:
		return c.rt.generate("generator", &dictView{v, viewItems}, (*cursor).next), nil
	}
	failed := c.self
	return &lazy{rt: c.rt, kind: "generator", next: func() (any, bool, error) {
		return nil, false, failf("items needs a mapping, not %s", typeName(failed))
	}}, nil
}

func filterBatch(c *call) (any, error) {
	var p [2]any
	if err := c.bind("batch", 1, p[:], "linecount", "fill_with"); err != nil {
		return nil, err
	}
	size := -1 // any other type is never equal to a length
	if n, ok := toInt(p[0]); ok {
		size = int(n)
	}
	row := &List{}
	return c.rt.generate("generator", c.self, func(cur *cursor) (any, bool, error) {
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

// fill brings the last batch to its size.
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

func filterSlice(c *call) (any, error) {
	var p [2]any
	if err := c.bind("slice", 1, p[:], "slices", "fill_with"); err != nil {
		return nil, err
	}
	var items []any
	n, i, at := 0, -1, 0
	return &lazy{rt: c.rt, kind: "generator", next: func() (any, bool, error) {
		var err error
		if i++; i == 0 {
			if n, err = wantInt("slices", p[0], 0); err != nil {
				return nil, false, err
			}
			if n == 0 {
				return nil, false, failf("slice needs at least one slice")
			}
			if items, err = c.rt.collect(c.self); err != nil {
				return nil, false, err
			}
		}
		if i >= n {
			return nil, false, c.rt.step(1)
		}
		size, extra := len(items)/n, len(items)%n
		end := at + size
		if i < extra {
			end++
		}
		row := &List{items: slices.Clone(items[at:end])}
		if i >= extra && given(p[1]) {
			row.items = append(row.items, p[1])
		}
		at = end
		return row, true, c.rt.items(len(row.items) + 1)
	}}, nil
}
