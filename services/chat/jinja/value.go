package jinja

import (
	"fmt"
	"math/big"
	"slices"
)

// A template value is one of: nil (None), bool, int64, *big.Int (outside of int64's range),
// float64, string, markup, *List, *Tuple, *Dict, *undefined, *lazy, *rangeValue, *dictView,
// *namespace, *loopState, *macro, *builtin.

// sentinel marks states of a slot that aren't values.
type sentinel struct{ _ byte }

var (
	missing any = &sentinel{} // a variable that was never set
	none    any = &sentinel{} // None, in caches where nil means "not yet looked up"
)

// markup is a string that is safe in HTML. Plain strings that are joined with it by +, % or a
// method are escaped.
type markup string

// undefined is the value of an unknown name, key or attribute. It prints as an empty string, is
// false and is empty. Any other use is an error that names the missing element.
type undefined struct {
	hint string // the whole message, if set
	of   string // type of the object that lacks the element; "" for a name
	key  any
}

func (u *undefined) err() error { return failf("%s", u.problem()) }

func (u *undefined) problem() string {
	switch {
	case u.hint != "":
		return u.hint
	case u.of == "":
		return briefRepr(u.key) + " is undefined"
	default:
		return u.of + " has no attribute or element " + briefRepr(u.key)
	}
}

var (
	noElse     = undefinedHint("the condition of an inline if is false and it has no else")
	noPrevious = undefinedHint("the first item of the loop has no previous item")
	noNext     = undefinedHint("the last item of the loop has no next item")
	noCaller   = undefinedHint("the macro was called without a caller")
)

func undefinedName(name string) *undefined   { return &undefined{key: name} }
func undefinedHint(hint string) *undefined   { return &undefined{hint: hint} }
func undefinedIn(object, key any) *undefined { return &undefined{of: typeName(object), key: key} }

// List is Python's list. Templates can't change it.
type List struct{ items []any }

// NewList returns a list of the given values. Dict.Set lists the allowed types.
func NewList(values ...any) *List {
	l := &List{items: make([]any, len(values))}
	for i, v := range values {
		l.items[i] = fromGo(v)
	}
	return l
}

// Len returns the number of elements.
func (l *List) Len() int { return len(l.items) }

// At returns element i, which must be in range.
func (l *List) At(i int) any { return l.items[i] }

// Append appends a value. Dict.Set lists the allowed types.
func (l *List) Append(v any) { l.items = append(l.items, fromGo(v)) }

// Tuple is Python's tuple. The pairs of the groupby filter also name their fields.
type Tuple struct {
	items []any
	names []string
}

func tuple(items ...any) *Tuple { return &Tuple{items: items} }

// rangeValue is Python's range.
type rangeValue struct{ start, stop, step, n int64 }

func (r *rangeValue) at(i int64) any { return r.start + i*r.step }

// dictView is the result of a dict's methods keys, values and items.
type dictView struct {
	d    *Dict
	kind viewKind
}

type viewKind uint8

const (
	viewKeys viewKind = iota
	viewValues
	viewItems
)

func (k viewKind) String() string { return [...]string{"dict_keys", "dict_values", "dict_items"}[k] }

func (v *dictView) at(i int) any {
	e := &v.d.entries[i]
	switch v.kind {
	case viewKeys:
		return e.key
	case viewValues:
		return e.value
	default:
		return tuple(e.key, e.value)
	}
}

// lazy is a one-pass iterator, like Python's generators and reversed().
type lazy struct {
	rt   *runtime
	kind string // Python's name of the type
	next func() (v any, ok bool, err error)
}

// pull returns the next item. An iterator over an iterator adds one level of depth.
func (l *lazy) pull() (v any, ok bool, err error) {
	if err := l.rt.push(); err != nil {
		return nil, false, err
	}
	defer l.rt.pop()
	return l.next()
}

// namespace is the only object whose attributes templates may set.
type namespace struct{ attrs *Dict }

// builtin is a function or a bound method that templates can call.
type builtin struct {
	name string
	call func(c *call) (any, error)
}

// call is one call of a built-in function, method, filter or test. Only a lazy value that the
// function returns may keep a reference to the call: in all other cases later calls reuse the
// memory of the call.
type call struct {
	f    *frame
	rt   *runtime
	self any   // the value before the bar of a filter or test, or a method's object
	args []any // may be stored in few, so values that outlive the call must be copied
	kw   []keyword
	few  [2]any
}

type keyword struct {
	name  string
	value any
}

// bind assigns positional and keyword arguments to out in the order of names. Absent arguments
// become missing. The first `required` arguments must be given.
func (c *call) bind(fn string, required int, out []any, names ...string) error {
	if len(c.args) > len(names) {
		return failf("%s() takes at most %d arguments, got %d", fn, len(names), len(c.args))
	}
	n := copy(out, c.args)
	for i := n; i < len(names); i++ {
		out[i] = missing
	}
	for _, k := range c.kw {
		i := indexOf(names, k.name)
		if i < 0 {
			return failf("%s() got an unexpected keyword argument '%s'", fn, k.name)
		}
		if i < n || out[i] != missing {
			return failf("%s() got multiple values for argument '%s'", fn, k.name)
		}
		out[i] = k.value
	}
	if i := slices.Index(out[:required], missing); i >= 0 {
		return failf("%s() is missing the argument '%s'", fn, names[i])
	}
	return nil
}

// positional is bind for functions that take no keyword arguments.
func (c *call) positional(fn string, least, most int) error {
	if len(c.kw) > 0 {
		return failf("%s() takes no keyword arguments", fn)
	}
	if len(c.args) < least || len(c.args) > most {
		return failf("%s() takes %d to %d arguments, got %d", fn, least, most, len(c.args))
	}
	return nil
}

func indexOf(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}

// text returns the string of a str. markup is a str too.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case markup:
		return string(v), true
	}
	return "", false
}

// like converts s to the string type of v.
func like(v any, s string) any {
	if _, ok := v.(markup); ok {
		return markup(s)
	}
	return s
}

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case markup:
		return "Markup"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *undefined:
		return "Undefined"
	case *lazy:
		return v.kind
	case *rangeValue:
		return "range"
	case *dictView:
		return v.kind.String()
	case *namespace:
		return "Namespace"
	case *loopState:
		return "LoopContext"
	case *macro:
		return "Macro"
	default:
		return "builtin_function_or_method"
	}
}

// truthy implements Python's bool().
func truthy(v any) bool {
	switch v := v.(type) {
	case nil, *undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case *big.Int:
		return v.Sign() != 0
	}
	n, ok := length(v)
	return !ok || n > 0
}

// length implements Python's len() for types whose length needs no computation.
func length(v any) (int, bool) {
	switch v := v.(type) {
	case string:
		return runeLen(v), true
	case markup:
		return runeLen(string(v)), true
	case *List:
		return len(v.items), true
	case *Tuple:
		return len(v.items), true
	case *Dict:
		return v.Len(), true
	case *undefined:
		return 0, true
	case *rangeValue:
		return int(v.n), true
	case *dictView:
		return v.d.Len(), true
	}
	return 0, false
}

// toInt accepts what Python accepts as an index: int and bool, in int64's range.
func toInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// wantInt is toInt for arguments. It returns def for an absent argument.
func wantInt(what string, v any, def int64) (int, error) {
	if v == missing {
		return int(def), nil
	}
	if u, ok := v.(*undefined); ok {
		return 0, u.err()
	}
	i, ok := toInt(v)
	if !ok {
		return 0, failf("%s must be an integer, not %s", what, typeName(v))
	}
	return int(i), nil
}

func wantText(what string, v any, def string) (string, error) {
	if v == missing {
		return def, nil
	}
	s, ok := text(v)
	if !ok {
		return "", failf("%s must be a string, not %s", what, typeName(v))
	}
	return s, nil
}

func given(v any) bool { return v != missing && v != nil }

// unsupported represents a Go value of a type that templates don't support. checkInput rejects it.
type unsupported struct{ goType string }

// fromGo converts the Go values that Dict.Set accepts to template values.
func fromGo(v any) any {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, *big.Int, *List, *Dict:
		return v
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case uint32:
		return int64(v)
	case float32:
		return float64(v)
	case []any:
		return NewList(v...)
	case []string:
		l := &List{items: make([]any, len(v))}
		for i, s := range v {
			l.items[i] = s
		}
		return l
	default:
		return unsupported{fmt.Sprintf("%T", v)}
	}
}

// checkInput rejects unsupported values, and nesting (or a cycle) deeper than limit.
func checkInput(v any, limit int) error {
	if limit < 0 {
		return &LimitError{"depth", int64(-limit)}
	}
	switch v := v.(type) {
	case unsupported:
		return failf("a variable holds a Go value of type %s: pass nil, bool, int, float64, string, *List or *Dict", v.goType)
	case *List:
		for _, item := range v.items {
			if err := checkInput(item, limit-1); err != nil {
				return err
			}
		}
	case *Dict:
		for i := range v.entries {
			if err := checkInput(v.entries[i].value, limit-1); err != nil {
				return err
			}
		}
	}
	return nil
}
