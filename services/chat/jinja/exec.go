package jinja

func (f *frame) execAll(body []stmt) (signal, error) {
	for _, s := range body {
		if err := f.rt.step(1); err != nil {
			return proceed, err
		}
		if how, err := s.exec(f); how != proceed || err != nil {
			return how, err
		}
	}
	return proceed, nil
}

func (s *textStmt) exec(f *frame) (signal, error) {
	f.rt.buf = append(f.rt.buf, s.text...)
	return proceed, f.rt.checkBuf()
}

func (s *printStmt) exec(f *frame) (signal, error) {
	if err := s.print(f); err != nil {
		return proceed, at(err, f.rt.t.name, s.line)
	}
	return proceed, f.rt.checkBuf()
}

func (s *printStmt) print(f *frame) error {
	switch e := s.value.(type) {
	case *concatExpr:
		return f.printParts(e.parts)
	case *callExpr:
		return e.output(f, nil)
	}
	v, written, err := f.sum(s.value)
	if written || err != nil {
		return err
	}
	return f.write(v)
}

// printParts writes the parts of a concatenation directly to the output. On error the output is
// discarded.
func (f *frame) printParts(parts []expr) error {
	for i, part := range parts {
		if i > 0 {
			if err := f.rt.checkBuf(); err != nil {
				return err
			}
		}
		if err := f.print(part); err != nil {
			return err
		}
	}
	return nil
}

func (f *frame) print(e expr) error {
	if c, ok := e.(*callExpr); ok {
		return c.output(f, nil)
	}
	v, err := e.eval(f)
	if err != nil {
		return err
	}
	return f.write(v)
}

func (f *frame) write(v any) error {
	buf, err := f.rt.appendStr(f.rt.buf, v)
	if err != nil {
		return err
	}
	n := len(buf) - len(f.rt.buf)
	f.rt.buf = buf
	return f.rt.step(n >> 6)
}

func (s *ifStmt) exec(f *frame) (signal, error) {
	for i := range s.branches {
		b := &s.branches[i]
		ok, err := f.test(b.test)
		if err != nil {
			return proceed, at(err, f.rt.t.name, b.line)
		}
		if ok {
			return f.execAll(b.body)
		}
	}
	return f.execAll(s.orElse)
}

func (s *jumpStmt) exec(*frame) (signal, error) { return s.how, nil }

func (s *setStmt) exec(f *frame) (signal, error) {
	if err := s.assign(f); err != nil {
		return proceed, at(err, f.rt.t.name, s.line)
	}
	return proceed, nil
}

func (s *setStmt) assign(f *frame) error {
	if err := f.checkNamespaces(s.target); err != nil {
		return err
	}
	v, err := s.value.eval(f)
	if err != nil {
		return err
	}
	return f.assign(s.target, v)
}

// checkNamespaces checks that attributes are set only on namespaces, before the value is computed.
func (f *frame) checkNamespaces(t *target) error {
	for _, item := range t.items {
		if err := f.checkNamespaces(item); err != nil {
			return err
		}
	}
	if t.attr == "" {
		return nil
	}
	if _, ok := f.up(t.ref.hops).slots[t.ref.slot].(*namespace); !ok {
		return failf("can't set '%s.%s': '%s' is not a namespace", t.name, t.attr, t.name)
	}
	return nil
}

func (f *frame) assign(t *target, v any) error {
	if t.isTuple() {
		return f.unpack(t, v)
	}
	slot := &f.up(t.ref.hops).slots[t.ref.slot]
	if t.attr == "" {
		*slot = v
		return nil
	}
	ns, ok := (*slot).(*namespace)
	if !ok {
		return failf("can't set '%s.%s': '%s' is not a namespace", t.name, t.attr, t.name)
	}
	return ns.set(t.attr, v)
}

func (f *frame) unpack(t *target, v any) error {
	cur, err := f.rt.iterate(v)
	if err != nil {
		return err
	}
	values := make([]any, 0, len(t.items))
	for {
		item, ok, err := cur.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if len(values) == len(t.items) {
			return failf("too many values to unpack: %d expected", len(t.items))
		}
		values = append(values, item)
	}
	if len(values) < len(t.items) {
		return failf("not enough values to unpack: %d expected, got %d", len(t.items), len(values))
	}
	for i, item := range t.items {
		if err := f.assign(item, values[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *setBlockStmt) exec(f *frame) (signal, error) {
	f.open(&s.scope)
	defer f.close(&s.scope)
	v, how, err := f.block(s.body, s.filter, s.textSlot)
	if err == nil && how == proceed {
		if err = f.checkNamespaces(s.target); err == nil {
			err = f.assign(s.target, v)
		}
	}
	return how, at(err, f.rt.t.name, s.line)
}

func (s *filterBlockStmt) exec(f *frame) (signal, error) {
	f.open(&s.scope)
	defer f.close(&s.scope)
	v, how, err := f.block(s.body, s.filter, s.textSlot)
	if err == nil && how == proceed {
		f.rt.buf, err = f.rt.appendStr(f.rt.buf, v)
	}
	if err == nil {
		err = f.rt.checkBuf()
	}
	return how, at(err, f.rt.t.name, s.line)
}

// block captures the text of body and applies the filter to it. A jump out of the body discards the
// text.
func (f *frame) block(body []stmt, filter expr, slot *blockText) (v any, how signal, err error) {
	s, err := f.rt.capture(func() error {
		how, err = f.execAll(body)
		return err
	})
	if err != nil || how != proceed {
		return nil, how, err
	}
	f.slots[slot.ref.slot] = s
	v, err = filter.eval(f)
	return v, proceed, err
}

func (s *withStmt) exec(f *frame) (signal, error) {
	f.open(&s.scope)
	defer f.close(&s.scope)
	for i, t := range s.targets {
		v, err := s.values[i].eval(f)
		if err == nil {
			err = f.assign(t, v)
		}
		if err != nil {
			return proceed, at(err, f.rt.t.name, s.line)
		}
	}
	return f.execAll(s.body)
}

func (s *forStmt) exec(f *frame) (signal, error) {
	v, err := s.iter.eval(f)
	if err != nil {
		return proceed, at(err, f.rt.t.name, s.line)
	}
	if isEmptyLoop(v) && s.orElse == nil { // mostly messages without calls
		return proceed, nil
	}
	if !s.recursive {
		return s.loop(f, v, 0, nil)
	}
	text, err := s.recurse(f, v, 0)
	if err == nil {
		f.rt.buf = append(f.rt.buf, text...)
		err = f.rt.checkBuf()
	}
	return proceed, err
}

// isEmptyLoop reports whether v is one of the usual values over which a loop makes no pass.
func isEmptyLoop(v any) bool {
	switch v := v.(type) {
	case *List:
		return len(v.items) == 0
	case *Tuple:
		return len(v.items) == 0
	case *undefined:
		return true
	}
	return false
}

// recurse calls a recursive loop as a function, and returns its text.
func (s *forStmt) recurse(f *frame, v any, depth int) (string, error) {
	if err := f.rt.push(); err != nil {
		return "", err
	}
	defer f.rt.pop()
	in := f.rt.enter(s.fn, f)
	return f.rt.capture(func() error {
		_, err := s.loop(in, v, depth, func(v any, depth int) (string, error) { return s.recurse(f, v, depth) })
		return err
	})
}

func (s *forStmt) loop(f *frame, v any, depth int, recurse func(any, int) (string, error)) (signal, error) {
	cur, err := f.rt.iterate(v)
	if err != nil {
		return proceed, at(err, f.rt.t.name, s.line)
	}
	if s.test != nil {
		cur = cursor{lazy: s.filtered(f, cur)}
		v = cur.lazy
	}
	var state *loopState
	if s.usesLoop {
		state = &loopState{source: v, cur: cur, index0: -1, depth0: depth, recurse: recurse, after: missing, last: missing}
	}
	if idle, err := s.idle(f, cur.text); idle || err != nil {
		return proceed, err
	}
	how := proceed
	done := false // a pass was completed; Jinja runs the else part if none was, even after a break
	for how != breakLoop {
		item, ok, err := s.nextItem(f, &cur, state)
		if err != nil {
			return proceed, at(err, f.rt.t.name, s.line)
		}
		if !ok {
			break
		}
		f.open(&s.scope)
		if state != nil {
			f.slots[s.loopSlot] = state
		}
		if err := f.assign(s.target, item); err != nil {
			return proceed, at(err, f.rt.t.name, s.line)
		}
		if how, err = f.execAll(s.body); err != nil {
			return proceed, err
		}
		done = done || how == proceed
	}
	f.close(&s.scope)
	if !done && s.orElse != nil {
		f.open(&s.elseScope)
		defer f.close(&s.elseScope)
		return f.execAll(s.orElse)
	}
	return proceed, nil
}

// idle reports whether no pass over a string's characters has an effect: the first pass has none,
// and the other passes behave the same. Templates that look for images iterate over strings as if
// they were lists of parts.
func (s *forStmt) idle(f *frame, text string) (bool, error) {
	if !s.alike || text == "" {
		return false, nil
	}
	first := cursor{text: text}
	letter, _, _ := first.next() // a string's cursor never fails
	f.open(&s.scope)
	defer f.close(&s.scope)
	if err := f.assign(s.target, letter); err != nil {
		return false, at(err, f.rt.t.name, s.line)
	}
	for _, st := range s.body {
		for _, b := range st.(*ifStmt).branches { // alike guarantees if statements only
			if ok, err := f.test(b.test); ok || err != nil {
				return false, at(err, f.rt.t.name, b.line)
			}
		}
	}
	return true, f.rt.step(1)
}

func (s *forStmt) nextItem(f *frame, cur *cursor, state *loopState) (any, bool, error) {
	if err := f.rt.step(1); err != nil {
		return nil, false, err
	}
	if state != nil {
		return state.advance()
	}
	return cur.next()
}

// filtered applies the condition of "for x in y if condition" lazily while the loop runs.
func (s *forStmt) filtered(f *frame, cur cursor) *lazy {
	opened := false
	return &lazy{rt: f.rt, kind: "generator", next: func() (any, bool, error) {
		if !opened {
			f.open(&s.testScope)
			opened = true
		}
		for {
			v, ok, err := cur.next()
			if !ok || err != nil {
				return nil, false, err
			}
			if err := f.rt.step(1); err != nil {
				return nil, false, err
			}
			if err := f.assign(s.testTarget, v); err != nil {
				return nil, false, err
			}
			if ok, err := f.test(s.test); ok || err != nil {
				return v, ok, err
			}
		}
	}}
}

func (s *macroStmt) exec(f *frame) (signal, error) {
	f.up(s.ref.hops).slots[s.ref.slot] = &macro{def: s.def, outer: f}
	return proceed, nil
}

func (s *callBlockStmt) exec(f *frame) (signal, error) {
	caller := &macro{def: s.def, outer: f}
	var err error
	if s.call == nil {
		err = caller.write(f.rt, nil, nil)
	} else {
		err = s.call.output(f, []keyword{{"caller", caller}})
	}
	if err == nil {
		err = f.rt.checkBuf()
	}
	return proceed, at(err, f.rt.t.name, s.line)
}
