package structured

import "slices"

// maxFollowed is the maximum number of references that are followed to compare two schemas.
const maxFollowed = 8

// maxCompared is the maximum number of schemas in a oneOf, and of values in an enum, that are
// compared in pairs.
const maxCompared = 64

// disjoint reports whether certainly no value satisfies both schemas: they have different types,
// have different values, or are objects that require different values of the same property.
func (w *schemaWalk) disjoint(a, b *node) bool {
	a, b = w.follow(a), w.follow(b)
	if x, y := values(a), values(b); x != nil && y != nil {
		return !overlap(x, y)
	}
	if x, y := types(a), types(b); x != nil && y != nil && !shareType(x, y) {
		return true
	}
	x, y := a.get("properties"), b.get("properties")
	if x == nil || y == nil || !onlyObjects(a) || !onlyObjects(b) {
		return false
	}
	for _, m := range x.members {
		other := y.get(m.name)
		if other == nil || !requires(a, m.name) || !requires(b, m.name) {
			continue
		}
		if p, q := values(w.follow(m.value)), values(w.follow(other)); p != nil && q != nil && !overlap(p, q) {
			return true
		}
	}
	return false
}

// follow returns the schema that a chain of references leads to.
func (w *schemaWalk) follow(n *node) *node {
	for range maxFollowed {
		ref, ok := n.get("$ref").text()
		if !ok {
			break
		}
		target := w.target(ref)
		if target == nil {
			break
		}
		n = target
	}
	return n
}

// values returns the JSON of all values that a schema allows, or nil if the schema doesn't list
// them.
func values(n *node) []string {
	if c := n.get("const"); c != nil {
		return []string{string(c.appendJSON(nil))}
	}
	list := n.get("enum")
	if list == nil || list.kind != kindArray {
		return nil
	}
	out := []string{}
	for _, item := range list.items {
		out = append(out, string(item.appendJSON(nil)))
	}
	return out
}

// types returns the types that a schema allows, or nil if the schema doesn't specify them.
func types(n *node) []string {
	if t := n.get("type"); t != nil {
		return typeNames(t)
	}
	for _, keyword := range []string{"const", "enum"} {
		switch value := n.get(keyword); {
		case value == nil:
		case keyword == "const":
			return []string{value.typeName()}
		default:
			out := []string{}
			for _, item := range value.items {
				out = append(out, item.typeName())
			}
			return out
		}
	}
	return nil
}

// shareType reports whether a value can have a type of both lists. A number can be written like an
// integer.
func shareType(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y || x == "integer" && y == "number" || x == "number" && y == "integer" {
				return true
			}
		}
	}
	return false
}

// overlap reports whether two lists may share a value. Equal numbers can be written differently, so
// any two numbers count as equal.
func overlap(a, b []string) bool {
	if len(a) > maxCompared || len(b) > maxCompared {
		return true // long lists aren't compared, so an overlap is possible
	}
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return x == y || x[0] != '"' && y[0] != '"' && !isWord(x) && !isWord(y) })
	})
}

// isWord reports whether text is null, true or false.
func isWord(text string) bool { return text == "null" || text == "true" || text == "false" }

func onlyObjects(n *node) bool { return slices.Equal(types(n), []string{"object"}) }

func requires(n *node, name string) bool {
	list := n.get("required")
	return list != nil && slices.ContainsFunc(list.items, func(item *node) bool { text, ok := item.text(); return ok && text == name })
}
