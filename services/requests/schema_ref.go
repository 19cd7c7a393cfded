package requests

import (
	"net/url"
	"strconv"
	"strings"
)

// schemaRef is a reference that is to be followed.
type schemaRef struct {
	to string
	in *schemaResource
}

// rootAddress is that of a schema without one. It is absolute: others are taken for files.
func rootAddress() *url.URL { return &url.URL{Scheme: "mem", Path: "/schema"} }

// draftOf is the draft of a subschema. Only resources may name one.
func (w *schemaWalk) draftOf(node map[string]any, in *schemaResource) (*schemaDraft, error) {
	named, ok := node["$schema"].(string)
	if !ok {
		return in.draft, nil
	}
	draft, err := draftAt(named)
	if err != nil {
		return nil, err
	}
	isRoot := len(w.trail) == 0
	switch {
	case draft == nil && (isRoot || in.draft.addressOf(node) != ""):
		return nil, errSchemaElsewhere
	case draft == nil || !isRoot && draft.addressOf(node) == "":
		return in.draft, nil
	}
	return draft, nil
}

// addressOf is a schema's own address without a fragment, empty for none. Before 2019
// nothing counts beside a reference.
func (d *schemaDraft) addressOf(node map[string]any) string {
	address, _, _ := strings.Cut(d.idOf(node), "#")
	return address
}

func (d *schemaDraft) idOf(node map[string]any) string {
	if _, refers := node["$ref"]; refers && d.version < 2019 {
		return ""
	}
	id, _ := node[d.id].(string)
	return id
}

// address notes the names of a subschema and the references in it. It returns the resource
// that the schemas below belong to.
func (w *schemaWalk) address(node map[string]any, in *schemaResource, draft *schemaDraft) (*schemaResource, error) {
	if address := draft.addressOf(node); address != "" {
		base, err := join(in.base, address)
		if err != nil {
			return nil, errSchemaAddress
		}
		if other := w.resources[base.String()]; other != nil && len(w.trail) > 0 {
			return nil, errSchemaTwice
		}
		in = &schemaResource{node: node, base: base, draft: draft, anchors: map[string]map[string]any{}}
		w.resources[base.String()] = in
		if len(w.trail) == 0 {
			w.resources[rootAddress().String()] = in
		}
	} else if len(w.trail) == 0 {
		in.draft = draft
	}
	for _, name := range draft.anchorsOf(node) {
		if in.anchors[name] != nil {
			return nil, errSchemaTwice
		}
		in.anchors[name] = node
	}
	for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if to, ok := node[keyword].(string); ok && draft.refers(keyword) {
			w.refs = append(w.refs, schemaRef{to, in})
		}
	}
	return in, nil
}

// refers reports whether the draft has the keyword of references.
func (d *schemaDraft) refers(keyword string) bool {
	switch keyword {
	case "$dynamicRef":
		return d.version >= 2020
	case "$recursiveRef":
		return d.version == 2019
	}
	return true
}

// anchorsOf are the names that a schema has within its resource.
func (d *schemaDraft) anchorsOf(node map[string]any) []string {
	var names []string
	if d.version < 2019 {
		_, fragment, _ := strings.Cut(d.idOf(node), "#")
		if name, err := url.PathUnescape(fragment); err == nil && name != "" && name[0] != '/' {
			names = append(names, name)
		}
		return names
	}
	anchor, _ := node["$anchor"].(string)
	dynamic, _ := node["$dynamicAnchor"].(string)
	if anchor != "" {
		names = append(names, anchor)
	}
	if dynamic != "" && dynamic != anchor && d.version >= 2020 {
		names = append(names, dynamic)
	}
	return names
}

// join is the address that a reference means at a base.
func join(base *url.URL, reference string) (*url.URL, error) {
	parsed, err := url.Parse(reference)
	if err != nil {
		return nil, err
	}
	joined := base.ResolveReference(parsed)
	if !parsed.IsAbs() && base.Opaque != "" {
		joined.Opaque = base.Opaque // which ResolveReference leaves out (Go's issue 66084)
	}
	return joined, nil
}

// resolve finds the schema that a reference leads to, and its resource; nil for one that
// needs no check.
func (w *schemaWalk) resolve(ref schemaRef) (map[string]any, *schemaResource, error) {
	address, fragment, _ := strings.Cut(ref.to, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, nil, errSchemaAddress
	}
	in := ref.in
	if address != "" {
		joined, err := join(in.base, address)
		if err != nil {
			return nil, nil, errSchemaAddress
		}
		if in = w.resources[joined.String()]; in == nil {
			draft, err := draftAt(joined.String())
			if err == nil && draft == nil {
				err = errSchemaElsewhere
			}
			return nil, nil, err
		}
	}
	if fragment == "" || fragment[0] == '/' {
		target, err := lookUp(in.node, fragment)
		return target, in, err
	}
	if target := in.anchors[fragment]; target != nil {
		return target, in, nil
	}
	return nil, nil, errSchemaNowhere
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~") //nolint:gochecknoglobals // a constant table

// lookUp follows a JSON pointer (RFC 6901). The schema that is true or false is nil.
func lookUp(root map[string]any, pointer string) (map[string]any, error) {
	var value any = root
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		step = unescapePointer.Replace(step)
		found := false
		switch v := value.(type) {
		case map[string]any:
			value, found = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if found = err == nil && i >= 0 && i < len(v); found {
				value = v[i]
			}
		}
		if !found {
			return nil, errSchemaNowhere
		}
	}
	switch target := value.(type) {
	case map[string]any:
		return target, nil
	case bool:
		return nil, nil //nolint:nilnil // nothing to check
	}
	return nil, errSchemaNowhere
}
