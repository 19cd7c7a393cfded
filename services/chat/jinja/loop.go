package jinja

import (
	"slices"
	"unicode/utf8"
)

// cursor iterates over the items of any iterable.
type cursor struct {
	items []any
	i     int
	text  string // string that yields its characters
	lazy  *lazy
}

func (c *cursor) next() (any, bool, error) {
	if c.lazy != nil {
		return c.lazy.pull()
	}
	if c.text != "" {
		_, size := utf8.DecodeRuneInString(c.text)
		letter := boxed(c.text[:size])
		c.text = c.text[size:]
		return letter, true, nil
	}
	if c.i >= len(c.items) {
		return nil, false, nil
	}
	c.i++
	return c.items[c.i-1], true, nil
}

// iterate implements Python's iter().
func (rt *runtime) iterate(v any) (cursor, error) {
	switch v := v.(type) {
	case *List:
		return cursor{items: v.items}, nil
	case *Tuple:
		return cursor{items: v.items}, nil
	case *lazy:
		return cursor{lazy: v}, nil
	case *undefined:
		return cursor{}, nil
	case *loopState:
		return cursor{lazy: &lazy{rt: rt, kind: "LoopContext", next: v.pair}}, nil
	case string:
		return cursor{text: v}, nil
	case markup:
		return cursor{text: string(v)}, nil
	case *Dict:
		return rt.indexed(v.Len(), (&dictView{v, viewKeys}).at)
	case *dictView:
		return rt.indexed(v.d.Len(), v.at)
	case *rangeValue:
		return rt.indexed(int(v.n), func(i int) any { return v.at(int64(i)) })
	}
	return cursor{}, failf("'%s' is not iterable", typeName(v))
}

func (rt *runtime) indexed(n int, at func(int) any) (cursor, error) {
	if err := rt.items(n); err != nil {
		return cursor{}, err
	}
	items := make([]any, n)
	for i := range items {
		items[i] = at(i)
	}
	return cursor{items: items}, nil
}

// letters are the one-character ASCII strings, preallocated.
var letters = func() (all [utf8.RuneSelf]any) {
	for i := range all {
		all[i] = string(rune(i))
	}
	return all
}()

func boxed(s string) any {
	if len(s) == 1 && s[0] < utf8.RuneSelf {
		return letters[s[0]]
	}
	return s
}

// collect implements Python's list() of an iterable. The result may share v's memory and must not
// be changed.
func (rt *runtime) collect(v any) ([]any, error) {
	cur, err := rt.iterate(v)
	if err != nil {
		return nil, err
	}
	switch {
	case cur.text != "":
		return rt.characters(&cur)
	case cur.lazy == nil:
		return cur.items, rt.step(len(cur.items))
	}
	var out []any
	for {
		v, ok, err := cur.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return out, nil
		}
		if err := rt.items(1); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}

// characters returns the characters of a string.
func (rt *runtime) characters(cur *cursor) ([]any, error) {
	n := runeLen(cur.text)
	if err := rt.items(n); err != nil {
		return nil, err
	}
	items := make([]any, n)
	for i := range items {
		items[i], _, _ = cur.next() // a string's cursor never fails
	}
	return items, nil
}

// generate returns a one-pass iterator. It iterates over v only when its first item is requested.
func (rt *runtime) generate(v any, step func(cur *cursor) (any, bool, error)) *lazy {
	var cur *cursor
	done := false
	return &lazy{rt: rt, kind: "generator", next: func() (any, bool, error) {
		if done {
			return nil, false, nil
		}
		if err := rt.step(1); err != nil {
			return nil, false, err
		}
		if cur == nil {
			c, err := rt.iterate(v)
			if err != nil {
				return nil, false, err
			}
			cur = &c
		}
		item, ok, err := step(cur)
		done = !ok
		return item, ok, err
	}}
}

// loopState is the variable "loop" of a for loop.
type loopState struct {
	source  any
	cur     cursor
	index0  int
	depth0  int
	recurse func(v any, depth int) (string, error) // nil if the loop isn't recursive

	known           bool // size is known
	size            int
	after           any // an item read ahead, or missing
	before, current any
	last            any // the tuple last passed to changed, or missing
}

func (l *loopState) advance() (any, bool, error) {
	v := l.after
	if v != missing {
		l.after = missing
	} else {
		var ok bool
		var err error
		if v, ok, err = l.cur.next(); !ok || err != nil {
			return nil, false, err
		}
	}
	l.index0++
	l.before, l.current = l.current, v
	return v, true, nil
}

// pair returns the next item for an iteration over the loop variable itself.
func (l *loopState) pair() (any, bool, error) {
	v, ok, err := l.advance()
	return tuple(v, l), ok, err
}

func (l *loopState) peek() (any, bool, error) {
	if l.after == missing {
		v, ok, err := l.cur.next()
		if !ok || err != nil {
			return nil, false, err
		}
		l.after = v
	}
	return l.after, true, nil
}

func (l *loopState) length(rt *runtime) (int, error) {
	if l.known {
		return l.size, nil
	}
	if n, ok := length(l.source); ok {
		l.size, l.known = n, true
		return n, nil
	}
	rest, err := rt.collect(l.cur.lazy)
	if err != nil {
		return 0, err
	}
	l.cur = cursor{items: rest}
	l.size, l.known = len(rest)+l.index0+1, true
	if l.after != missing {
		l.size++
	}
	return l.size, nil
}

// attr returns an attribute, or false if it doesn't exist.
func (l *loopState) attr(rt *runtime, name string) (any, bool, error) {
	switch name {
	case "index":
		return int64(l.index0 + 1), true, nil
	case "index0":
		return int64(l.index0), true, nil
	case "first":
		return l.index0 == 0, true, nil
	case "last":
		_, more, err := l.peek()
		return !more, true, err
	case "length":
		n, err := l.length(rt)
		return int64(n), true, err
	case "revindex":
		n, err := l.length(rt)
		return int64(n - l.index0), true, err
	case "revindex0":
		n, err := l.length(rt)
		return int64(n - l.index0 - 1), true, err
	case "depth":
		return int64(l.depth0 + 1), true, nil
	case "depth0":
		return int64(l.depth0), true, nil
	case "previtem":
		if l.index0 == 0 {
			return noPrevious, true, nil
		}
		return l.before, true, nil
	case "nextitem":
		v, more, err := l.peek()
		if !more {
			return noNext, true, err
		}
		return v, true, err
	case "cycle":
		return &builtin{"cycle", l.cycle}, true, nil
	case "changed":
		return &builtin{"changed", l.changed}, true, nil
	}
	return nil, false, nil
}

func (l *loopState) cycle(c *call) (any, error) {
	if len(c.args) == 0 || len(c.kw) > 0 {
		return nil, failf("cycle() needs positional arguments, which are the values to choose from")
	}
	return c.args[l.index0%len(c.args)], nil
}

func (l *loopState) changed(c *call) (any, error) {
	if len(c.kw) > 0 {
		return nil, failf("changed() takes no keyword arguments")
	}
	if l.last != missing {
		same, err := c.rt.equal(l.last, tuple(c.args...), 0)
		if same || err != nil {
			return false, err
		}
	}
	l.last = tuple(slices.Clone(c.args)...)
	return true, nil
}

func (l *loopState) call(c *call) (any, error) {
	var p [1]any
	if err := c.bind("loop", 1, p[:], "iterable"); err != nil {
		return nil, err
	}
	if l.recurse == nil {
		return nil, failf("only a loop marked 'recursive' can be called")
	}
	return l.recurse(p[0], l.depth0+1)
}
