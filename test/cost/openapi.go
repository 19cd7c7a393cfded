package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// document is an API that an OpenAPI document describes.
type document struct {
	surface string
	text    []byte
	// bases are the smallest valid bodies of operations, for schemas whose required fields alone
	// aren't valid.
	bases map[string]string
	// fields are valid objects around fields, for schemas whose required fields alone aren't valid.
	// The key is "operation.path" for all fields of an object, or "operation.path field" for one
	// field.
	fields map[string]string
	// around has replacements in the text around a schema whose type is an alternative among others, by the only
	// value of its field type: the old and the new text.
	around map[string][2]string
	// schemas contains the visited schemas. Another operation reads a visited schema in the same
	// way.
	schemas map[*openapi3.Schema]bool
}

// targets returns the targets of all operations with a body.
func (d *document) targets() ([]*target, error) {
	doc, err := openapi3.NewLoader().LoadFromData(d.text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.surface, err)
	}
	var list []*target
	d.schemas = map[*openapi3.Schema]bool{}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths.Value(path).Operations())) {
			op := doc.Paths.Value(path).Operations()[method]
			if op.RequestBody == nil {
				continue
			}
			schema := op.RequestBody.Value.Content["application/json"].Schema
			if d.schemas[schema.Value] {
				continue
			}
			found, err := d.operation(op.OperationID, path, schema)
			if err != nil {
				return nil, err
			}
			list = append(list, found...)
			if op.RequestBody.Value.Content["application/octet-stream"] != nil {
				list = append(list, binaryTensors(found[0].call))
			}
		}
	}
	return list, nil
}

func (d *document) operation(id, path string, schema *openapi3.SchemaRef) ([]*target, error) {
	body := minimal(schema, nil)
	if text, ok := d.bases[id]; ok {
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			return nil, fmt.Errorf("the body for %s: %w", id, err)
		}
	}
	base, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	model := textModel
	if strings.Contains(id, "infer") {
		model = tensorModel
	}
	path = strings.NewReplacer("{model}", model, "{version}", "1", "{region}", "r", "{repository}", "models").Replace(path)
	w := &walk{
		document: d,
		call:     &call{surface: d.surface, operation: id, path: path, content: "application/json", base: base},
	}
	w.visit(schema, spot{})
	return w.targets, nil
}

// walk finds the fields of one body.
type walk struct {
	*document

	call    *call
	targets []*target
}

// spot is a position in a body, with the text before and after it.
type spot struct{ path, before, after string }

func (s spot) at(step, before, after string) spot {
	return spot{s.path + step, s.before + before, after + s.after}
}

// add adds a target. A quoted "@n" before or after the spot is replaced by the number of units.
func (w *walk) add(s spot, text bool, fills ...fill) {
	for _, f := range fills {
		w.targets = append(w.targets, &target{call: w.call, field: strings.TrimPrefix(s.path, "."), fill: f.name, text: text, body: func(n int) []byte {
			count := strings.NewReplacer(`"@n"`, fmt.Sprint(n))
			return []byte(count.Replace(s.before) + f.make(n) + count.Replace(s.after))
		}})
	}
}

// visit adds the fills of a schema's position, and visits the schemas that it contains.
func (w *walk) visit(ref *openapi3.SchemaRef, s spot) {
	schema := ref.Value
	within := w.schemas[schema]
	w.schemas[schema] = true
	for _, other := range slices.Concat(schema.OneOf, schema.AnyOf, schema.AllOf) {
		if !within || other.Value.Type.Is("array") {
			w.visit(other, w.suited(other.Value, s))
		}
	}
	switch alternatives := len(schema.OneOf)+len(schema.AnyOf)+len(schema.AllOf) > 0; {
	case schema.Type.Is("array"):
		w.array(schema, s, within)
	case schema.Type.Is("object") && (len(schema.Properties) > 0 || !alternatives):
		w.object(schema, s, within)
	case schema.Type.Is("string"):
		w.text(schema, s)
	case schema.Type == nil && !alternatives:
		w.free(s)
	}
}

// suited returns the position of an alternative, with the text around it that the alternative needs.
func (d *document) suited(schema *openapi3.Schema, s spot) spot {
	kind := schema.Properties["type"]
	if kind == nil || len(kind.Value.Enum) != 1 {
		return s
	}
	if name, ok := kind.Value.Enum[0].(string); ok {
		replaced := d.around[name]
		s.before = strings.Replace(s.before, replaced[0], replaced[1], 1)
	}
	return s
}

// free adds a field that may contain any JSON.
func (w *walk) free(s spot) {
	w.add(s, false, free()...)
	before := len(w.targets)
	w.add(s, false, forms()...)
	for _, t := range w.targets[before:] {
		t.schema = func(text string) []byte { return []byte(s.before + text + s.after) }
	}
}

// enough is the maximum length from which a string counts as long.
const enough = 1 << 10

func (w *walk) text(schema *openapi3.Schema, s spot) {
	switch {
	case len(schema.Enum) > 0:
	case schema.MaxLength != nil && *schema.MaxLength < enough:
		w.add(s, true, texts()[0])
	default:
		w.add(s, true, texts()...)
	}
}

func (w *walk) array(schema *openapi3.Schema, s spot, within bool) {
	element := encoded(minimal(schema.Items, nil))
	w.add(s, false, list(first("many elements"), element))
	if strings.HasPrefix(element, "{") && element != "{}" {
		w.add(s, false, list(further("many empty objects"), "{}"))
	}
	if !within {
		w.visit(schema.Items, s.at("[]", "[", "]"))
	}
}

func (w *walk) object(schema *openapi3.Schema, s spot, within bool) {
	more := schema.AdditionalProperties
	switch {
	case more.Schema != nil:
		w.add(s, false, keys(first("many keys"), encoded(minimal(more.Schema, nil))))
		if !within {
			w.visit(more.Schema, s.at(".*", `{"0":`, "}"))
		}
	case len(schema.Properties) == 0:
		w.free(s)
	case s.path == "":
		w.add(s, false, unknownKeys(w.call.base))
	}
	if within {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		w.visit(schema.Properties[name], w.beside(schema, s, name))
	}
}

// unknownKeys returns a fill that adds unknown members to a body.
func unknownKeys(body []byte) fill {
	head := strings.TrimSuffix(string(body), "}")
	if head != "{" {
		head += ","
	}
	return around(first("many unknown keys"), head+`"unknown":`, keys(inner(), "0"), "}")
}

// beside returns the position of a property in an object, together with the other properties that
// the object needs.
func (w *walk) beside(schema *openapi3.Schema, s spot, name string) spot {
	members := map[string]any{}
	text := encoded(minimal(&openapi3.SchemaRef{Value: schema}, nil))
	if s.path == "" {
		text = string(w.call.base)
	}
	for _, key := range []string{w.call.operation + s.path, w.call.operation + s.path + " " + name} {
		if special, ok := w.fields[key]; ok {
			text = special
		}
	}
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		members = map[string]any{} // the schema isn't an object here
	}
	delete(members, name)
	before := strings.TrimSuffix(encoded(members), "}")
	if len(members) > 0 {
		before += ","
	}
	return s.at("."+name, before+fmt.Sprintf("%q:", name), "}")
}

func encoded(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "null" // a decoded value can always be encoded
	}
	return string(text)
}

// minimal returns the smallest value that a schema allows, as far as its types specify.
func minimal(ref *openapi3.SchemaRef, within []*openapi3.Schema) any {
	schema := ref.Value
	if slices.Contains(within, schema) {
		return nil
	}
	within = append(within, schema)
	for _, alternatives := range []openapi3.SchemaRefs{schema.OneOf, schema.AnyOf, schema.AllOf} {
		if len(alternatives) > 0 {
			return minimal(alternatives[0], within)
		}
	}
	switch {
	case len(schema.Enum) > 0:
		return schema.Enum[0]
	case schema.Type.Is("array"):
		return slices.Repeat([]any{minimal(schema.Items, within)}, int(schema.MinItems))
	case schema.Type.Is("object"):
		object := map[string]any{}
		for _, name := range schema.Required {
			object[name] = minimal(schema.Properties[name], within)
		}
		if _, ok := object["model"]; ok {
			object["model"] = textModel
		}
		return object
	case schema.Type.Is("string"):
		return unitText
	case schema.Type.Is("boolean"):
		return false
	case schema.Min != nil && *schema.Min > 0:
		return *schema.Min
	}
	return 0
}

// binaryTensors returns a request whose tensor elements follow its JSON: strings of no bytes.
func binaryTensors(of *call) *target {
	const header = "Inference-Header-Content-Length"
	c := *of
	c.content = "application/octet-stream"
	head := func(n int) string {
		return fmt.Sprintf(`{"inputs":[{"name":"input","datatype":"BYTES","shape":[%d],"parameters":{"binary_data_size":%d}}]}`, n, 4*n)
	}
	c.header = func(payload []byte) map[string]string {
		end := slices.Index(payload, 0)
		if end < 0 {
			end = len(payload)
		}
		return map[string]string{header: fmt.Sprint(end)}
	}
	return &target{call: &c, field: "binary elements", fill: first("many empty strings"), body: func(n int) []byte {
		return append([]byte(head(n)), make([]byte, 4*n)...)
	}}
}
