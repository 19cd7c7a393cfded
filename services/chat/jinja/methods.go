package jinja

// nativeFunc implements a method of a Jinja value, such as str.upper.
type nativeFunc func(c *call) (any, error)

// methodSet is the methods with one name, by the type that has them.
type methodSet struct{ str, list, tuple, dict nativeFunc }

func methodsNamed(name string) methodSet {
	return methodSet{strMethod(name), listMethods[name], tupleMethods[name], dictMethods[name]}
}

func strMethod(name string) nativeFunc {
	if name == "format" { // format looks up methods at run time
		return func(c *call) (any, error) { return c.format(c.args, c.kw) }
	}
	return strMethods[name]
}

func (m *methodSet) of(v any) nativeFunc {
	switch v.(type) {
	case string, markup:
		return m.str
	case *List:
		return m.list
	case *Tuple:
		return m.tuple
	case *Dict:
		return m.dict
	}
	return nil
}

// mutators are the dict methods that the sandbox removes. A key with such a name is hidden by them.
var mutators = map[string]bool{"clear": true, "pop": true, "popitem": true, "setdefault": true, "update": true}

var dictMethods = map[string]nativeFunc{
	"get": func(c *call) (any, error) {
		if err := c.positional("get", 1, 2); err != nil {
			return nil, err
		}
		v, ok, err := c.self.(*Dict).get(c.args[0])
		if !ok && len(c.args) == 2 {
			v = c.args[1]
		}
		return v, err
	},
	"keys":   func(c *call) (any, error) { return c.view(viewKeys) },
	"values": func(c *call) (any, error) { return c.view(viewValues) },
	"items":  func(c *call) (any, error) { return c.view(viewItems) },
	"copy": func(c *call) (any, error) {
		d := c.self.(*Dict)
		if err := c.rt.items(2 * d.Len()); err != nil {
			return nil, err
		}
		return d.copy(), c.positional("copy", 0, 0)
	},
}

func (c *call) view(kind viewKind) (any, error) {
	return &dictView{c.self.(*Dict), kind}, c.positional(kind.String(), 0, 0)
}

var listMethods = map[string]nativeFunc{
	"copy": func(c *call) (any, error) {
		return &List{items: c.self.(*List).items}, c.positional("copy", 0, 0)
	},
	"count": func(c *call) (any, error) { return c.countItem(c.self.(*List).items) },
	"index": func(c *call) (any, error) { return c.indexItem(c.self.(*List).items) },
}

var tupleMethods = map[string]nativeFunc{
	"count": func(c *call) (any, error) { return c.countItem(c.self.(*Tuple).items) },
	"index": func(c *call) (any, error) { return c.indexItem(c.self.(*Tuple).items) },
}

func (c *call) countItem(items []any) (any, error) {
	if err := c.positional("count", 1, 1); err != nil {
		return nil, err
	}
	n := int64(0)
	for _, item := range items {
		ok, err := c.rt.same(item, c.args[0], 0)
		if err != nil {
			return nil, err
		}
		if ok {
			n++
		}
	}
	return n, nil
}

func (c *call) indexItem(items []any) (any, error) {
	if err := c.positional("index", 1, 3); err != nil {
		return nil, err
	}
	var parts [3]any
	copy(parts[:], c.args[1:])
	start, _, count, err := sliceRange(parts, len(items))
	if err != nil {
		return nil, err
	}
	for i := start; i < start+count; i++ {
		ok, err := c.rt.same(items[i], c.args[0], 0)
		if err != nil {
			return nil, err
		}
		if ok {
			return int64(i), nil
		}
	}
	return nil, failf("index() doesn't find its argument in the list")
}

func (c *call) text() string {
	s, _ := text(c.self)
	return s
}
