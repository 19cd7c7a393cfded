package jinja

// filterMap applies a filter to each item, or looks up an attribute of each.
func filterMap(c *call) (any, error) {
	if !truthy(c.self) {
		return c.rt.generate(tuple(), (*cursor).next), nil
	}
	var apply func(v any) (any, error)
	prepare := c.mapFilter
	if len(c.args) == 0 && hasKeyword(c.kw, "attribute") {
		prepare = c.mapAttribute
	}
	return c.rt.generate(c.self, func(cur *cursor) (any, bool, error) {
		if apply == nil {
			var err error
			if apply, err = prepare(); err != nil {
				return nil, false, err
			}
		}
		v, ok, err := cur.next()
		if !ok || err != nil {
			return nil, false, err
		}
		v, err = apply(v)
		return v, true, err
	}), nil
}

func hasKeyword(kw []keyword, name string) bool {
	for _, k := range kw {
		if k.name == name {
			return true
		}
	}
	return false
}

func (c *call) mapAttribute() (func(v any) (any, error), error) {
	var p [2]any
	if err := c.bind("map", 1, p[:], "attribute", "default"); err != nil {
		return nil, err
	}
	return c.keyOf(p[0], p[1], true), nil
}

func (c *call) mapFilter() (func(v any) (any, error), error) {
	if len(c.args) == 0 {
		return nil, failf("the filter map needs the name of a filter, or attribute=NAME")
	}
	name, err := wantText("the name of a filter", c.args[0], "")
	if err != nil {
		return nil, err
	}
	return c.each(name, "filter", filterNamed(name), c.args[1:])
}

// each calls a filter or test with given arguments.
func (c *call) each(name, kind string, fn filterFunc, args []any) (func(v any) (any, error), error) {
	if fn == nil {
		return nil, failf("no %s is named '%s'", kind, name)
	}
	return func(v any) (any, error) {
		one := c.rt.newCall(c.f)
		one.self, one.args, one.kw = v, args, c.kw
		v, err := fn(one)
		c.rt.over(one, v)
		return v, err
	}, nil
}

// pick keeps the items that pass or fail a test, or whose attribute does.
func (c *call) pick(byAttribute, keep bool) (any, error) {
	if !truthy(c.self) {
		return c.rt.generate(tuple(), (*cursor).next), nil
	}
	alike := byAttribute && c.namesNoStringAttr()
	var passes func(v any) (any, error)
	return c.rt.generate(c.self, func(cur *cursor) (any, bool, error) {
		if passes == nil {
			var err error
			if passes, err = c.condition(byAttribute); err != nil {
				return nil, false, err
			}
		}
		for {
			v, ok, err := cur.next()
			if !ok || err != nil {
				return nil, false, err
			}
			if err := c.rt.step(1); err != nil {
				return nil, false, err
			}
			verdict, err := passes(v)
			if err != nil {
				return nil, false, err
			}
			if truthy(verdict) == keep {
				return v, true, nil
			}
			if alike { // the string's other characters lack the attribute too
				cur.text = ""
			}
		}
	}), nil
}

// namesNoStringAttr reports whether the first argument names an attribute that no string has, and the other
// arguments aren't consumed by a test, as iterators are.
func (c *call) namesNoStringAttr() bool {
	if len(c.args) == 0 || len(c.kw) > 0 {
		return false
	}
	for _, arg := range c.args {
		switch arg.(type) {
		case nil, bool, int64, float64, string:
		default:
			return false
		}
	}
	path, err := c.rt.attrPath(c.args[0])
	if err != nil || len(path) == 0 {
		return false
	}
	key, ok := path[0].(*fixedKey)
	return ok && key.notStringAttr()
}

// condition returns the check that pick applies to each item: the truth of the item or attribute,
// or a named test.
func (c *call) condition(byAttribute bool) (func(v any) (any, error), error) {
	args := c.args
	subject := func(v any) (any, error) { return v, nil }
	if byAttribute {
		if len(args) == 0 {
			return nil, failf("the filters selectattr and rejectattr need the name of an attribute")
		}
		subject = c.keyOf(args[0], missing, true)
		args = args[1:]
	}
	if len(args) == 0 {
		return subject, nil
	}
	name, err := wantText("the name of a test", args[0], "")
	if err != nil {
		return nil, err
	}
	test, err := c.each(name, "test", testNamed(name), args[1:])
	if err != nil {
		return nil, err
	}
	return func(v any) (any, error) {
		v, err := subject(v)
		if err != nil {
			return nil, err
		}
		return test(v)
	}, nil
}
