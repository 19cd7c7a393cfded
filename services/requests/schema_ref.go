package requests

import (
	"net/url"
	"strconv"
	"strings"
)

// schemaRef is a reference that must be followed.
type schemaRef struct {
	to string
	in *schemaResource
}

// rootAddress returns the address of a schema without one. It is absolute, because the
// library takes relative ones for file names.
func rootAddress() *url.URL { return &url.URL{Scheme: "mem", Path: "/schema"} }

// draftOf returns the draft of a subschema. Only resources may name a draft.
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

// addressOf returns a schema's own address without the fragment, or "". In drafts before
// 2019 all keywords beside $ref are ignored.
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

// address records the names of a subschema and its references. It returns the resource of
// the schemas below it.
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

// refers reports whether the keyword is one of the draft's reference keywords.
func (d *schemaDraft) refers(keyword string) bool {
	switch keyword {
	case "$dynamicRef":
		return d.version >= 2020
	case "$recursiveRef":
		return d.version == 2019
	}
	return true
}

// anchorsOf returns the names of a schema within its resource.
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

// join resolves a reference against a base.
func join(base *url.URL, reference string) (*url.URL, error) {
	parsed, err := url.Parse(reference)
	if err != nil {
		return nil, err
	}
	joined := base.ResolveReference(parsed)
	if !parsed.IsAbs() && base.Opaque != "" {
		joined.Opaque = base.Opaque // ResolveReference omits it (Go's issue 66084)
	}
	return joined, nil
}

// resolve returns the schema that a reference points to, and its resource. Both are nil
// for a metaschema, which needs no check.
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

// lookUp follows a JSON pointer (RFC 6901). It returns nil for the schemas true and false.
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
