package jinja

import "slices"

// macro is a macro together with the variables around its definition.
type macro struct {
	def   *macroDef
	outer *frame
}

// invoke calls a macro and returns its text.
func (m *macro) invoke(rt *runtime, args []any, kw []keyword) (any, error) {
	start := len(rt.buf)
	if err := m.write(rt, args, kw); err != nil {
		return nil, err
	}
	return rt.cut(start), nil
}

// write calls a macro and writes its text to the output. The charge is the same as for a separate
// string.
func (m *macro) write(rt *runtime, args []any, kw []keyword) error {
	if err := rt.push(); err != nil {
		return err
	}
	defer rt.pop()
	f := rt.enter(m.def.fn, m.outer)
	if err := m.special(f, args, m.assign(f, args, kw)); err != nil {
		return err
	}
	return at(rt.block(func() error {
		if err := m.fillDefaults(f); err != nil {
			return err
		}
		_, err := f.execAll(m.def.body)
		return err
	}), rt.t.name, m.def.line)
}

// assign sets the parameters and returns the unused keyword arguments.
func (m *macro) assign(f *frame, args []any, kw []keyword) []keyword {
	used := 0
	for i, p := range m.def.params {
		slot := &f.slots[p.ref.slot]
		*slot = missing
		if i < len(args) {
			*slot = args[i]
			continue
		}
		for _, k := range kw {
			if k.name == p.name {
				*slot = k.value
				used++
				break
			}
		}
	}
	if used == 0 {
		return kw
	}
	rest := make([]keyword, 0, len(kw))
	for _, k := range kw {
		taken := false
		for i := len(args); i < len(m.def.params); i++ {
			taken = taken || m.def.params[i].name == k.name
		}
		if !taken {
			rest = append(rest, k)
		}
	}
	return rest
}

// special sets caller, kwargs and varargs. It rejects arguments that the macro doesn't accept.
func (m *macro) special(f *frame, args []any, kw []keyword) error {
	def := m.def
	if def.callerSlot >= 0 {
		var caller any = noCaller
		for i, k := range kw {
			if k.name == "caller" {
				if k.value != nil {
					caller = k.value
				}
				kw = append(append([]keyword{}, kw[:i]...), kw[i+1:]...)
				break
			}
		}
		f.slots[def.callerSlot] = caller
	}
	if def.kwargsSlot >= 0 {
		d := NewDict()
		for _, k := range kw {
			d.put(k.name, k.name, k.value)
		}
		f.slots[def.kwargsSlot] = d
	} else if len(kw) > 0 {
		return failf("macro '%s' takes no keyword argument '%s'", def.name, kw[0].name)
	}
	extra := args[min(len(args), len(def.params)):]
	if def.varargsSlot >= 0 {
		f.slots[def.varargsSlot] = tuple(slices.Clone(extra)...)
	} else if len(extra) > 0 {
		return failf("macro '%s' takes at most %d arguments", def.name, len(def.params))
	}
	return nil
}

func (m *macro) fillDefaults(f *frame) error {
	first := len(m.def.params) - len(m.def.defaults)
	for i, p := range m.def.params {
		slot := &f.slots[p.ref.slot]
		if *slot != missing {
			continue
		}
		if i < first {
			*slot = undefinedHint("parameter '" + p.name + "' was not provided")
			continue
		}
		v, err := m.def.defaults[i-first].eval(f)
		if err != nil {
			return err
		}
		*slot = v
	}
	return nil
}

func (m *macro) attr(name string) (any, bool) {
	switch name {
	case "name":
		if m.def.name == "" {
			return nil, true
		}
		return m.def.name, true
	case "arguments":
		names := &Tuple{}
		for _, p := range m.def.params {
			names.items = append(names.items, p.name)
		}
		return names, true
	case "caller":
		return m.def.callerSlot >= 0, true
	case "catch_kwargs":
		return m.def.kwargsSlot >= 0, true
	case "catch_varargs":
		return m.def.varargsSlot >= 0, true
	}
	return nil, false
}
