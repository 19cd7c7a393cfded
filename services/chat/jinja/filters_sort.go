package jinja

import (
	"slices"
	"strconv"
	"strings"
)

// Limits of the cache of attribute paths: number and bytes of each. Templates that exceed them are
// artificial.
const (
	maxPaths = 64
	maxPath  = 64
)

// pathPart is the charge for each name of a path, in list elements.
const pathPart = 16

// attrPath parses the attribute argument of a filter: dot-separated names, as *fixedKey, and
// numbers.
func (rt *runtime) attrPath(v any) ([]any, error) {
	s, ok := text(v)
	switch {
	case !given(v):
		return nil, nil
	case !ok:
		return []any{v}, nil
	}
	if path, known := rt.paths[s]; known {
		return path, nil
	}
	if err := rt.items(pathPart * (1 + strings.Count(s, "."))); err != nil {
		return nil, err
	}
	path := parsePath(s)
	if len(s) > maxPath {
		return path, nil
	}
	if rt.paths == nil || len(rt.paths) == maxPaths {
		rt.paths = map[string][]any{}
	}
	rt.paths[s] = path
	return path, nil
}

func parsePath(s string) []any {
	var path []any
	for part := range strings.SplitSeq(s, ".") {
		if n, err := strconv.ParseUint(part, 10, 31); err == nil && part[0] != '+' {
			path = append(path, int64(n))
		} else {
			key := newFixedKey(part)
			path = append(path, &key)
		}
	}
	return path
}

// follow looks up a path in v. If something is missing it uses def, unless def is missing or nil.
func (rt *runtime) follow(v any, path []any, def any) (any, error) {
	for _, key := range path {
		var err error
		if name, ok := key.(*fixedKey); ok {
			v, err = rt.field(v, name)
		} else {
			v, err = rt.item(v, key)
		}
		if err != nil {
			return nil, err
		}
		if _, ok := v.(*undefined); ok && given(def) {
			v = def
		}
	}
	return v, nil
}

// keyOf returns the key function of filters that sort or group.
func (c *call) keyOf(attribute, def any, caseSensitive bool) func(v any) (any, error) {
	path, wrong := c.rt.attrPath(attribute)
	return func(v any) (any, error) {
		if wrong != nil {
			return nil, wrong
		}
		v, err := c.rt.follow(v, path, def)
		if caseSensitive || err != nil {
			return v, err
		}
		return ignoreCase(v), nil
	}
}

func ignoreCase(v any) any {
	if s, ok := text(v); ok {
		return lower(s)
	}
	return v
}

func flag(v any) bool { return v != missing && truthy(v) }

// sorted sorts items by keys. The sort is stable and reorders keys too.
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
	reversed, err := wantInt("the argument reverse", p[0], 0)
	if err != nil {
		return nil, err
	}
	attributes := []any{p[2]}
	if s, ok := text(p[2]); ok {
		attributes = attributes[:0]
		for a := range strings.SplitSeq(s, ",") {
			attributes = append(attributes, a)
		}
	}
	keys := make([]any, len(items))
	for i, item := range items {
		key := &List{}
		for _, a := range attributes {
			part, err := c.keyOf(a, missing, flag(p[1]))(item)
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
	by, err := wantText("the argument by", p[1], "key")
	if err != nil {
		return nil, err
	}
	if by != "key" && by != "value" {
		return nil, failf("the argument by of the filter dictsort must be 'key' or 'value'")
	}
	d, ok := c.self.(*Dict)
	if !ok {
		return nil, failf("the filter dictsort needs a mapping, not %s", typeName(c.self))
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
	keyOf, shown := c.keyOf(p[0], p[1], flag(p[2])), c.keyOf(p[0], p[1], true)
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
	keyOf := c.keyOf(p[1], missing, flag(p[0]))
	seen := NewDict()
	return c.rt.generate(c.self, func(cur *cursor) (any, bool, error) {
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
