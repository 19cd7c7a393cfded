package jinja

import (
	"strings"
	"unicode"
)

var strMethods = map[string]nativeFunc{
	"capitalize":   mapText("capitalize", capitalize),
	"lower":        mapText("lower", lower),
	"title":        mapText("title", title),
	"upper":        mapText("upper", upper),
	"isalnum":      allRunes("isalnum", func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
	"isalpha":      allRunes("isalpha", unicode.IsLetter),
	"isdigit":      allRunes("isdigit", isDigit),
	"isspace":      allRunes("isspace", isSpace),
	"islower":      askText("islower", func(s string) bool { return allCased(s, isLower) }),
	"isupper":      askText("isupper", func(s string) bool { return allCased(s, isUpper) }),
	"strip":        func(c *call) (any, error) { return c.strip("strip", true, true) },
	"lstrip":       func(c *call) (any, error) { return c.strip("lstrip", true, false) },
	"rstrip":       func(c *call) (any, error) { return c.strip("rstrip", false, true) },
	"startswith":   func(c *call) (any, error) { return c.hasAffix("startswith", strings.HasPrefix) },
	"endswith":     func(c *call) (any, error) { return c.hasAffix("endswith", strings.HasSuffix) },
	"removeprefix": func(c *call) (any, error) { return c.removeAffix("removeprefix", strings.TrimPrefix) },
	"removesuffix": func(c *call) (any, error) { return c.removeAffix("removesuffix", strings.TrimSuffix) },
	"split":        func(c *call) (any, error) { return c.split("split", splitSpace, splitN) },
	"rsplit":       func(c *call) (any, error) { return c.split("rsplit", rsplitSpace, rsplit) },
	"partition":    func(c *call) (any, error) { return c.partition("partition", strings.Index) },
	"rpartition":   func(c *call) (any, error) { return c.partition("rpartition", strings.LastIndex) },
	"find":         func(c *call) (any, error) { return c.find("find", strings.Index, false) },
	"rfind":        func(c *call) (any, error) { return c.find("rfind", strings.LastIndex, false) },
	"index":        func(c *call) (any, error) { return c.find("index", strings.Index, true) },
	"rindex":       func(c *call) (any, error) { return c.find("rindex", strings.LastIndex, true) },
	"count":        strCount,
	"join":         strJoin,
	"replace":      strReplace,
	"splitlines":   strSplitLines,
}

func mapText(name string, fn func(string) string) nativeFunc {
	return func(c *call) (any, error) {
		s := fn(c.text())
		if err := c.rt.grow(len(s)); err != nil {
			return nil, err
		}
		return like(c.self, s), c.positional(name, 0, 0)
	}
}

func askText(name string, fn func(string) bool) nativeFunc {
	return func(c *call) (any, error) {
		if err := c.rt.step(len(c.text()) >> 6); err != nil {
			return nil, err
		}
		return fn(c.text()), c.positional(name, 0, 0)
	}
}

func allRunes(name string, fn func(rune) bool) nativeFunc {
	return askText(name, func(s string) bool {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !fn(r) }) < 0
	})
}

// isDigit is Python's str.isdigit for one character. Beyond decimal digits it includes superscripts
// and circled digits.
func isDigit(r rune) bool {
	switch {
	case unicode.IsDigit(r), r == 0xb2, r == 0xb3, r == 0xb9, r == 0x2070, r >= 0x2074 && r <= 0x2079,
		r >= 0x2080 && r <= 0x2089, r >= 0x2460 && r <= 0x2468:
		return true
	}
	return false
}

func (c *call) strip(name string, left, right bool) (any, error) {
	if err := c.positional(name, 0, 1); err != nil {
		return nil, err
	}
	var chars any
	if len(c.args) == 1 {
		chars = c.args[0]
	}
	return c.trim(chars, left, right)
}

func (c *call) trim(chars any, left, right bool) (any, error) {
	s := c.text()
	match := isSpace
	if chars != nil {
		set, err := wantText("the characters to strip", chars, "")
		if err != nil {
			return nil, err
		}
		match = func(r rune) bool { return strings.ContainsRune(set, r) }
		if err := c.rt.step(len(set) * len(s) >> 6); err != nil {
			return nil, err
		}
	}
	if left {
		s = strings.TrimLeftFunc(s, match)
	}
	if right {
		s = strings.TrimRightFunc(s, match)
	}
	if len(s) == len(c.text()) {
		return c.self, c.rt.step(len(s) >> 6)
	}
	return like(c.self, s), c.rt.step(len(s) >> 6)
}

// window applies the optional start and end arguments, counted in code points. It returns the part
// of the string between start and end, and the number of code points before that part. ok is false
// if start is after the end of the string.
func (c *call) window(from int) (part string, before int, ok bool, err error) {
	s := c.text()
	if err := c.rt.step(len(s) >> 6); err != nil {
		return "", 0, false, err
	}
	if len(c.args) <= from {
		return s, 0, true, nil
	}
	n := runeLen(s)
	bounds := [2]int64{0, int64(n)}
	for i, a := range c.args[from:] {
		if a == nil {
			continue
		}
		k, err := slicePart(a, 0)
		if err != nil {
			return "", 0, false, err
		}
		if k < 0 {
			k = max(k+int64(n), 0)
		}
		bounds[i] = k
	}
	end := min(bounds[1], int64(n))
	if bounds[0] > end {
		return "", 0, false, nil
	}
	start := runeOffset(s, int(bounds[0]))
	return s[start : start+runeOffset(s[start:], int(end-bounds[0]))], int(bounds[0]), true, nil
}

func (c *call) hasAffix(name string, has func(s, affix string) bool) (any, error) {
	if err := c.positional(name, 1, 3); err != nil {
		return nil, err
	}
	s, _, ok, err := c.window(1)
	if err != nil {
		return nil, err
	}
	choices := []any{c.args[0]}
	if t, isTuple := c.args[0].(*Tuple); isTuple {
		choices = t.items
	}
	for _, v := range choices {
		affix, err := wantText("the argument of "+name, v, "")
		if err != nil {
			return nil, err
		}
		if ok && has(s, affix) {
			return true, nil
		}
	}
	return false, c.rt.step(len(choices))
}

func (c *call) removeAffix(name string, trim func(s, affix string) string) (any, error) {
	if err := c.positional(name, 1, 1); err != nil {
		return nil, err
	}
	affix, err := wantText("the argument of "+name, c.args[0], "")
	return like(c.self, trim(c.text(), affix)), err
}

func splitN(s, sep string, limit int) []string {
	if limit < 0 {
		return strings.Split(s, sep)
	}
	return strings.SplitN(s, sep, limit+1)
}

func (c *call) split(name string, bySpace func(string, int) []string, bySep func(s, sep string, limit int) []string) (any, error) {
	var p [2]any
	if err := c.bind(name, 0, p[:], "sep", "maxsplit"); err != nil {
		return nil, err
	}
	limit, err := wantInt("the argument maxsplit", p[1], -1)
	if err != nil {
		return nil, err
	}
	s := c.text()
	if !given(p[0]) {
		if err := c.rt.items(len(s) / 2); err != nil {
			return nil, err
		}
		return c.texts(bySpace(s, limit)), nil
	}
	sep, err := wantText("the argument sep", p[0], "")
	if err != nil {
		return nil, err
	}
	if sep == "" {
		return nil, failf("%s() needs a separator that is not empty", name)
	}
	n := strings.Count(s, sep)
	if limit >= 0 {
		n = min(n, limit)
	}
	if err := c.rt.items(n + 1 + len(s)>>6); err != nil {
		return nil, err
	}
	return c.texts(bySep(s, sep, limit)), nil
}

// texts returns a list of strings of the type of the method's object.
func (c *call) texts(parts []string) *List {
	l := &List{items: make([]any, len(parts))}
	for i, s := range parts {
		l.items[i] = like(c.self, s)
	}
	return l
}

func (c *call) partition(name string, find func(s, sep string) int) (any, error) {
	if err := c.positional(name, 1, 1); err != nil {
		return nil, err
	}
	sep, err := wantText("the separator", c.args[0], "")
	if err != nil {
		return nil, err
	}
	if sep == "" {
		return nil, failf("%s() needs a separator that is not empty", name)
	}
	s := c.text()
	parts := [3]string{s, "", ""}
	if i := find(s, sep); i >= 0 {
		parts = [3]string{s[:i], sep, s[i+len(sep):]}
	} else if name == "rpartition" {
		parts = [3]string{"", "", s}
	}
	return tuple(like(c.self, parts[0]), like(c.self, parts[1]), like(c.self, parts[2])), c.rt.step(len(s) >> 6)
}

func (c *call) find(name string, find func(s, sub string) int, must bool) (any, error) {
	if err := c.positional(name, 1, 3); err != nil {
		return nil, err
	}
	sub, err := wantText("the argument of "+name, c.args[0], "")
	if err != nil {
		return nil, err
	}
	part, before, ok, err := c.window(1)
	if err != nil {
		return nil, err
	}
	i := -1
	if ok {
		i = find(part, sub)
	}
	if i < 0 && must {
		return nil, failf("substring not found")
	}
	if i < 0 {
		return int64(-1), nil
	}
	return int64(before + runeLen(part[:i])), nil
}

func strCount(c *call) (any, error) {
	if err := c.positional("count", 1, 3); err != nil {
		return nil, err
	}
	sub, err := wantText("the argument of count", c.args[0], "")
	if err != nil {
		return nil, err
	}
	part, _, ok, err := c.window(1)
	if !ok || err != nil {
		return int64(0), err
	}
	return int64(strings.Count(part, sub)), nil
}

func strJoin(c *call) (any, error) {
	if err := c.positional("join", 1, 1); err != nil {
		return nil, err
	}
	items, err := c.rt.collect(c.args[0])
	if err != nil {
		return nil, err
	}
	_, escapes := c.self.(markup)
	parts := make([]string, len(items))
	for i, item := range items {
		s, ok := text(item)
		switch {
		case escapes:
			if s, err = c.rt.str(item); err != nil {
				return nil, err
			}
			s = escapeText(item, s)
		case !ok:
			return nil, failf("join() needs strings, and item %d is %s", i, typeName(item))
		}
		parts[i] = s
	}
	s, err := c.rt.joinTexts(parts, c.text())
	return like(c.self, s), err
}

func (rt *runtime) joinTexts(parts []string, sep string) (string, error) {
	total := int64(0)
	for _, p := range parts {
		total += int64(len(p) + len(sep))
	}
	if total > rt.t.limits.Output {
		return "", rt.grow(-1)
	}
	return strings.Join(parts, sep), rt.grow(int(total))
}

func strReplace(c *call) (any, error) {
	if err := c.positional("replace", 2, 3); err != nil {
		return nil, err
	}
	old, err := wantText("the text to replace", c.args[0], "")
	if err != nil {
		return nil, err
	}
	to, err := wantText("the replacement", c.args[1], "")
	if err != nil {
		return nil, err
	}
	limit := -1
	if len(c.args) == 3 {
		if limit, err = wantInt("the argument count", c.args[2], -1); err != nil {
			return nil, err
		}
	}
	if _, ok := c.self.(markup); ok {
		to = escapeText(c.args[1], to)
	}
	s, err := c.rt.replace(c.text(), old, to, limit)
	return like(c.self, s), err
}

func strSplitLines(c *call) (any, error) {
	var p [1]any
	if err := c.bind("splitlines", 0, p[:], "keepends"); err != nil {
		return nil, err
	}
	keep, err := wantInt("the argument keepends", p[0], 0)
	if err != nil {
		return nil, err
	}
	s := c.text()
	if err := c.rt.items(len(s)/2 + 1); err != nil {
		return nil, err
	}
	return c.texts(splitLines(s, keep != 0)), nil
}
