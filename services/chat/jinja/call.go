package jinja

func (e *callExpr) eval(f *frame) (any, error) {
	fn, c, err := e.prepare(f, nil)
	if err != nil {
		return nil, err
	}
	v, err := f.rt.call(fn, c)
	f.rt.over(c, v)
	return v, err
}

// output evaluates the call with further keyword arguments and prints the result. It writes the
// text of a macro directly to the output.
func (e *callExpr) output(f *frame, more []keyword) error {
	fn, c, err := e.prepare(f, more)
	if err != nil {
		return err
	}
	if m, ok := fn.(*macro); ok {
		err := m.write(f.rt, c.args, c.kw)
		f.rt.over(c, nil)
		return err
	}
	v, err := f.rt.call(fn, c)
	f.rt.over(c, v)
	if err != nil {
		return err
	}
	return f.write(v)
}

// prepare evaluates the callee and its arguments.
func (e *callExpr) prepare(f *frame, more []keyword) (any, *call, error) {
	if err := f.rt.step(1); err != nil {
		return nil, nil, err
	}
	c := f.rt.newCall(f)
	fn, err := e.function(f, c)
	if err == nil {
		err = e.argList.eval(f, c)
	}
	if err != nil {
		f.rt.over(c, nil)
		return nil, nil, err
	}
	c.kw = append(c.kw, more...)
	return fn, c, nil
}

// function returns the callee. It calls methods of plain values without creating a bound method.
func (e *callExpr) function(f *frame, c *call) (any, error) {
	a, ok := e.fn.(*attrExpr)
	if !ok {
		return e.fn.eval(f)
	}
	self, err := a.object.eval(f)
	if err != nil {
		return nil, err
	}
	c.self = self
	if method := a.key.methods.of(self); method != nil {
		return method, nil
	}
	return f.rt.attr(self, &a.key)
}

func (rt *runtime) call(fn any, c *call) (any, error) {
	switch fn := fn.(type) {
	case nativeFunc:
		return fn(c)
	case *builtin:
		return fn.call(c)
	case *macro:
		return fn.invoke(rt, c.args, c.kw)
	case *loopState:
		return fn.call(c)
	case *undefined:
		return nil, fn.err()
	}
	return nil, failf("a value of type %s can't be called", typeName(fn))
}

// eval adds the arguments to c.
func (a *argList) eval(f *frame, c *call) error {
	var err error
	switch {
	case a.fixed != nil:
		c.args = a.fixed
	case len(a.args) <= len(c.few):
		c.args = c.few[:len(a.args):len(a.args)]
		err = f.evalInto(c.args, a.args)
	default:
		c.args, err = f.evalAll(a.args)
	}
	if err != nil {
		return err
	}
	for _, k := range a.kwargs {
		v, err := k.value.eval(f)
		if err != nil {
			return err
		}
		c.kw = append(c.kw, keyword{k.name, v})
	}
	if a.star != nil {
		v, err := a.star.eval(f)
		if err != nil {
			return err
		}
		items, err := f.rt.collect(v)
		if err != nil {
			return err
		}
		c.args = append(c.args, items...)
	}
	if a.stars != nil {
		return a.evalStars(f, c)
	}
	return nil
}

func (a *argList) evalStars(f *frame, c *call) error {
	v, err := a.stars.eval(f)
	if err != nil {
		return err
	}
	d, ok := v.(*Dict)
	if !ok {
		return failf("the argument after ** must be a mapping, not %s", typeName(v))
	}
	for _, e := range d.entries {
		name, ok := text(e.key)
		if !ok {
			return failf("the keys of the argument after ** must be strings")
		}
		for _, k := range c.kw {
			if k.name == name {
				return failf("got multiple values for argument '%s'", name)
			}
		}
		c.kw = append(c.kw, keyword{name, e.value})
	}
	return f.rt.step(d.Len())
}

func (e *filterExpr) eval(f *frame) (any, error) {
	if e.fn == nil {
		return nil, failf("no filter is named '%s'", e.name)
	}
	return applyNamed(f, e.fn, e.input, &e.argList)
}

func (e *testExpr) eval(f *frame) (any, error) {
	if e.fn == nil {
		return nil, failf("no test is named '%s'", e.name)
	}
	return applyNamed(f, e.fn, e.input, &e.argList)
}

func applyNamed(f *frame, fn filterFunc, input expr, args *argList) (any, error) {
	if err := f.rt.step(1); err != nil {
		return nil, err
	}
	v, err := input.eval(f)
	if err != nil {
		return nil, err
	}
	c := f.rt.newCall(f)
	c.self = v
	if err := args.eval(f, c); err != nil {
		return nil, err
	}
	v, err = fn(c)
	f.rt.over(c, v)
	return v, err
}

// newCall returns a finished call for reuse, or a new call.
func (rt *runtime) newCall(f *frame) *call {
	n := len(rt.calls)
	if n == 0 {
		return &call{f: f, rt: rt}
	}
	c := rt.calls[n-1]
	rt.calls = rt.calls[:n-1]
	c.f, c.rt = f, rt
	return c
}

// over keeps a finished call for reuse, unless the result of the call still refers to the call,
// as an iterator does.
func (rt *runtime) over(c *call, result any) {
	if _, ok := result.(*lazy); ok {
		return
	}
	*c = call{}
	rt.calls = append(rt.calls, c)
}
