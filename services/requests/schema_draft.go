package requests

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trident-inference/trident/services/strictjson"
)

// schemaDraft is a version of JSON Schema. It may be used concurrently.
type schemaDraft struct {
	version int    // draft number up to 7, later the year
	id      string // the keyword for addresses
	meta    *jsonschema.Schema
}

// schemaDrafts returns the versions, keyed by their addresses without a scheme. Their
// metaschemas are compiled when the first schema is checked.
var schemaDrafts = sync.OnceValues(func() (map[string]*schemaDraft, error) { //nolint:gochecknoglobals // a constant, computed on first use
	drafts := map[string]*schemaDraft{
		"json-schema.org/draft-04/schema":      {version: 4, id: "id"},
		"json-schema.org/draft-06/schema":      {version: 6, id: "$id"},
		"json-schema.org/draft-07/schema":      {version: 7, id: "$id"},
		"json-schema.org/draft/2019-09/schema": {version: 2019, id: "$id"},
		newestDraft:                            {version: 2020, id: "$id"},
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for address, d := range drafts {
		scheme := "https://"
		if d.version <= 7 {
			scheme = "http://"
		}
		meta, err := compiler.Compile(scheme + address)
		if err != nil {
			return nil, fmt.Errorf("compile the metaschema of JSON Schema: %w", err)
		}
		d.meta = meta
	}
	drafts["json-schema.org/schema"] = drafts[newestDraft]
	return drafts, nil
})

const newestDraft = "json-schema.org/draft/2020-12/schema"

// draftAt returns the draft of an address, or nil for an unknown address.
func draftAt(address string) (*schemaDraft, error) {
	drafts, err := schemaDrafts()
	if err != nil {
		return nil, err
	}
	address = strings.TrimSuffix(address, "#")
	rest, ok := strings.CutPrefix(address, "http://")
	if !ok {
		rest = strings.TrimPrefix(address, "https://")
	}
	return drafts[rest], nil
}

// latestDraft returns the draft of schemas that don't name one.
func latestDraft() (*schemaDraft, error) { return draftAt("https://" + newestDraft) }

// schemaForm is the position of subschemas in a keyword's value.
type schemaForm uint8

const (
	formPlain    schemaForm = iota // the keyword's value has no subschemas
	formSchema                     // the keyword's value is a subschema
	formList                       // the keyword's value is a list of subschemas
	formEither                     // the keyword's value is a subschema or a list of subschemas
	formMap                        // the keyword's value is an object whose values are subschemas
	formPatterns                   // the keyword's value is an object whose keys are patterns and whose values are subschemas
	formPattern                    // the keyword's value is a pattern, without subschemas
)

// form returns where subschemas stand in the value of a JSON Schema keyword: as the value itself,
// in a list or in an object.
func (d *schemaDraft) form(keyword string) schemaForm {
	switch keyword {
	case "pattern":
		return formPattern
	case "patternProperties":
		return formPatterns
	case "properties", "definitions", "dependencies":
		return formMap
	case "allOf", "anyOf", "oneOf":
		return formList
	case "not", "additionalProperties":
		return formSchema
	case "items":
		if d.version >= 2020 {
			return formSchema
		}
		return formEither
	}
	return d.newerForm(keyword)
}

// newerForm is like form for keywords that only some drafts of JSON Schema have.
func (d *schemaDraft) newerForm(keyword string) schemaForm {
	form, since := formSchema, 2019
	switch keyword {
	case "additionalItems":
		if d.version >= 2020 {
			return formPlain
		}
		since = 4
	case "propertyNames", "contains":
		since = 6
	case "if", "then", "else":
		since = 7
	case "unevaluatedItems", "unevaluatedProperties", "contentSchema":
	case "$defs", "dependentSchemas":
		form = formMap
	case "prefixItems":
		form, since = formList, 2020
	default:
		return formPlain
	}
	if d.version < since {
		return formPlain
	}
	return form
}

// schemaBelow is a subschema with its path.
type schemaBelow struct {
	path []string
	node map[string]any
}

// noSchema replaces a subschema. The metaschemas of all drafts accept it.
var noSchema = map[string]any{} //nolint:gochecknoglobals // a constant

// flatten returns a schema without its subschemas, for the metaschema, and the subschemas.
// It checks patterns and removes them. Keys are sorted, so that errors are deterministic.
func (s *Schemas) flatten(d *schemaDraft, node map[string]any) (flat map[string]any, below []schemaBelow, err error) {
	flat = make(map[string]any, len(node))
	for _, key := range slices.Sorted(maps.Keys(node)) {
		form := d.form(key)
		if form == formPattern || form == formPatterns {
			if err := s.patterns(key, node[key]); err != nil {
				return nil, nil, err
			}
		}
		flat[key], below = form.take(key, node[key], below)
	}
	return flat, below, nil
}

// take returns a keyword's value without its subschemas, and appends the subschemas to
// below. A value of another form stays unchanged: the metaschema rejects it.
func (f schemaForm) take(key string, value any, below []schemaBelow) (left any, _ []schemaBelow) {
	switch value := value.(type) {
	case string:
		if f == formPattern {
			return "", below
		}
	case map[string]any:
		switch f {
		case formSchema, formEither:
			return noSchema, append(below, schemaBelow{[]string{key}, value})
		case formMap, formPatterns:
			return takeMembers(key, value, below)
		case formPlain, formList, formPattern:
		}
	case []any:
		if f == formList || f == formEither {
			return takeItems(key, value, below)
		}
	}
	return value, below
}

func takeMembers(key string, members map[string]any, below []schemaBelow) (map[string]any, []schemaBelow) {
	left := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if node, ok := members[name].(map[string]any); ok {
			below = append(below, schemaBelow{[]string{key, name}, node})
		} else {
			left[name] = members[name]
		}
	}
	return left, below
}

func takeItems(key string, items []any, below []schemaBelow) ([]any, []schemaBelow) {
	left := slices.Clone(items) // the list keeps its length, because errors name positions
	for i, item := range items {
		if node, ok := item.(map[string]any); ok {
			left[i] = noSchema
			below = append(below, schemaBelow{[]string{key, strictjson.Index(i)}, node})
		}
	}
	return left, below
}
