package jinja

import "math"

// globals are the functions that every template has. The caller's variables take
// precedence.
var globals = map[string]any{
	"range":           &builtin{"range", callRange},
	"dict":            &builtin{"dict", func(c *call) (any, error) { return c.makeDict("dict") }},
	"namespace":       &builtin{"namespace", callNamespace},
	"raise_exception": &builtin{"raise_exception", callRaise},
	"strftime_now":    &builtin{"strftime_now", callStrftimeNow},
}

// maxRange is the longest range that Jinja's sandbox allows.
const maxRange = 100_000

func callRange(c *call) (any, error) {
	if err := c.positional("range", 1, 3); err != nil {
		return nil, err
	}
	bounds := [3]int64{0, 0, 1}
	for i, a := range c.args {
		if u, ok := a.(*undefined); ok {
			return nil, u.err()
		}
		n, ok := toInt(a)
		if !ok {
			return nil, failf("range() needs integers, not %s", typeName(a))
		}
		if n > math.MaxInt32*4 || n < math.MinInt32*4 {
			return nil, failf("range() is limited to %d items", maxRange)
		}
		bounds[i] = n
	}
	if len(c.args) == 1 {
		bounds[0], bounds[1] = 0, bounds[0]
	}
	r := &rangeValue{start: bounds[0], stop: bounds[1], step: bounds[2]}
	switch {
	case r.step == 0:
		return nil, failf("the step of range() can't be zero")
	case r.step > 0 && r.stop > r.start:
		r.n = (r.stop-r.start-1)/r.step + 1
	case r.step < 0 && r.stop < r.start:
		r.n = (r.start-r.stop-1)/-r.step + 1
	}
	if r.n > maxRange {
		return nil, failf("range() is limited to %d items", maxRange)
	}
	return r, nil
}

// makeDict implements dict(mapping or pairs, **names).
func (c *call) makeDict(fn string) (*Dict, error) {
	d := NewDict()
	if len(c.args) > 1 {
		return nil, failf("%s() takes at most 1 positional argument, got %d", fn, len(c.args))
	}
	if len(c.args) == 1 {
		if src, ok := c.args[0].(*Dict); ok {
			d = src.copy()
		} else if err := c.addPairs(d, c.args[0]); err != nil {
			return nil, err
		}
	}
	for _, k := range c.kw {
		d.put(k.name, k.name, k.value)
	}
	return d, c.rt.items(2 * d.Len())
}

func (c *call) addPairs(d *Dict, v any) error {
	pairs, err := c.rt.collect(v)
	if err != nil {
		return err
	}
	for i, p := range pairs {
		kv, err := c.rt.collect(p)
		if err != nil {
			return err
		}
		if len(kv) != 2 {
			return failf("a mapping is built from pairs, but element %d has %d values instead of a key and a value", i, len(kv))
		}
		if err := d.set(kv[0], kv[1]); err != nil {
			return err
		}
	}
	return nil
}

func callNamespace(c *call) (any, error) {
	d, err := c.makeDict("namespace")
	if err != nil {
		return nil, err
	}
	for _, k := range d.Keys() {
		if err := checkAttrName(k); err != nil {
			return nil, err
		}
	}
	return &namespace{d}, nil
}

func checkAttrName(name string) error {
	if name != "" && name[0] == '_' {
		return failf("a namespace can't have the attribute '%s': names must not begin with an underscore", name)
	}
	return nil
}

func (n *namespace) set(name string, v any) error {
	if err := checkAttrName(name); err != nil {
		return err
	}
	if i := n.attrs.find(name); i >= 0 {
		n.attrs.entries[i].value = v
	} else {
		n.attrs.put(name, name, v)
	}
	return nil
}

func callRaise(c *call) (any, error) {
	var p [1]any
	if err := c.bind("raise_exception", 1, p[:], "message"); err != nil {
		return nil, err
	}
	s, err := c.rt.str(p[0])
	if err != nil {
		return nil, err
	}
	return nil, &RaisedError{s}
}

func callStrftimeNow(c *call) (any, error) {
	var p [1]any
	if err := c.bind("strftime_now", 1, p[:], "format"); err != nil {
		return nil, err
	}
	layout, err := wantText("the format of strftime_now", p[0], "")
	if err != nil {
		return nil, err
	}
	// The longest field, %c, expands 2 bytes to 24. Each field takes some time.
	if err := c.rt.grow(12 * len(layout)); err != nil {
		return nil, err
	}
	if err := c.rt.step(len(layout)); err != nil {
		return nil, err
	}
	return strftime(c.rt.t.now(), layout), nil
}
