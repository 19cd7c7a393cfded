package structured

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// annotations are keywords that constrain nothing. Annotations aren't sent to the engine, because
// some checks of the engine treat the values of annotations as schemas.
var annotations = map[string]bool{ //nolint:gochecknoglobals // a constant table
	"title": true, "description": true, "default": true, "examples": true, "example": true, "deprecated": true,
	"readOnly": true, "writeOnly": true, "$comment": true, "$schema": true, "nullable": true, "discriminator": true,
	"contentEncoding": true, "contentMediaType": true, "contentSchema": true, "strict": true, "$defs": true, "definitions": true,
}

// typesOf are the keywords of each type, in output order.
var typesOf = []struct { //nolint:gochecknoglobals // a constant table
	name     string
	keywords []string
}{
	{"object", []string{
		"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
		"dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties",
	}},
	{"array", []string{
		"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems",
	}},
	{"string", []string{"minLength", "maxLength", "pattern", "format"}},
	{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
}

// keywordBackends are the backends that enforce keywords which xgrammar ignores or refuses, in any
// schema.
var keywordBackends = map[string]Backends{ //nolint:gochecknoglobals // a constant table
	"patternProperties": Guidance, "multipleOf": Guidance,
	"propertyNames": 0, "minProperties": 0, "maxProperties": 0, "dependentRequired": 0, "dependentSchemas": 0, "dependencies": 0,
	"unevaluatedProperties": 0, "unevaluatedItems": 0, "uniqueItems": 0, "contains": 0, "minContains": 0, "maxContains": 0, "additionalItems": 0,
	"not": 0, "if": 0, "then": 0, "else": 0, "$dynamicRef": 0, "$recursiveRef": 0,
	"$anchor": Guidance, "$dynamicAnchor": Guidance, "$id": Guidance, "id": Guidance, "x-guidance": 0,
}

// schema checks a JSON schema. llguidance refuses the constructs that it doesn't enforce, so that
// its own check is almost sufficient.
func (b Backends) schema(value json.RawMessage) (json.RawMessage, error) {
	root, err := parse(value)
	if err != nil {
		return nil, wrongf("", "the schema is not valid JSON")
	}
	n, err := b.schemaNode(root, "", new(int64))
	if err != nil {
		return nil, err
	}
	return n.appendJSON(nil), nil
}

// schemaNode checks a whole schema.
func (b Backends) schemaNode(root *node, path string, size *int64) (*node, error) {
	if b == Guidance {
		return root, guidanceSchema(root, path)
	}
	if id := root.get("$id"); id != nil { // the root's $id: local references mean the same without it
		root = &node{kind: root.kind, scalar: root.scalar, members: slices.DeleteFunc(slices.Clone(root.members), func(m member) bool { return m.name == "$id" })}
	}
	w := &schemaWalk{backends: b, root: root, size: size, sized: map[string]bool{}, values: map[*node]int64{}}
	if err := w.loops(root, path); err != nil {
		return nil, err
	}
	return w.schema(root, path)
}

// schemaWalk rewrites a schema so that it contains only constructs that all its backends enforce.
type schemaWalk struct {
	backends Backends
	root     *node
	listed   int // integers that were listed instead of their limits
	size     *int64
	sized    map[string]bool // true for the key of each counted part that xgrammar builds only once
	values   map[*node]int64 // total size of the values in const and enum, by the schema that a reference leads to
}

func (w *schemaWalk) need(supporting Backends, path, construct string) error {
	return w.backends.need(supporting, path, construct)
}

// schema checks a schema and its subschemas.
func (w *schemaWalk) schema(n *node, path string) (*node, error) {
	switch {
	case n.isBool(true):
		return object(), w.need(XGrammar|Guidance, path, "a schema that allows any value")
	case n.kind != kindObject:
		return nil, w.need(Guidance, path, "the schema false")
	}
	if err := w.grow(subschemaSize, path); err != nil {
		return nil, err
	}
	out, err := w.form(n, path)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"$defs", "definitions"} {
		defs := n.get(name)
		if defs == nil || defs.kind != kindObject {
			continue
		}
		judged, err := w.members(defs, join(path, name))
		if err != nil {
			return nil, err
		}
		out.members = append(out.members, member{name, judged})
	}
	return out, nil
}

// members checks the schemas in an object.
func (w *schemaWalk) members(n *node, path string) (*node, error) {
	out := object()
	for _, m := range n.members {
		judged, err := w.schema(m.value, join(path, m.name))
		if err != nil {
			return nil, err
		}
		out.members = append(out.members, member{m.name, judged})
	}
	return out, nil
}

// items checks the schemas in a list.
func (w *schemaWalk) items(n *node, path string) (*node, error) {
	out := array()
	for i, item := range n.items {
		judged, err := w.schema(item, fmt.Sprintf("%s[%d]", path, i))
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, judged)
	}
	return out, nil
}

// form returns the rewritten keywords of a schema, without $defs and definitions. It first refuses
// keywords that a backend doesn't enforce. If the schema has $ref, const, enum, anyOf, oneOf or
// allOf, form reads only the first of these keywords, because xgrammar then ignores all other
// keywords of the schema.
func (w *schemaWalk) form(n *node, path string) (*node, error) {
	for _, m := range n.members {
		if backends, known := keywordBackends[m.name]; known && !w.hasNoEffect(&m) {
			if err := w.need(backends, join(path, m.name), "the keyword "+m.name); err != nil {
				return nil, err
			}
		}
	}
	for _, alone := range []struct {
		keyword string
		judge   func(n, value *node, path string) (*node, error)
	}{{"$ref", w.reference}, {"const", w.constant}, {"enum", w.enum}, {"anyOf", w.anyOf}, {"oneOf", w.oneOf}, {"allOf", w.allOf}} {
		if value := n.get(alone.keyword); value != nil {
			return alone.judge(n, value, path)
		}
	}
	return w.typed(n, path)
}

// hasNoEffect reports whether a keyword has no effect with its value.
func (*schemaWalk) hasNoEffect(m *member) bool {
	switch m.name {
	case "uniqueItems":
		return m.value.isBool(false)
	case "unevaluatedProperties", "unevaluatedItems", "additionalItems":
		return m.value.isBool(true)
	case "minProperties", "minContains":
		return m.value.scalar == json.Number("0")
	}
	return false
}

// refuseSiblings refuses constraints beside a keyword that replaces them in an engine.
func (w *schemaWalk) refuseSiblings(n *node, path, keyword string, allowed ...string) error {
	for _, m := range n.members {
		if m.name == keyword || annotations[m.name] || slices.Contains(allowed, m.name) || w.hasNoEffect(&m) || !constrains(m.name) {
			continue
		}
		if err := w.need(Guidance, join(path, m.name), fmt.Sprintf("the keyword %s beside %s", m.name, keyword)); err != nil {
			return err
		}
	}
	return nil
}

// constrains reports whether a keyword is a constraint of JSON Schema.
func constrains(keyword string) bool {
	if slices.Contains([]string{"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"}, keyword) {
		return true
	}
	if _, known := keywordBackends[keyword]; known {
		return true
	}
	return typeOf(keyword) != ""
}

// typeOf returns the type that a keyword applies to, or "".
func typeOf(keyword string) string {
	for _, t := range typesOf {
		if slices.Contains(t.keywords, keyword) {
			return t.name
		}
	}
	return ""
}

// reference checks a $ref. Its target keeps its place, because the rewritten schema keeps the names
// of all steps that a reference may use.
func (w *schemaWalk) reference(n, value *node, path string) (*node, error) {
	text, _ := value.text()
	if err := w.refuseSiblings(n, path, "$ref"); err != nil {
		return nil, err
	}
	if w.target(text) == nil {
		return nil, w.refuse(Guidance, join(path, "$ref"), "a $ref with steps other than #, $defs, definitions, properties and items")
	}
	return object(member{"$ref", str(text)}), w.growByValues(w.target(text), join(path, "$ref"))
}

// refuse returns the error about a construct that can't be rewritten, even if all backends support
// it.
func (w *schemaWalk) refuse(supporting Backends, path, construct string) error {
	return &RefusalError{Path: path, Construct: construct, SupportedBy: supporting}
}

// target returns the schema that a reference leads to, or nil if the reference isn't supported.
func (w *schemaWalk) target(ref string) *node {
	if ref == "#" {
		return w.root
	}
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok || strings.ContainsAny(rest, `~%"\`) {
		return nil
	}
	at, named := w.root, false // reports whether the next step is the name of a member
	for step := range strings.SplitSeq(rest, "/") {
		if !named {
			switch step {
			case "properties", "$defs", "definitions":
				named = true
			case "items", "additionalProperties":
			default:
				return nil
			}
		} else {
			named = false
		}
		if at = at.get(step); at == nil {
			return nil
		}
	}
	if named {
		return nil
	}
	return at
}

// loops refuses schemas that are equivalent to themselves by references. Engines follow such
// references indefinitely.
func (w *schemaWalk) loops(n *node, path string) error {
	if !(&loopWalk{schema: w, ended: map[*node]bool{}}).all(n) {
		return wrongf(path, "a $ref refers to itself")
	}
	return w.recursion(n, path)
}

// loopWalk follows each schema to the schemas that it refers to or that are its alternatives.
type loopWalk struct {
	schema *schemaWalk
	ended  map[*node]bool // by schema: false while the walk follows it, true afterwards
}

// all reports whether no schema in n leads back to itself.
func (l *loopWalk) all(n *node) bool {
	if n.kind == kindObject && !l.ends(n) {
		return false
	}
	for _, m := range n.members {
		if !l.all(m.value) {
			return false
		}
	}
	return !slices.ContainsFunc(n.items, func(item *node) bool { return !l.all(item) })
}

// ends reports whether a schema doesn't lead back to itself.
func (l *loopWalk) ends(n *node) bool {
	if ended, met := l.ended[n]; met {
		return ended
	}
	l.ended[n] = false
	for _, next := range l.next(n) {
		if !l.ends(next) {
			return false
		}
	}
	l.ended[n] = true
	return true
}

// next returns the schemas that a schema refers to, or that are its alternatives.
func (l *loopWalk) next(n *node) []*node {
	var list []*node
	if ref, ok := n.get("$ref").text(); ok {
		if target := l.schema.target(ref); target != nil {
			list = append(list, target)
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if of := n.get(keyword); of != nil {
			list = append(list, of.items...)
		}
	}
	return list
}

// recursion refuses references to an enclosing schema for outlines, whose regular expressions can't
// represent them.
func (w *schemaWalk) recursion(n *node, path string) error {
	if w.backends&Outlines == 0 {
		return nil
	}
	within, done := map[*node]bool{}, map[*node]bool{}
	var visit func(n *node) bool
	visit = func(n *node) bool {
		if within[n] || done[n] {
			return done[n]
		}
		within[n] = true
		defer func() { delete(within, n); done[n] = true }()
		if ref, ok := n.get("$ref").text(); ok {
			if target := w.target(ref); target != nil && !visit(target) {
				return false
			}
		}
		for _, m := range n.members {
			if !visit(m.value) {
				return false
			}
		}
		return !slices.ContainsFunc(n.items, func(item *node) bool { return !visit(item) })
	}
	if !visit(n) {
		return w.need(XGrammar|Guidance, path, "a recursive $ref")
	}
	return nil
}

// constant checks a const.
func (w *schemaWalk) constant(n, value *node, path string) (*node, error) {
	if err := w.refuseSiblings(n, path, "const", "type"); err != nil {
		return nil, err
	}
	if !hasType(n.get("type"), value) {
		return nil, wrongf(join(path, "const"), "the value of const doesn't have the type of the schema")
	}
	if err := w.literal(value, join(path, "const")); err != nil {
		return nil, err
	}
	return object(member{"const", value}), w.grow(int64(len(value.appendJSON(nil))), join(path, "const"))
}

// enum checks a list of values and keeps those of the schema's type.
func (w *schemaWalk) enum(n, value *node, path string) (*node, error) {
	if err := w.refuseSiblings(n, path, "enum", "type"); err != nil {
		return nil, err
	}
	out := array()
	for i, item := range value.items {
		if !hasType(n.get("type"), item) {
			continue
		}
		if err := w.literal(item, fmt.Sprintf("%s[%d]", join(path, "enum"), i)); err != nil {
			return nil, err
		}
		out.items = append(out.items, item)
	}
	if len(out.items) == 0 {
		return nil, wrongf(join(path, "enum"), "no value of the enum has the type of the schema")
	}
	return object(member{"enum", out}), w.grow(int64(len(out.appendJSON(nil))), join(path, "enum"))
}

// literal checks a fixed value of the answer.
func (w *schemaWalk) literal(n *node, path string) error {
	if n.kind != kindScalar {
		if err := w.need(XGrammar|Guidance, path, "a value that is an object or a list"); err != nil {
			return err
		}
	}
	if text, ok := n.text(); ok && !isASCII(text) {
		return w.need(XGrammar|Guidance, path, "a character beyond ASCII")
	}
	for _, m := range n.members {
		// vLLM's check for xgrammar mistakes a value with the key type for a schema.
		if m.name == "type" {
			if err := w.need(Guidance, path, "a value that has the key type"); err != nil {
				return err
			}
		}
		if err := w.literal(m.value, join(path, m.name)); err != nil {
			return err
		}
	}
	for _, item := range n.items {
		if err := w.literal(item, path); err != nil {
			return err
		}
	}
	return nil
}

// hasType reports whether a value has a schema's type. A missing type allows all values.
func hasType(types, value *node) bool {
	if types == nil {
		return true
	}
	name := value.typeName()
	for _, t := range typeNames(types) {
		if t == name || t == "number" && name == "integer" {
			return true
		}
	}
	return false
}

// typeNames returns the types of a type keyword.
func typeNames(types *node) []string {
	if one, ok := types.text(); ok {
		return []string{one}
	}
	var list []string
	for _, item := range types.items {
		if one, ok := item.text(); ok {
			list = append(list, one)
		}
	}
	return list
}

func (w *schemaWalk) anyOf(n, value *node, path string) (*node, error) {
	if err := w.refuseSiblings(n, path, "anyOf"); err != nil {
		return nil, err
	}
	list, err := w.items(value, join(path, "anyOf"))
	if err != nil {
		return nil, err
	}
	return object(member{"anyOf", list}), nil
}

// oneOf becomes an anyOf if no value can satisfy two of its schemas.
func (w *schemaWalk) oneOf(n, value *node, path string) (*node, error) {
	if err := w.refuseSiblings(n, path, "oneOf"); err != nil {
		return nil, err
	}
	if len(value.items) > maxCompared {
		return nil, w.refuse(0, join(path, "oneOf"), fmt.Sprintf("a oneOf of more than %d schemas", maxCompared))
	}
	for i := range value.items {
		for j := range i {
			if !w.disjoint(value.items[i], value.items[j]) {
				return nil, w.refuse(0, join(path, "oneOf"), "a oneOf whose schemas can allow the same value")
			}
		}
	}
	list, err := w.items(value, join(path, "oneOf"))
	if err != nil {
		return nil, err
	}
	return object(member{"anyOf", list}), nil
}

// allOf with one schema becomes that schema.
func (w *schemaWalk) allOf(n, value *node, path string) (*node, error) {
	if err := w.refuseSiblings(n, path, "allOf"); err != nil {
		return nil, err
	}
	if len(value.items) != 1 {
		return nil, w.refuse(Guidance, join(path, "allOf"), "an allOf of several schemas")
	}
	return w.schema(value.items[0], join(path, "allOf[0]"))
}
