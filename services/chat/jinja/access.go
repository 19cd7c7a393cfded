package jinja

import (
	"math"
	"math/big"
	"unicode/utf8"
)

// attr evaluates object.name: an attribute or method of the object, else its item with that name,
// else undefined. Names that Python's sandbox hides are undefined too, and so can't be called:
// names that start with an underscore, and methods that change a list or dict.
func (rt *runtime) attr(v any, key *fixedKey) (any, error) {
	name, methods := key.name, &key.methods
	switch v := v.(type) {
	case *Dict:
		if method := methods.dict; method != nil {
			return bound(name, v, method), nil
		}
		if key.mutator {
			break
		}
		if item, ok := v.Get(name); ok {
			return item, nil
		}
		return key.absent, nil
	case *undefined:
		return nil, v.err()
	}
	if name != "" && name[0] == '_' {
		return undefinedIn(v, name), nil
	}
	if a, ok, err := rt.ownAttr(v, name); ok || err != nil {
		return a, err
	}
	if method := methods.of(v); method != nil {
		return bound(name, v, method), nil
	}
	if _, ok := v.(string); ok {
		return key.absentInString, nil
	}
	return undefinedIn(v, name), nil
}

// fixedKey is a constant name in a template, with the lookups that are possible before the template
// runs.
type fixedKey struct {
	name    string
	methods methodSet
	mutator bool
	absent  *undefined // result for a dict without the key; most messages lack keys that templates read

	absentInString *undefined // result for a string; some templates iterate over a message's content as if it were a list of parts
}

func newFixedKey(name string) fixedKey {
	return fixedKey{name, methodsNamed(name), mutators[name], undefinedIn((*Dict)(nil), name), undefinedIn("", name)}
}

// notStringAttr reports whether no string has this attribute. All strings then behave alike.
func (k *fixedKey) notStringAttr() bool { return k.methods.str == nil }

// field is item for a constant key.
func (rt *runtime) field(v any, key *fixedKey) (any, error) {
	d, ok := v.(*Dict)
	if !ok {
		return rt.attr(v, key)
	}
	if item, ok := d.Get(key.name); ok {
		return item, nil
	}
	if method := key.methods.dict; method != nil {
		return bound(key.name, d, method), nil
	}
	return key.absent, nil
}

// bound binds a method to its object.
func bound(name string, self any, method nativeFunc) *builtin {
	return &builtin{name, func(c *call) (any, error) {
		bc := *c
		bc.self = self
		return method(&bc)
	}}
}

// ownAttr returns attributes that aren't methods.
func (rt *runtime) ownAttr(v any, name string) (any, bool, error) {
	switch v := v.(type) {
	case *namespace:
		a, ok := v.attrs.Get(name)
		return a, ok, nil
	case *loopState:
		return v.attr(rt, name)
	case *macro:
		a, ok := v.attr(name)
		return a, ok, nil
	case *rangeValue:
		i := indexOf([]string{"start", "stop", "step"}, name)
		if i >= 0 {
			return [...]int64{v.start, v.stop, v.step}[i], true, nil
		}
	case *Tuple:
		if i := indexOf(v.names, name); i >= 0 {
			return v.items[i], true, nil
		}
	case *dictView:
		if name == "mapping" {
			return v.d, true, nil
		}
	case bool, int64:
		i, _ := toInt(v)
		switch name {
		case "real", "numerator":
			return i, true, nil
		case "imag":
			return int64(0), true, nil
		case "denominator":
			return int64(1), true, nil
		}
	case float64:
		switch name {
		case "real":
			return v, true, nil
		case "imag":
			return 0.0, true, nil
		}
	}
	return nil, false, nil
}

// item evaluates object[key]: an item, else an attribute with that name, else undefined.
func (rt *runtime) item(v, key any) (any, error) {
	switch x := v.(type) {
	case *Dict:
		if item, ok, err := x.get(key); ok && err == nil {
			return item, nil
		}
	case *undefined:
		return nil, x.err()
	default:
		if i, ok := toInt(key); ok {
			if item, ok := rt.at(v, i); ok {
				return item, nil
			}
			return undefinedIn(v, key), nil
		}
	}
	name, ok := text(key)
	if !ok {
		return undefinedIn(v, key), nil
	}
	fixed := newFixedKey(name)
	return rt.field(v, &fixed)
}

// at returns element i of a sequence; negative i counts from the end.
func (rt *runtime) at(v any, i int64) (any, bool) {
	if s, ok := text(v); ok {
		return textAt(v, s, i)
	}
	n, ok := length(v)
	if i < 0 {
		i += int64(n)
	}
	if !ok || i < 0 || i >= int64(n) {
		return nil, false
	}
	switch v := v.(type) {
	case *List:
		return v.items[i], true
	case *Tuple:
		return v.items[i], true
	case *rangeValue:
		return v.at(i), true
	}
	return nil, false
}

func textAt(v any, s string, i int64) (any, bool) {
	if i < 0 {
		i += int64(runeLen(s))
	}
	if i < 0 || i >= int64(len(s)) {
		return nil, false
	}
	if isASCII(s) {
		return like(v, s[i:i+1]), true
	}
	start := runeOffset(s, int(i))
	if start >= len(s) {
		return nil, false
	}
	_, size := utf8.DecodeRuneInString(s[start:])
	return like(v, s[start:start+size]), true
}

// apply evaluates object[start:stop:step].
func (e *sliceExpr) apply(f *frame, v any) (any, error) {
	var parts [3]any
	for i, p := range []expr{e.start, e.stop, e.step} {
		if p == nil {
			continue
		}
		var err error
		if parts[i], err = p.eval(f); err != nil {
			return nil, err
		}
	}
	n, ok := length(v)
	if u, isUndefined := v.(*undefined); isUndefined {
		return nil, u.err()
	}
	if _, isDict := v.(*Dict); !ok || isDict {
		return nil, failf("a value of type %s can't be sliced", typeName(v))
	}
	if _, isView := v.(*dictView); isView {
		return nil, failf("a value of type %s can't be sliced", typeName(v))
	}
	start, step, count, err := sliceRange(parts, n)
	if err != nil {
		return nil, err
	}
	return f.rt.slice(v, start, step, count)
}

// sliceRange resolves a slice of n elements to the first index, the step and the number of elements.
func sliceRange(parts [3]any, n int) (start, step, count int, err error) {
	by, err := slicePart(parts[2], 1)
	if err != nil {
		return 0, 0, 0, err
	}
	if by == 0 {
		return 0, 0, 0, failf("the step of a slice can't be zero")
	}
	by = max(-math.MaxInt32, min(by, math.MaxInt32))
	first, stop := int64(0), int64(n)
	if by < 0 {
		first, stop = int64(n)-1, -1
	}
	for i, bound := range []*int64{&first, &stop} {
		if parts[i] == nil {
			continue
		}
		k, err := slicePart(parts[i], 0)
		if err != nil {
			return 0, 0, 0, err
		}
		*bound = clampIndex(k, int64(n), by < 0)
	}
	if by > 0 && first < stop {
		count = int((stop-first-1)/by) + 1
	} else if by < 0 && first > stop {
		count = int((first-stop-1)/-by) + 1
	}
	return int(first), int(by), count, nil
}

func slicePart(v any, def int64) (int64, error) {
	if v == nil {
		return def, nil
	}
	if u, ok := v.(*undefined); ok {
		return 0, u.err()
	}
	if b, ok := v.(*big.Int); ok { // a big integer is larger than any length
		if b.Sign() < 0 {
			return -math.MaxInt64, nil
		}
		return math.MaxInt64, nil
	}
	k, ok := toInt(v)
	if !ok {
		return 0, failf("the parts of a slice must be integers, not %s", typeName(v))
	}
	return k, nil
}

func clampIndex(k, n int64, backwards bool) int64 {
	low, high := int64(0), n
	if backwards {
		low, high = -1, n-1
	}
	if k < 0 {
		k += n
	}
	return max(low, min(k, high))
}

func (rt *runtime) slice(v any, start, step, count int) (any, error) {
	switch v := v.(type) {
	case string, markup:
		s, _ := text(v)
		s, err := rt.sliceText(s, start, step, count)
		return like(v, s), err
	case *rangeValue:
		first := v.start + int64(start)*v.step
		by := v.step * int64(step)
		return &rangeValue{first, first + int64(count)*by, by, int64(count)}, nil
	case *List:
		items, err := rt.sliceItems(v.items, start, step, count)
		return &List{items: items}, err
	case *Tuple:
		items, err := rt.sliceItems(v.items, start, step, count)
		return &Tuple{items: items}, err
	}
	return nil, failf("a value of type %s can't be sliced", typeName(v))
}

func (rt *runtime) sliceItems(items []any, start, step, count int) ([]any, error) {
	if step == 1 { // lists are immutable, so a part can share the memory
		return items[start : start+count : start+count], nil
	}
	if err := rt.items(count); err != nil {
		return nil, err
	}
	out := make([]any, count)
	for i := range out {
		out[i] = items[start+i*step]
	}
	return out, nil
}

func (rt *runtime) sliceText(s string, start, step, count int) (string, error) {
	if count == 0 {
		return "", nil
	}
	if err := rt.step(len(s) >> 6); err != nil {
		return "", err
	}
	if step == 1 {
		if isASCII(s) {
			return s[start : start+count], nil
		}
		from := runeOffset(s, start)
		return s[from : from+runeOffset(s[from:], count)], nil
	}
	if err := rt.items(len(s)); err != nil {
		return "", err
	}
	runes := []rune(s)
	out := make([]rune, count)
	for i := range out {
		out[i] = runes[start+i*step]
	}
	return string(out), nil
}
