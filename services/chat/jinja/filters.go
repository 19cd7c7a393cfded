package jinja

import (
	"strings"
	"unicode"
)

// filterFunc is a filter or test. call.self is the value that it is applied to.
type filterFunc = nativeFunc

// filterNamed returns one of Jinja's filters or transformers' tojson, or nil. The package
// documentation lists the unsupported filters.
func filterNamed(name string) filterFunc {
	if fn := textFilters[name]; fn != nil {
		return fn
	}
	if fn := sequenceFilters[name]; fn != nil {
		return fn
	}
	switch name { // these filters look up filters and tests at run time
	case "map":
		return filterMap
	case "select":
		return func(c *call) (any, error) { return c.pick(false, true) }
	case "reject":
		return func(c *call) (any, error) { return c.pick(false, false) }
	case "selectattr":
		return func(c *call) (any, error) { return c.pick(true, true) }
	case "rejectattr":
		return func(c *call) (any, error) { return c.pick(true, false) }
	}
	return nil
}

var textFilters = map[string]filterFunc{
	"capitalize": textFilter("capitalize", capitalize),
	"lower":      textFilter("lower", lower),
	"upper":      textFilter("upper", upper),
	"title":      textFilter("title", filterTitle),
	"e":          plain("escape", filterEscape),
	"escape":     plain("escape", filterEscape),
	"format":     filterFormat,
	"indent":     filterIndent,
	"replace":    filterReplace,
	"safe":       plain("safe", filterSafe),
	"string":     plain("string", filterString),
	"trim":       filterTrim,
	"truncate":   filterTruncate,
	"wordcount":  plain("wordcount", filterWordCount),
	"tojson":     filterToJSON,
	"abs":        plain("abs", filterAbs),
	"int":        filterInt,
	"float":      filterFloat,
	"round":      filterRound,
	"default":    filterDefault,
	"d":          filterDefault,
}

// plain returns fn with a check that it gets no arguments.
func plain(name string, fn filterFunc) filterFunc {
	return func(c *call) (any, error) {
		if err := c.positional(name, 0, 0); err != nil {
			return nil, err
		}
		return fn(c)
	}
}

// soft implements Jinja's soft_str: strings keep their type, other values become strings.
func (c *call) soft() (string, error) { return c.rt.str(c.self) }

func textFilter(name string, fn func(string) string) filterFunc {
	return func(c *call) (any, error) {
		s, err := c.soft()
		if err != nil {
			return nil, err
		}
		s = fn(s)
		if err := c.rt.grow(len(s)); err != nil {
			return nil, err
		}
		return like(c.self, s), c.positional(name, 0, 0)
	}
}

// filterTitle starts words after blanks, hyphens and opening brackets. str.title differs.
func filterTitle(s string) string {
	var b strings.Builder
	first := true
	for i, r := range s {
		if isSpace(r) || strings.ContainsRune("-({[<", r) {
			b.WriteRune(r)
			first = true
			continue
		}
		if first {
			b.WriteString(upper(string(r)))
		} else {
			lowerRune(&b, s, i, r)
		}
		first = false
	}
	return b.String()
}

func filterEscape(c *call) (any, error) {
	s, err := c.soft()
	if err != nil {
		return nil, err
	}
	s = escapeText(c.self, s)
	return markup(s), c.rt.grow(len(s))
}

func filterSafe(c *call) (any, error) {
	s, err := c.soft()
	return markup(s), err
}

func filterString(c *call) (any, error) {
	s, err := c.soft()
	return like(c.self, s), err
}

func filterFormat(c *call) (any, error) {
	if len(c.args) > 0 && len(c.kw) > 0 {
		return nil, failf("the filter format takes either positional or keyword arguments, not both")
	}
	s, err := c.soft()
	if err != nil {
		return nil, err
	}
	if len(c.kw) == 0 {
		return c.f.percent(c.self, s, tuple(c.args...))
	}
	d := NewDict()
	for _, k := range c.kw {
		d.put(k.name, k.name, k.value)
	}
	return c.f.percent(c.self, s, d)
}

func filterIndent(c *call) (any, error) {
	var p [3]any
	if err := c.bind("indent", 0, p[:], "width", "first", "blank"); err != nil {
		return nil, err
	}
	s, err := wantText("the value to indent", c.self, "")
	if err != nil {
		return nil, err
	}
	by, isText := text(p[0])
	if !isText {
		n, err := wantInt("the argument width", p[0], 4)
		if err != nil {
			return nil, err
		}
		if by, err = c.rt.pad("", " ", n, 0); err != nil {
			return nil, err
		}
	}
	blank := p[2] != missing && truthy(p[2])
	lines := splitLines(s+"\n", false)
	if err := c.rt.items(len(lines)); err != nil {
		return nil, err
	}
	if int64(len(lines))*int64(len(by)) > c.rt.t.limits.Output {
		return nil, c.rt.grow(-1)
	}
	var b strings.Builder
	if p[1] != missing && truthy(p[1]) {
		b.WriteString(by)
	}
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
			if blank || line != "" {
				b.WriteString(by)
			}
		}
		b.WriteString(line)
	}
	return like(c.self, b.String()), c.rt.grow(b.Len())
}

func filterReplace(c *call) (any, error) {
	var p [3]any
	if err := c.bind("replace", 2, p[:], "old", "new", "count"); err != nil {
		return nil, err
	}
	limit := -1
	var err error
	if given(p[2]) {
		if limit, err = wantInt("the argument count", p[2], -1); err != nil {
			return nil, err
		}
	}
	s, err := c.soft()
	if err != nil {
		return nil, err
	}
	old, err := c.rt.str(p[0])
	if err != nil {
		return nil, err
	}
	to, err := c.rt.str(p[1])
	if err != nil {
		return nil, err
	}
	return c.rt.replace(s, old, to, limit)
}

func filterTrim(c *call) (any, error) {
	var p [1]any
	if err := c.bind("trim", 0, p[:], "chars"); err != nil {
		return nil, err
	}
	if p[0] == missing {
		p[0] = nil
	}
	s, err := c.soft()
	if err != nil {
		return nil, err
	}
	if _, ok := text(c.self); !ok {
		c.self = s
	}
	return c.trim(p[0], true, true)
}

func filterTruncate(c *call) (any, error) {
	var p [4]any
	if err := c.bind("truncate", 0, p[:], "length", "killwords", "end", "leeway"); err != nil {
		return nil, err
	}
	limit, err := wantInt("the argument length", p[0], 255)
	if err != nil {
		return nil, err
	}
	end, err := wantText("the argument end", p[2], "...")
	if err != nil {
		return nil, err
	}
	if p[3] == nil {
		p[3] = missing
	}
	leeway, err := wantInt("the argument leeway", p[3], 5)
	if err != nil {
		return nil, err
	}
	keep := limit - runeLen(end)
	if keep < 0 || leeway < 0 {
		return nil, failf("the filter truncate needs a length of at least the length of end, and a leeway of at least 0")
	}
	if n, sized := length(c.self); sized && n <= limit+leeway {
		return c.self, nil
	}
	s, err := wantText("the value to truncate", c.self, "")
	if err != nil {
		return nil, err
	}
	s = s[:runeOffset(s, keep)]
	if i := strings.LastIndexByte(s, ' '); i >= 0 && (p[1] == missing || !truthy(p[1])) {
		s = s[:i]
	}
	return like(c.self, s+end), c.rt.grow(len(s) + len(end))
}

func filterWordCount(c *call) (any, error) {
	s, err := c.soft()
	if err != nil {
		return nil, err
	}
	words := strings.FieldsFunc(s, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	return int64(len(words)), c.rt.items(len(words))
}

func filterDefault(c *call) (any, error) {
	var p [2]any
	if err := c.bind("default", 0, p[:], "default_value", "boolean"); err != nil {
		return nil, err
	}
	if p[0] == missing {
		p[0] = ""
	}
	_, isUndefined := c.self.(*undefined)
	if isUndefined || p[1] != missing && truthy(p[1]) && !truthy(c.self) {
		return p[0], nil
	}
	return c.self, nil
}
